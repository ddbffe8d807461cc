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
  /// NSPredicate(format: "author == %@", author)
  /// NSPredicate(format: "SUBQUERY(books, $book, $book.isRead == NO).@count > 2")
  /// ```
  ///
  /// `%@` takes any value, an object or an object ID included, `%K` a key path, `%d`, `%ld`, `%f` and the like a
  /// number, `%%` a percent sign. Inside quotes they are text. Pass what users type as an argument, never as part of
  /// the format: it could change the meaning.
  ///
  /// The predicate filters in memory (`evaluate(with:)`, `filtered(using:)`) and in a fetch, where SQL stores put it
  /// into SQL. The two agree, except that a nil value matches `!=` in memory only. Strings are compared by their bytes;
  /// `[c]` ignores case, `[d]` accents, over all of Unicode.
  ///
  /// An invalid format is a programming error and traps; use `NSPredicate.parse(format:arguments:)` for text that a
  /// user wrote. `NSPredicate` is Foundation's class: CoreData adds what Foundation on Linux lacks.
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
  /// ```swift
  /// do {
  ///   let predicate = try NSPredicate.parse(format: "pages > AND")
  ///   print(predicate.canonicalFormat)
  /// } catch let error as PredicateSyntaxError {
  ///   print(error.position, error.message)
  /// }
  /// ```
  ///
  /// It checks the syntax, not whether an entity has the properties: the fetch throws 134070 for those that it lacks.
  /// Text with more than 100 levels of parentheses is an error. A `FUNCTION` whose method is not known is an error as
  /// well, so text can call nothing but the documented functions.
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
  ///
  /// ```swift
  /// let total = NSExpression(format: "author.books.@sum.pages")
  /// print(total.expressionValue(with: book, context: nil) ?? 0)
  /// ```
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
