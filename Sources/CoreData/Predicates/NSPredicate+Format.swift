/// Gives `NSPredicate` the initialisers that Foundation lacks on Linux. A protocol's initialiser may return a subclass,
/// a class's may not: `NSPredicate(format: "a = 1")` is an `NSComparisonPredicate`. Nothing else needs to conform.
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
  /// number. Inside quotes every character is literal, `%` too; outside of them `%%` is an error. Pass what users type
  /// as an argument, never as part of the format: it could change the meaning.
  ///
  /// The predicate filters in memory (`evaluate(with:)`, `filtered(using:)`) and in a fetch, where SQL stores put it
  /// into SQL. The two agree, except that a nil value matches `!=` in memory only. Strings are compared by their bytes;
  /// `[c]` ignores case, `[d]` accents, over all of Unicode.
  ///
  /// NOT binds tightest, then AND, then OR. Words such as AND, IN and SELF may be written in any case; a property with
  /// such a name is written `#in`. ANY, ALL and NONE ask for members of a to-many relationship:
  /// `ANY books.pages > 500`. Two conditions on the same member need SUBQUERY.
  ///
  /// Parsing takes time proportional to the text. To use one text with many values, parse it once with variables and
  /// replace them with `withSubstitutionVariables(_:)`. Any thread may make a predicate.
  ///
  /// An invalid format is a programming error and traps; use `NSPredicate.parse(format:arguments:)` for text that a
  /// user wrote. `NSPredicate` is Foundation's class: CoreData adds what Foundation on Linux lacks.
  ///
  /// ```text
  /// =  ==  !=  <>  <  <=  >  >=          values of one kind; nil only with == and !=
  /// BETWEEN {1, 9}                       both bounds belong to it
  /// IN {"a", "b"}    IN %@               a member of a list, a set, a relationship; a part of a text
  /// CONTAINS  BEGINSWITH  ENDSWITH       texts; CONTAINS also a member of a relationship
  /// LIKE "E*a?"                          * any characters, ? one
  /// MATCHES "[A-Z]\\d+"                  a regular expression for the whole text
  /// [c] [d] [cd]                         behind an operator: without case, without accents
  /// ANY  ALL  NONE                       before the left side: members of a to-many relationship
  /// books.@count  @sum  @avg  @min @max  books.@sum.pages
  /// SUBQUERY(books, $b, $b.pages > 9)    the members that meet several conditions
  /// TERNARY(pages > 9, "long", "short")  one of two values
  /// CAST(700000000, "NSDate")            also "NSNumber", "NSString", "NSUUID", "NSURL"
  /// FUNCTION(title, "length")            a method: see NSExpression(forFunction:selectorName:arguments:)
  /// sum:(books.pages)  a + b * 2         functions: see NSExpression(forFunction:arguments:)
  /// TRUEPREDICATE  FALSEPREDICATE        constants; YES, NO, NULL and numbers are values
  /// $NAME                                a variable: see withSubstitutionVariables(_:)
  /// ```
  ///
  /// - Parameters:
  ///   - format: the text.
  ///   - arguments: a value for each `%…`, in the order of the text; nil is a value. Too few trap, further ones are
  ///     ignored.
  ///
  /// Source: Predicate Programming Guide, "Predicate Format String Syntax".
  public init(format: String, _ arguments: Any?...) {
    self = NSPredicate.trapping(format, .list(arguments)) as! Self  // On NSPredicate; a subclass cannot be made so.
  }

  /// A predicate from its textual form with the arguments in an array, for a format that the program puts together at
  /// run time. Traps if the format is invalid.
  ///
  /// ```swift
  /// let conditions = ["pages > %@": 100, "title BEGINSWITH %@": "E"] as [String: Any]
  /// let texts = conditions.keys.sorted()
  /// let both = NSPredicate(
  ///   format: texts.joined(separator: " AND "), argumentArray: texts.map { conditions[$0] ?? NSNull() })
  /// print(both.canonicalFormat)  // pages > 100 AND title BEGINSWITH "E"
  /// ```
  ///
  /// - Parameters:
  ///   - format: the text, as for `init(format:_:)`.
  ///   - argumentArray: a value for each `%…`; nil for none. An `NSNull` in it means nil.
  public init(format: String, argumentArray: [Any]?) {
    self = NSPredicate.trapping(format, .list(argumentArray ?? [])) as! Self  // On NSPredicate, as above.
  }

  /// A predicate from its textual form with the arguments in a C list, for functions that get such a list themselves.
  /// Objects are passed as `CVarArg` passes them. Traps if the format is invalid.
  ///
  /// A specifier has to fit the argument's type, as with `printf`: `%d` for an `Int32`, `%ld` for an `Int`. A wrong one
  /// reads other memory without an error. Prefer the initialiser with an array.
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
  /// - Parameters:
  ///   - format: the text, in the syntax of `init(format:_:)`.
  ///   - arguments: a value for each `%…`.
  /// - Returns: the predicate. A variable in the text, `$name`, traps if it has no value when the predicate is
  ///   evaluated: look for them with `NSPredicate.canonicalFormat`, or refuse a text with `$`.
  ///
  /// - Throws: `PredicateSyntaxError`, which says where and what was expected.
  public static func parse(format: String, arguments: [Any?] = []) throws -> NSPredicate {
    FoundationCompound.teach()
    var parser = try FormatParser(format: format, arguments: .list(arguments))
    return try parser.parsePredicate()
  }

  /// Parses a format of the program's own. The message of the trap has the reason and the column, and the text.
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

