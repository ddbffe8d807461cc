// Variables, key paths, constants, arithmetic and optionals of Foundation's predicate macro.

/// `$0`: what the variable is bound to, `SELF` in the outermost closure.
extension PredicateExpressions.Variable: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    .value(try conversion.binding(self))
  }
}

/// `$0.title`: the key `title`; `$0.author?.name` comes here twice and becomes `author.name`.
///
/// Names come from `ManagedKeyPathTable`. Two properties of Swift's own have no name and a counterpart nevertheless:
/// `count`, which is `@count` of a collection and `length:` of a text, and `isEmpty`, which compares it with 0.
extension PredicateExpressions.KeyPath: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    if let name = (keyPath as AnyKeyPath)._kvcKeyPathString {
      return .value(PredicateConversion.path(try conversion.value(root), name))
    }
    let count = { (collection: NSExpression) in
      Root.Output.self == String.self
        ? NSExpression(forFunction: PredicateFunction.length.rawValue, arguments: [collection])
        : PredicateConversion.path(collection, "@count")
    }
    switch kind {
    case .collectionCount: return .value(count(try conversion.value(root)))
    case .collectionIsEmpty:
      return .truth(
        PredicateConversion.comparison(
          count(try conversion.value(root)), .equalTo, NSExpression(forConstantValue: 0)))
    default: throw PredicateConversion.Unsupported(what: keyPath.unnamedProperty)
    }
  }
}

extension AnyKeyPath {
  /// A property without a name for predicates, described by its types for messages.
  final var unnamedProperty: String {
    let types = type(of: self)
    return "A property of type \(types.valueType) of \(types.rootType), which is not in the model,"
  }
}

/// A constant, and what the closure captured. An optional without a value becomes nil.
extension PredicateExpressions.Value: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    KeyValueReading.unwrapped(value).map { .value(NSExpression(forConstantValue: $0)) } ?? .nothing
  }
}

/// `nil`, as in `$0.title == nil`.
extension PredicateExpressions.NilLiteral: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result { .nothing }
}

// MARK: Arithmetic

/// `+`, `-` and `*`. An overflow of integers goes on with doubles in memory and in SQLite, where Swift's operators
/// trap.
extension PredicateExpressions.Arithmetic: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    let (left, right) = (try conversion.value(lhs), try conversion.value(rhs))
    switch op {
    case .add: return PredicateConversion.function(.add, left, right)
    case .subtract: return PredicateConversion.function(.subtract, left, right)
    case .multiply: return PredicateConversion.function(.multiply, left, right)
    @unknown default: throw PredicateConversion.Unsupported(what: "An arithmetic operator")
    }
  }
}

/// `/` of floating-point numbers. A division by zero gives nil, so no comparison with it holds.
extension PredicateExpressions.FloatDivision: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    PredicateConversion.function(.divide, try conversion.value(lhs), try conversion.value(rhs))
  }
}

/// `/` of integers: the quotient, cut as in Swift. `divide:by:` of two integers gives an integer already; `trunc:`
/// covers a value that is stored as a fraction.
extension PredicateExpressions.IntDivision: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    guard
      case .value(let quotient) = PredicateConversion.function(
        .divide, try conversion.value(lhs), try conversion.value(rhs))
    else { throw PredicateConversion.Unsupported(what: "A division") }
    return PredicateConversion.function(.truncate, quotient)
  }
}

/// `%`: the remainder, with the sign of the dividend.
extension PredicateExpressions.IntRemainder: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    PredicateConversion.function(.modulus, try conversion.value(lhs), try conversion.value(rhs))
  }
}

/// `-x` is a product with -1, which an SQL store computes with its own operator.
extension PredicateExpressions.UnaryMinus: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    PredicateConversion.function(.multiply, try conversion.value(wrapped), NSExpression(forConstantValue: -1))
  }
}

// MARK: Optionals and choices

/// `$0.author?.name`: the closure behind the `?` is converted with its variable bound to the expression before it, so a
/// path of keys results.
extension PredicateExpressions.OptionalFlatMap: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    // A key path through nil gives nil, and comparing nil is false, as in the macro.
    conversion.bind(variable, to: try conversion.value(wrapped))
    return try conversion.convert(transform)
  }
}

/// `$0.title!`: the value itself. Where Swift would trap on nil, the nil is compared like any other.
extension PredicateExpressions.ForcedUnwrap: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    try conversion.convert(inner)
  }
}

/// `$0.title ?? ""`: `TERNARY(title != nil, title, "")`. In SQL it is a CASE, which no index serves.
extension PredicateExpressions.NilCoalesce: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    let left = try conversion.value(lhs)
    let right = try conversion.value(rhs)
    let isThere = PredicateConversion.comparison(left, .notEqualTo, NSExpression(forConstantValue: nil))
    return .value(NSExpression(forConditional: isThere, trueExpression: left, falseExpression: right))
  }
}

/// `a ? b : c`. With values it is a TERNARY. With conditions it is `(a AND b) OR (NOT a AND c)`, which keeps the parts
/// where the SQL generator can use an index for them; the condition stands in the tree twice.
extension PredicateExpressions.Conditional: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    let condition = try conversion.predicate(test)
    if Output.self == Bool.self {
      let (chosen, otherwise) = (try conversion.predicate(trueBranch), try conversion.predicate(falseBranch))
      return .truth(
        PredicateConversion.compound(
          .or,
          [
            PredicateConversion.compound(.and, [condition, chosen]),
            PredicateConversion.compound(.and, [PredicateConversion.compound(.not, [condition]), otherwise]),
          ]))
    }
    return .value(
      NSExpression(
        forConditional: condition, trueExpression: try conversion.value(trueBranch),
        falseExpression: try conversion.value(falseBranch)))
  }
}

/// A cast between managed objects does not change the stored value; casts of other types have no counterpart.
extension PredicateExpressions.ForceCast: ConvertiblePredicateExpression {
  func convert(_ conversion: inout PredicateConversion) throws -> PredicateConversion.Result {
    guard Desired.self is NSManagedObject.Type else {
      throw PredicateConversion.Unsupported(what: "A cast to \(Desired.self)")
    }
    return try conversion.convert(input)
  }
}
