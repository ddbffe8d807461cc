/// Gives `NSPredicate` the initialisers that Foundation lacks on Linux. A protocol's initialiser may return a subclass,
/// a class's may not.
public protocol PredicateFormatInitializable {}

extension NSPredicate: PredicateFormatInitializable {}

extension PredicateFormatInitializable {
  /// A predicate from its textual form.
  ///
  /// ```swift
  /// NSPredicate(format: "title BEGINSWITH[cd] %@ AND %K > %d", "em", "pages", 17)
  /// NSPredicate(format: "author.name IN %@", ["Jane Austen", "Mary Shelley"])
  /// NSPredicate(format: "SUBQUERY(books, $book, $book.isRead == NO).@count > 2")
  /// ```
  ///
  /// `%@` takes any value, `%K` a key path, `%d`, `%ld`, `%f` and the like a number, `%%` a percent sign. Inside quotes
  /// they are text. An invalid format is a programming error and traps; use `NSPredicate.parse(format:arguments:)` for
  /// text that a user wrote.
  ///
  /// Source: Predicate Programming Guide, "Predicate Format String Syntax".
  public init(format: String, _ arguments: Any?...) {
    self = NSPredicate.trapping(format, .list(arguments)) as! Self  // On NSPredicate; a subclass cannot be made so.
  }

  /// A predicate from its textual form with the arguments in an array. Traps if the format is invalid.
  public init(format: String, argumentArray: [Any]?) {
    self = NSPredicate.trapping(format, .list(argumentArray ?? [])) as! Self  // On NSPredicate, as above.
  }

  /// A predicate from its textual form with the arguments in a C list; objects are passed as `CVarArg` passes them.
  /// Traps if the format is invalid.
  public init(format: String, arguments: CVaListPointer) {
    self = NSPredicate.trapping(format, .pointer(arguments)) as! Self  // On NSPredicate, as above.
  }
}

extension NSPredicate {
  /// A predicate from text that may be invalid. An addition to Apple's API, which raises an exception.
  ///
  /// - Throws: `PredicateSyntaxError`, which says where and what was expected.
  public static func parse(format: String, arguments: [Any?] = []) throws -> NSPredicate {
    FoundationCompound.teach()
    var parser = try FormatParser(format: format, arguments: .list(arguments))
    return try parser.parsePredicate()
  }

  static func trapping(_ format: String, _ arguments: FormatArguments) -> NSPredicate {
    FoundationCompound.teach()
    do {
      var parser = try FormatParser(format: format, arguments: arguments)
      return try parser.parsePredicate()
    } catch {
      fatalError("NSPredicate(format:): \(error)")
    }
  }
}

/// Gives `NSExpression` initialisers that return what the text says, which may be an `NSFetchRequestExpression`.
public protocol ExpressionFormatInitializable {}

extension NSExpression: ExpressionFormatInitializable {}

extension ExpressionFormatInitializable {
  /// An expression from its textual form, with arguments as for `NSPredicate(format:)`. Traps if the format is invalid.
  public init(format: String, _ arguments: Any?...) {
    self = NSExpression.trapping(format, .list(arguments)) as! Self  // On NSExpression; not on a subclass.
  }

  /// An expression from its textual form with the arguments in an array. Traps if the format is invalid.
  public init(format: String, argumentArray: [Any]) {
    self = NSExpression.trapping(format, .list(argumentArray)) as! Self  // On NSExpression, as above.
  }

  /// An expression from its textual form with the arguments in a C list. Traps if the format is invalid.
  public init(format: String, arguments: CVaListPointer) {
    self = NSExpression.trapping(format, .pointer(arguments)) as! Self  // On NSExpression, as above.
  }
}

extension NSExpression {
  /// An expression from text that may be invalid. An addition to Apple's API, which raises an exception.
  ///
  /// - Throws: `PredicateSyntaxError`, which says where and what was expected.
  public static func parse(format: String, arguments: [Any?] = []) throws -> NSExpression {
    var parser = try FormatParser(format: format, arguments: .list(arguments))
    return try parser.parseExpression()
  }

  fileprivate static func trapping(_ format: String, _ arguments: FormatArguments) -> NSExpression {
    do {
      var parser = try FormatParser(format: format, arguments: arguments)
      return try parser.parseExpression()
    } catch {
      fatalError("NSExpression(format:): \(error)")
    }
  }
}
