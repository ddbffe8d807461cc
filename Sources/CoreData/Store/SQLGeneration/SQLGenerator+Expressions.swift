extension SQLGenerator {
  /// The expression as one side of a comparison.
  func operand(_ expression: NSExpression, _ environment: SQLEnvironment) throws -> SQLOperand {
    if isConstant(expression) {
      return .constant(PredicateValue(expression.value(in: EvaluationContext(object: nil, variables: [:]))))
    }
    switch expression.node {
    case .constant(let value): return .constant(PredicateValue(value))
    case .evaluatedObject: return .object(key: environment.root.key, entityColumn: nil, environment.root.mapping)
    case .variable(let name):
      if let scope = environment.variables[name] {
        return .object(key: scope.key, entityColumn: nil, scope.mapping)
      }
      if let column = environment.columns[name] { return column }
      throw SQLGenerationError.unboundVariable(name)
    case .keyPath(nil, let path):
      if path.keys.count == 1, let column = environment.columns[path.keys[0]] { return column }
      return try resolve(path.keys, from: environment.root, environment)
    case .keyPath(let base?, let path): return try keyPath(path.keys, of: base, environment)
    case .function(let name, let target, let arguments):
      return try function(name, (target.map { [$0] } ?? []) + arguments, expression, environment)
    case .aggregate(let members): return .aggregate(try members.map { try operand($0, environment) })
    case .subquery(let collection, let variable, let predicate):
      return .toMany(try subquery(collection, variable, predicate, environment))
    case .conditional(let predicate, let chosen, let otherwise):
      return try conditional(predicate, chosen, otherwise, expression, environment)
    case .assignment(_, let value): return try operand(value, environment)
    case .set, .block, .anyKey: throw SQLGenerationError.unsupportedExpression(expression.printed)
    }
  }

  /// Whether the expression has the same value for every row.
  private func isConstant(_ expression: NSExpression) -> Bool {
    switch expression.node {
    case .constant: true
    case .aggregate(let members): members.allSatisfy(isConstant)
    case .set(_, let left, let right): isConstant(left) && isConstant(right)
    case .keyPath(let base?, _): isConstant(base)
    case .assignment(_, let value): isConstant(value)
    case .function(let name, let target, let arguments):
      !name.hasPrefix("random") && (target.map(isConstant) ?? true) && arguments.allSatisfy(isConstant)
    default: false
    }
  }

  private func keyPath(_ keys: [String], of base: NSExpression, _ environment: SQLEnvironment) throws -> SQLOperand {
    switch base.node {
    case .variable(let name):
      guard let scope = environment.variables[name] else { throw SQLGenerationError.unboundVariable(name) }
      return try resolve(keys, from: scope, environment)
    case .subquery(let collection, let variable, let predicate):
      var relationship = try subquery(collection, variable, predicate, environment)
      relationship.rest = keys
      return try resolve(relationship)
    default: throw SQLGenerationError.unsupportedExpression(base.printed)
    }
  }

  private func subquery(
    _ collection: NSExpression, _ variable: String, _ predicate: NSPredicate, _ environment: SQLEnvironment
  ) throws -> SQLToMany {
    guard case .toMany(var relationship) = try operand(collection, environment) else {
      throw SQLGenerationError.notToMany(collection.printed)
    }
    guard relationship.rest.isEmpty, relationship.filter == nil else {
      throw SQLGenerationError.severalToManySteps(collection.printed)
    }
    relationship.filter = (variable, predicate)
    return relationship
  }

  private func conditional(
    _ predicate: NSPredicate, _ chosen: NSExpression, _ otherwise: NSExpression, _ expression: NSExpression,
    _ environment: SQLEnvironment
  ) throws -> SQLOperand {
    let first = try operand(chosen, environment)
    let second = try operand(otherwise, environment)
    guard let type = type(of: first) ?? type(of: second), let a = scalar(first, type), let b = scalar(second, type)
    else {
      throw SQLGenerationError.unsupportedExpression(expression.printed)
    }
    let test = try condition(predicate, environment.negated)
    return .scalar("CASE WHEN \(test) THEN \(a) ELSE \(b) END", type)
  }

  /// The type that an operand's values have; nil for nil, and for what is no scalar.
  private func type(of operand: SQLOperand) -> SQLType? {
    switch operand {
    case .scalar(_, let type): type
    case .constant(let constant):
      switch constant {
      case .integer, .real: .number
      case .decimal: .decimal
      case .string: .text
      case .date: .date
      case .uuid: .uuid
      case .url: .uri
      case .data: .data
      default: nil
      }
    default: nil
    }
  }

  /// The operand as a value of the type; nil if it is of another.
  private func scalar(_ operand: SQLOperand, _ type: SQLType) -> SQL? {
    switch operand {
    case .scalar(let column, let other): type.isComparable(with: other) ? column : nil
    case .constant(.null): "NULL"
    case .constant(let constant): type.bound(constant).map { value -> SQL in "\(bind: value)" }
    default: nil
    }
  }

  // MARK: Functions

  private func function(
    _ name: String, _ arguments: [NSExpression], _ expression: NSExpression, _ environment: SQLEnvironment
  ) throws -> SQLOperand {
    guard let function = PredicateFunction(rawValue: name) else { throw SQLGenerationError.unsupportedFunction(name) }
    let operands = try arguments.map { try operand($0, environment) }
    switch function {
    case .noIndex where operands.count == 1: return operands[0]
    case .sum, .count, .minimum, .maximum, .average:
      if let result = try statistic(function, operands, environment) { return result }
      return call(function, operands)
    case .add, .subtract, .multiply, .divide, .negate: return arithmetic(function, operands)
    case .cast: return try cast(operands, expression)
    case .uppercase, .lowercase, .canonical, .length, .modulus, .squareRoot, .logarithm, .naturalLogarithm, .power,
      .exponential, .ceiling, .absolute, .truncate, .floor, .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift,
      .rightShift, .onesComplement:
      return call(function, operands)
    default: throw SQLGenerationError.unsupportedFunction(name)
    }
  }

  /// A function of all members of a relationship or, where rows are grouped, of all rows of the group.
  private func statistic(
    _ function: PredicateFunction, _ operands: [SQLOperand], _ environment: SQLEnvironment
  ) throws -> SQLOperand? {
    let operations: [PredicateFunction: CollectionOperator] = [
      .sum: .sum, .count: .count, .minimum: .minimum, .maximum: .maximum, .average: .average,
    ]
    guard operands.count == 1, let operation = operations[function] else { return nil }
    if case .toMany(let relationship) = operands[0] {
      return try aggregate(operation, of: relationship, ignoresNil: true)
    }
    guard environment.isAggregating else { return nil }
    switch (operands[0], function) {
    case (.object(let key, _, _), .count): return .scalar("COUNT(\(key))", .number)
    case (.scalar(let column, _), .count): return .scalar("COUNT(\(column))", .number)
    case (.scalar(let column, let type), .sum) where type.isNumeric: return .scalar("SUM(\(column))", type)
    case (.scalar(let column, let type), .average) where type.isNumeric: return .scalar("AVG(\(column))", .number)
    case (.scalar(let column, let type), .minimum) where type != .opaque: return .scalar("MIN(\(column))", type)
    case (.scalar(let column, let type), .maximum) where type != .opaque: return .scalar("MAX(\(column))", type)
    default: throw SQLGenerationError.unsupportedFunction(function.rawValue)
    }
  }

  private func arithmetic(_ function: PredicateFunction, _ operands: [SQLOperand]) -> SQLOperand {
    let numbers = operands.compactMap(number)
    // What is no number makes the result nil, as in memory.
    guard numbers.count == operands.count else { return .scalar("NULL", .number) }
    if function == .negate, numbers.count == 1 { return .scalar("(0 - \(numbers[0]))", .number) }
    guard numbers.count == 2, let symbol = function.infix else { return .scalar("NULL", .number) }
    return .scalar("(\(numbers[0]) \(raw: symbol) \(numbers[1]))", .number)
  }

  /// The operand for a calculation: whole decimals as REAL, or their division would be that of integers.
  private func number(_ operand: SQLOperand) -> SQL? {
    switch operand {
    case .scalar(let column, .number): column
    case .scalar(let column, .decimal): "CAST(\(column) AS REAL)"
    case .constant(.decimal(let value)): "\(bind: .real(NSDecimalNumber(decimal: value).doubleValue))"
    case .constant(.null): "NULL"
    case .constant(let constant): SQLType.number.bound(constant).map { value -> SQL in "\(bind: value)" }
    default: nil
    }
  }

  /// A predefined function, computed by the code that computes it in memory.
  func call(_ function: PredicateFunction, _ operands: [SQLOperand]) -> SQLOperand {
    let arguments = operands.map { operand -> SQL in
      if let number = number(operand) { return number }
      switch operand {
      case .scalar(let column, .text): return column
      case .constant(.string(let text)): return "\(bind: .text(text))"
      default: return "NULL"
      }
    }
    let isText = function == .uppercase || function == .lowercase || function == .canonical
    let name = SQLFunctions.Name.call.rawValue
    return .scalar(
      "\(raw: name)('\(raw: function.rawValue)'\(arguments.map { ", \($0)" as SQL }.joined("")))",
      isText ? .text : .number)
  }

  private func cast(_ operands: [SQLOperand], _ expression: NSExpression) throws -> SQLOperand {
    guard operands.count == 2, case .scalar(let column, let type) = operands[0],
      case .constant(.string(let target)) = operands[1]
    else { throw SQLGenerationError.unsupportedExpression(expression.printed) }
    switch (type, target) {
    case (.date, "NSNumber"): return .scalar("CAST(\(column) AS REAL)", .number)
    case (.number, "NSNumber"), (.decimal, "NSNumber"): return operands[0]
    case (.number, "NSDate"), (.number, "Date"), (.decimal, "NSDate"), (.decimal, "Date"): return .scalar(column, .date)
    case (.date, "NSDate"), (.date, "Date"), (.text, "NSString"), (.text, "String"): return operands[0]
    default: throw SQLGenerationError.unsupportedExpression(expression.printed)
    }
  }
}