/// Gives `NSExpression` the initialisers with a format, which may return a subclass, `NSFetchRequestExpression`. No
/// other type needs to conform.
public protocol ExpressionFormatInitializable {}

extension NSExpression: ExpressionFormatInitializable {}

extension ExpressionFormatInitializable {
  /// An expression from its textual form, with arguments as for `NSPredicate(format:)`. Traps if the format is invalid.
  ///
  /// ```swift
  /// let total = NSExpression(format: "author.books.@sum.pages")
  /// print(total.expressionValue(with: book, context: nil) ?? 0)
  /// ```
  ///
  /// The text is what stands on one side of a comparison: a key path, a constant, a function, arithmetic. Parentheses
  /// hold expressions, not predicates.
  ///
  /// ```swift
  /// let hours = NSExpression(format: "pages * %f / 60", 1.5)
  /// let count = NSExpression(format: "SUBQUERY(books, $b, $b.isRead == YES).@count")
  /// print(hours, count)
  /// ```
  ///
  /// Use it for a derivation in a model and for a column of a dictionary fetch.
  public init(format: String, _ arguments: Any?...) {
    self = NSExpression.trapping(format, .list(arguments)) as! Self  // On NSExpression; not on a subclass.
  }

  /// An expression from its textual form with the arguments in an array. Traps if the format is invalid.
  ///
  /// - Parameters:
  ///   - format: the text, as for `init(format:_:)`.
  ///   - argumentArray: a value for each `%…`, in the order of the text.
  public init(format: String, argumentArray: [Any]) {
    self = NSExpression.trapping(format, .list(argumentArray)) as! Self  // On NSExpression, as above.
  }

  /// An expression from its textual form with the arguments in a C list. Traps if the format is invalid.
  ///
  /// A wrong specifier reads other memory: see `NSPredicate(format:arguments:)`.
  public init(format: String, arguments: CVaListPointer) {
    self = NSExpression.trapping(format, .pointer(arguments)) as! Self  // On NSExpression, as above.
  }
}

extension NSExpression {
  /// An expression from text that may be invalid. An addition to Apple's API, which raises an exception.
  ///
  /// ```swift
  /// let column = NSExpressionDescription()
  /// column.name = "result"
  /// column.expression = try NSExpression.parse(format: "sum:(pages)")
  /// ```
  ///
  /// Whether the entity has the keys is known only to the fetch, which throws 134070 for others.
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
