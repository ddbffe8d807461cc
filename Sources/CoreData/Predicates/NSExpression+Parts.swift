/// The parts of an expression, for code that translates or shows predicates: a program's own store class, or a user
/// interface.
///
/// Each property has a value for some kinds only. Apple's raises an exception for the others; here they give nil or an
/// empty text, so switch over `expressionType` first.
extension NSExpression {
  /// The kind of the expression, which decides which of the following properties have a value.
  ///
  /// ```swift
  /// let total = NSExpression(format: "sum:(pages)")
  /// let argument = total.arguments?.first
  /// if total.expressionType == .function { print(total.function, argument?.keyPath ?? "") }  // sum: pages
  /// ```
  ///
  /// `a + b` is the function `add:to:(a, b)`. An instance of a subclass has the type of the initialiser that made it.
  public var expressionType: ExpressionType {
    switch node {
    case .constant: .constantValue
    case .evaluatedObject: .evaluatedObject
    case .variable: .variable
    case .keyPath: .keyPath
    case .function, .assignment: .function
    case .set(.union, _, _): .unionSet
    case .set(.intersect, _, _): .intersectSet
    case .set(.minus, _, _): .minusSet
    case .subquery: .subquery
    case .aggregate: .aggregate
    case .anyKey: .anyKey
    case .block: typeOfBlock
    case .conditional: .conditional
    }
  }

  /// The value of a constant, a number as `NSNumber`. Nil for other expressions, where Apple raises an exception.
  ///
  /// A managed object or an object ID comes back as it was given. Inside of arrays numbers are `NSNumber` too, and nil
  /// is `NSNull`.
  public var constantValue: Any? { FoundationValue.of(constant) }

  /// The value of a constant as it was given; nil for other expressions.
  final var constant: Any? {
    if case .constant(let value) = node { value } else { nil }
  }

  /// The path of a key-path expression; "" for other expressions.
  ///
  /// It is the text as it was given, with its collection operator: "books.@sum.pages". A path behind a variable,
  /// `$book.title`, is "title"; `operand` is the variable.
  public var keyPath: String {
    if case .keyPath(_, let path) = node { path.text } else { "" }
  }

  /// The name of a function such as "sum:"; "" for other expressions.
  ///
  /// An infix operator has its function's name: "multiply:by:" for `a * b`.
  public var function: String {
    if case .function(let name, _, _) = node { name } else { "" }
  }

  /// The name of a variable without its `$`; "" for other expressions.
  ///
  /// Also the name that an assignment sets, and the iterator of a subquery: "book" for `SUBQUERY(books, $book, …)`.
  public var variable: String {
    switch node {
    case .variable(let name), .assignment(let name, _), .subquery(_, let name, _): name
    default: ""
    }
  }

  /// The expression from which a key path or a function starts; by default the evaluated object.
  ///
  /// For `FUNCTION(title, "length")` it is `title`; predefined functions have none and give `SELF`.
  public var operand: NSExpression {
    switch node {
    case .keyPath(let operand?, _), .function(_, let operand?, _): operand
    default: NSExpression.expressionForEvaluatedObject()
    }
  }

  /// The arguments of a function or a block; nil for other expressions.
  ///
  /// The receiver of a method is not among them.
  public var arguments: [NSExpression]? {
    switch node {
    case .function(_, _, let arguments), .block(_, let arguments): arguments
    default: nil
    }
  }

  /// The members of an aggregate as expressions, or the collection expression of a subquery; nil for others.
  ///
  /// ```swift
  /// let list = NSExpression(forAggregate: [1, NSExpression(forKeyPath: "pages")])
  /// for case let member as NSExpression in list.collection as? [Any] ?? [] { print(member.expressionType) }
  /// ```
  public var collection: Any? {
    switch node {
    case .aggregate(let members): members
    case .subquery(let collection, _, _): collection
    default: nil
    }
  }

  /// The predicate of a subquery or a conditional; nil for other expressions.
  ///
  /// In a subquery's predicate the members are `$variable`, not `SELF`.
  public var predicate: NSPredicate? {
    switch node {
    case .subquery(_, _, let predicate), .conditional(let predicate, _, _): predicate
    default: nil
    }
  }

  /// The left side of a set expression; nil for other expressions.
  ///
  /// Set expressions are those with `UNION`, `INTERSECT` and `MINUS`; the sides of a comparison are in
  /// `NSComparisonPredicate`.
  public var left: NSExpression? {
    if case .set(_, let left, _) = node { left } else { nil }
  }

  /// The right side of a set expression; nil for other expressions.
  public var right: NSExpression? {
    if case .set(_, _, let right) = node { right } else { nil }
  }

  /// The value of a conditional whose predicate is true; nil for other expressions.
  public var `true`: NSExpression? {
    if case .conditional(_, let chosen, _) = node { chosen } else { nil }
  }

  /// The value of a conditional whose predicate is false; nil for other expressions.
  public var `false`: NSExpression? {
    if case .conditional(_, _, let otherwise) = node { otherwise } else { nil }
  }
}
