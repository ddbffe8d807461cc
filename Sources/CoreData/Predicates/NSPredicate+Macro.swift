extension PredicateFormatInitializable {
  /// The predicate of Foundation's macro.
  ///
  /// ```swift
  /// let predicate = NSPredicate(#Predicate<Book> { $0.pages > 300 && $0.isRead })
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.predicate = predicate
  /// ```
  ///
  /// Nil if it has parts that no `NSPredicate` has: properties without a key path name, regular expressions,
  /// subscripts, type checks, predicates inside predicates. A request with nil fetches all objects, so check it, or
  /// make the request with `NSFetchRequest(where:sortedBy:)`, which throws. `String.count` counts UTF-16 units here.
  ///
  /// Source: https://developer.apple.com/documentation/foundation/nspredicate/init(_:)
  public init?<Input: NSObject>(_ predicate: Predicate<Input>) {
    // Apple's initialiser gives nil and no reason.
    guard let converted = try? PredicateConversion.predicate(of: predicate), let result = converted as? Self else {
      return nil
    }
    self = result
  }
}

/// Converts the macro's expressions to predicates. Each expression says what it becomes; one that has no counterpart
/// throws.
struct PredicateConversion {
  /// The counterpart of an expression.
  enum Result {
    case value(NSExpression)
    case truth(NSPredicate)
    case nothing
  }

  struct Unsupported: Error, CustomStringConvertible {
    let what: String
    var description: String { "\(what) has no counterpart in NSPredicate" }
  }

  /// The counterpart of a whole predicate; throws `Unsupported`.
  static func predicate<Input: NSObject>(of predicate: Predicate<Input>) throws -> NSPredicate {
    var conversion = PredicateConversion()
    conversion.bind(predicate.variable, to: NSExpression.expressionForEvaluatedObject())
    return try conversion.predicate(predicate.expression)
  }

  private var variables: [PredicateExpressions.VariableID: NSExpression] = [:]
  private var iterators = 0

  mutating func bind<T>(_ variable: PredicateExpressions.Variable<T>, to expression: NSExpression) {
    variables[variable.key] = expression
  }

  func binding<T>(_ variable: PredicateExpressions.Variable<T>) throws -> NSExpression {
    guard let bound = variables[variable.key] else { throw Unsupported(what: "A variable of another predicate") }
    return bound
  }

  /// Binds the variable of a closure to `$name` and returns the name.
  mutating func iterator<T>(_ variable: PredicateExpressions.Variable<T>) -> String {
    iterators += 1
    let name = "member\(iterators)"
    bind(variable, to: NSExpression(forVariable: name))
    return name
  }

  // MARK: Parts

  mutating func convert(_ expression: any PredicateExpression) throws -> Result {
    guard let convertible = expression as? any ConvertiblePredicateExpression else {
      throw Unsupported(what: "\(type(of: expression))")
    }
    return try convertible.convert(&self)
  }

  mutating func predicate(_ expression: any PredicateExpression) throws -> NSPredicate {
    switch try convert(expression) {
    case .truth(let predicate): return predicate
    case .value(let value):
      if let constant = value.constant as? Bool { return TruthPredicate(value: constant) }
      return Self.comparison(value, .equalTo, NSExpression(forConstantValue: true))
    case .nothing: throw Unsupported(what: "A condition that is neither true nor false")
    }
  }

  mutating func value(_ expression: any PredicateExpression) throws -> NSExpression {
    switch try convert(expression) {
    case .value(let value): return value
    case .nothing: return NSExpression(forConstantValue: nil)
    case .truth(let predicate):
      return NSExpression(
        forConditional: predicate, trueExpression: NSExpression(forConstantValue: true),
        falseExpression: NSExpression(forConstantValue: false))
    }
  }

  static func comparison(
    _ left: NSExpression, _ type: NSComparisonPredicate.Operator, _ right: NSExpression,
    options: NSComparisonPredicate.Options = []
  ) -> NSPredicate {
    NSComparisonPredicate(leftExpression: left, rightExpression: right, modifier: .direct, type: type, options: options)
  }

  static func compound(_ type: NSCompoundPredicate.LogicalType, _ parts: [NSPredicate]) -> NSPredicate {
    ParsedCompoundPredicate(type: type, subpredicates: parts)
  }

  static func function(_ function: PredicateFunction, _ arguments: NSExpression...) -> Result {
    .value(NSExpression(forFunction: function.rawValue, arguments: arguments))
  }

  /// The key path that continues `expression` by a key.
  static func path(_ expression: NSExpression, _ key: String) -> NSExpression {
    switch expression.node {
    case .evaluatedObject: NSExpression(forKeyPath: key)
    case .keyPath(let operand, let path):
      NSExpression(node: .keyPath(operand: operand, path: KeyPathComponents("\(path.text).\(key)")))
    default: NSExpression(node: .keyPath(operand: expression, path: KeyPathComponents(key)))
    }
  }

  /// A comparison with 0 of the number of members that meet a condition.
  mutating func members<Element>(
    of sequence: any PredicateExpression, _ variable: PredicateExpressions.Variable<Element>,
    _ test: any PredicateExpression, isNegated: Bool = false
  ) throws -> NSExpression {
    let collection = try value(sequence)
    let name = iterator(variable)
    let condition = try predicate(test)
    return NSExpression(
      forSubquery: collection, usingIteratorVariable: name,
      predicate: isNegated ? Self.compound(.not, [condition]) : condition)
  }
}

/// An expression of the macro that has a counterpart.
protocol ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result
}
