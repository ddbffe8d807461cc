extension PredicateFormatInitializable {
  /// The predicate of Foundation's macro.
  ///
  /// ```swift
  /// let predicate = NSPredicate(#Predicate<Book> { $0.pages > 300 && $0.isRead })
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.predicate = predicate
  /// ```
  ///
  /// Nil if a part has no counterpart in `NSPredicate`: properties without a key path name, regular expressions,
  /// subscripts, type checks, predicates inside predicates. A request whose predicate is nil fetches all objects, so
  /// check the result, or make the request with `NSFetchRequest(where:sortedBy:)`, which throws. `String.count` counts
  /// UTF-16 units here.
  ///
  /// The compiler checks properties and types, which for a format only the fetch does. Local variables are captured
  /// with the values that they have when the macro is evaluated:
  ///
  /// ```swift
  /// let minimum: Int64 = 300
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.predicate = NSPredicate(#Predicate<Book> { $0.pages >= minimum })
  /// ```
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
///
/// The macro builds a tree of generic types, `Conjunction<Comparison<KeyPath<…>, Value<Int>>, …>`. Each of these types
/// gets an extension that conforms to `ConvertiblePredicateExpression`, in `PredicateConversion+Conditions.swift` and
/// `+Values.swift`; the conversion itself only holds what variables mean.
///
/// ```text
/// #Predicate<Book> { $0.pages > 300 && $0.isRead }
/// Conjunction(Comparison(KeyPath(Variable, \.pages), Value(300)), KeyPath(Variable, \.isRead))
/// pages > 300 AND isRead == 1
/// ```
///
/// A condition and a value are different things for `NSPredicate`, and one thing for the macro, so `predicate(_:)` and
/// `value(_:)` convert between them: `isRead` alone becomes `isRead == 1`, and a condition that is compared,
/// `($0.pages > 3) == true`, becomes `TERNARY(pages > 3, 1, 0) == 1`.
struct PredicateConversion {
  /// The counterpart of an expression.
  enum Result {
    /// Something that can be compared.
    case value(NSExpression)
    /// A condition.
    case truth(NSPredicate)
    /// Nil: a literal, or an optional constant without a value.
    case nothing
  }

  /// A part of the macro's tree that no `NSPredicate` has. `NSFetchRequest(where:sortedBy:)` passes it on with its
  /// description; `NSPredicate(_:)` gives nil for it, as Apple's does.
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

  /// What the variables of the macro's closures stand for: the outermost for `SELF`, those of `contains(where:)` and
  /// the like for `$member1` and so on, those of optional chaining for the unwrapped expression.
  private var variables: [PredicateExpressions.VariableID: NSExpression] = [:]
  private var iterators = 0

  /// Called by an expression that has a closure, before it converts the closure's body. Variables have unique IDs, so a
  /// binding never has to be undone.
  mutating func bind<T>(_ variable: PredicateExpressions.Variable<T>, to expression: NSExpression) {
    variables[variable.key] = expression
  }

  /// What a variable stands for. A predicate that is evaluated inside of another one has variables of its own, which
  /// nothing binds.
  func binding<T>(_ variable: PredicateExpressions.Variable<T>) throws -> NSExpression {
    guard let bound = variables[variable.key] else { throw Unsupported(what: "A variable of another predicate") }
    return bound
  }

  /// Binds the variable of a closure to `$name` and returns the name. The names are numbered, because nested SUBQUERYs
  /// see each other's variables.
  mutating func iterator<T>(_ variable: PredicateExpressions.Variable<T>) -> String {
    iterators += 1
    let name = "member\(iterators)"
    bind(variable, to: NSExpression(forVariable: name))
    return name
  }

  // MARK: Parts

  /// The counterpart of any expression; a type without a conformance, such as a regular expression or a type check, is
  /// named in the error.
  mutating func convert(_ expression: any PredicateExpression) throws -> Result {
    guard let convertible = expression as? any ConvertiblePredicateExpression else {
      throw Unsupported(what: "\(type(of: expression))")
    }
    return try convertible.convert(&self)
  }

  /// The expression as a condition. A Boolean value is compared with true; a constant one becomes TRUEPREDICATE or
  /// FALSEPREDICATE, which needs no column.
  mutating func predicate(_ expression: any PredicateExpression) throws -> NSPredicate {
    switch try convert(expression) {
    case .truth(let predicate): return predicate
    case .value(let value):
      if let constant = value.constant as? Bool { return TruthPredicate(value: constant) }
      return Self.comparison(value, .equalTo, NSExpression(forConstantValue: true))
    case .nothing: throw Unsupported(what: "A condition that is neither true nor false")
    }
  }

  /// The expression as a side of a comparison.
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

  /// A comparison without a modifier, which the macro has no way to express.
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

  /// The members of a sequence that meet a condition, or with `isNegated` those that do not: a SUBQUERY.
  /// `contains(where:)` and `allSatisfy` compare its count with 0.
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
