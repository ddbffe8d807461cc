extension SQLGenerator {
  /// The expression as one side of a comparison.
  ///
  /// ```text
  /// expression                            operand
  /// ------------------------------------  -------------------------------------------------------------
  /// "Kindred", 5 + 3                      .constant: no row is needed, so it is computed now
  /// title                                 .scalar(t0.ZTITLE, .text)
  /// author                                .object(t0.ZAUTHOR, Author)
  /// SELF                                  .object(t0.Z_PK, Book)
  /// books                                 .toMany
  /// books.@count                          .scalar((SELECT COUNT(*) …), .integer)
  /// {title, "x"}                          .aggregate
  /// SUBQUERY(books, $b, …)                .toMany with a filter
  /// pages * 2                             .scalar((t0.ZPAGES * ?), .integer)
  /// TERNARY(isRead == YES, pages, 0)      .scalar(CASE WHEN t0.ZISREAD = ? THEN t0.ZPAGES ELSE ? END, .integer)
  /// a block                               error: it needs objects
  /// ```
  func operand(_ expression: NSExpression, _ environment: SQLEnvironment) throws -> SQLOperand {
    if expression.isIndependent {
      return .constant(PredicateValue(expression.value(in: EvaluationContext(object: nil, variables: [:]))))
    }
    if let path = expression.calledKeyPath { return try operand(path, environment) }
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
      return try operand(at: path.keys, from: environment.root, environment)
    case .keyPath(let base?, let path): return try keyPath(path.keys, of: base, environment)
    case .function(let name, let target, let arguments):
      return try function(name, arguments: (target.map { [$0] } ?? []) + arguments, of: expression, in: environment)
    case .aggregate(let members): return .aggregate(try members.map { try operand($0, environment) })
    case .subquery(let collection, let variable, let predicate):
      return .toMany(try subquery(of: collection, variable: variable, where: predicate, in: environment))
    case .conditional(let predicate, let chosen, let otherwise):
      return try conditional(if: predicate, chosen, else: otherwise, for: expression, environment)
    case .assignment(_, let value): return try operand(value, environment)
    case .block where expression.expressionType == .fetchRequest:
      return .constant(PredicateValue(expression.value(in: EvaluationContext(object: nil, variables: [:]))))
    case .set, .block, .anyKey: throw SQLGenerationError.unsupportedExpression(expression.printed)
    }
  }

  /// Keys after an expression that is not the row itself.
  ///
  /// ```text
  /// $b.pages                                 keys of a SUBQUERY's variable: the member's columns
  /// SUBQUERY(books, $b, …).@count            keys after a subquery: an operator over its members
  /// lowercase(title).length                  error: SQL has no keys of a function's result
  /// ```
  private func keyPath(_ keys: [String], of base: NSExpression, _ environment: SQLEnvironment) throws -> SQLOperand {
    switch base.node {
    case .variable(let name):
      guard let scope = environment.variables[name] else { throw SQLGenerationError.unboundVariable(name) }
      return try operand(at: keys, from: scope, environment)
    case .subquery(let collection, let variable, let predicate):
      var relationship = try subquery(of: collection, variable: variable, where: predicate, in: environment)
      relationship.remainingKeys = keys
      return try operand(of: relationship)
    default: throw SQLGenerationError.unsupportedExpression(base.printed)
    }
  }

  /// The variable is bound when the members' SELECT is built (`select`): only then there is a row that it can mean. A
  /// subquery of a subquery, or of `books.author`, would need two levels of members and is an error.
  private func subquery(
    of collection: NSExpression, variable: String, where predicate: NSPredicate, in environment: SQLEnvironment
  ) throws -> SQLToMany {
    guard case .toMany(var relationship) = try operand(collection, environment) else {
      throw SQLGenerationError.notToMany(collection.printed)
    }
    guard relationship.remainingKeys.isEmpty, relationship.filter == nil else {
      throw SQLGenerationError.severalToManySteps(collection.printed)
    }
    relationship.filter = (variable, predicate)
    return relationship
  }

  /// The test is made as below a NOT (`environment.negated`): `title != "x"` is true of a missing title then, as in
  /// memory.
  private func conditional(
    if predicate: NSPredicate, _ chosen: NSExpression, else otherwise: NSExpression, for expression: NSExpression,
    _ environment: SQLEnvironment
  ) throws -> SQLOperand {
    let first = try operand(chosen, environment)
    let second = try operand(otherwise, environment)
    // Two nil values fit any type.
    let type = type(of: first) ?? type(of: second) ?? .number
    guard let a = scalar(first, type), let b = scalar(second, type) else {
      throw SQLGenerationError.unsupportedExpression(expression.printed)
    }
    let test = try condition(predicate, environment.negated)
    return .scalar("CASE WHEN \(test) THEN \(a) ELSE \(b) END", type)
  }

  /// The type of an operand's values; nil for nil, and for operands that are not scalars.
  func type(of operand: SQLOperand) -> SQLType? {
    switch operand {
    case .scalar(_, let type): type
    case .constant(let constant):
      switch constant {
      case .integer: .integer
      case .real: .number
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
    case .constant(let constant): bound(constant, comparedWith: type).map { dialect.parameter($0, type) }
    default: nil
    }
  }

  // MARK: Functions

  /// A predefined function, as SQL's own or as a call of the framework's.
  ///
  /// ```text
  /// lowercase:(title)             cd_call('lowercase:', 0, t0.ZTITLE)
  /// title.length                  cd_call('length:', 0, t0.ZTITLE)         units of UTF-16, as NSString counts
  /// modulus:by:(pages, 10)        cd_call('modulus:by:', 0, t0.ZPAGES, ?)
  /// sum:(books.pages)             a subquery over the members
  /// sum:(pages) in HAVING         SUM(t0.ZPAGES), over the rows of the group
  /// max:({pages, 10})             cd_call('max:', 0, t0.ZPAGES, ?), within one row
  /// ```
  ///
  /// The four basic operations are SQL's own operators; all others go through one function, whose first argument is the
  /// name. With one function for all of them the list that each connection registers stays short.
  private func function(
    _ name: String, arguments: [NSExpression], of expression: NSExpression, in environment: SQLEnvironment
  ) throws -> SQLOperand {
    let operands = try arguments.map { try operand($0, environment) }
    guard let function = PredicateFunction(rawValue: name) else { return try method(name, operands) }
    switch function {
    case .noIndex where operands.count == 1: return operands[0]
    case .sum, .count, .minimum, .maximum, .average, .median, .standardDeviation:
      // The values of a list in one row are the function's arguments.
      if operands.count == 1, case .aggregate(let members) = operands[0] { return try call(function, members) }
      if let result = try statistic(function, operands, environment) { return result }
      return try call(function, operands)
    case .add, .subtract, .multiply, .divide, .negate: return try arithmetic(function, operands)
    case .cast: return try cast(operands, expression)
    case .uppercase, .lowercase, .canonical, .length, .modulus, .squareRoot, .logarithm, .naturalLogarithm, .power,
      .exponential, .ceiling, .absolute, .truncate, .floor, .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift,
      .rightShift, .onesComplement:
      return try call(function, operands)
    default: throw SQLGenerationError.unsupportedFunction(name)
    }
  }

  /// A function of all members of a relationship, or of all rows of a group.
  ///
  /// ```text
  /// count:(books)                   COUNT(*) over the members
  /// count:(SELF) in a group         COUNT(t0.Z_PK)
  /// max:(pages) in a group          MAX(t0.ZPAGES)
  /// max:(pages) elsewhere           nil: it is a function of one value, see `function`
  /// ```
  private func statistic(
    _ function: PredicateFunction, _ operands: [SQLOperand], _ environment: SQLEnvironment
  ) throws -> SQLOperand? {
    guard operands.count == 1, let aggregation = SQLAggregation(function) else { return nil }
    if case .toMany(let relationship) = operands[0] { return try aggregate(aggregation, of: relationship) }
    guard environment.isAggregating else { return nil }
    switch operands[0] {
    case .object(let key, _, _) where function == .count: return .scalar("COUNT(\(key))", .integer)
    case .scalar(let column, let type):
      let result = try aggregate(aggregation, of: column, type: type)
      return .scalar(result.sql, result.type)
    default: throw SQLGenerationError.unsupportedFunction(function.rawValue)
    }
  }

  /// The four basic operations, in SQL where it calculates as Swift does.
  ///
  /// ```text
  /// pages / 2       (t0.ZPAGES / ?)                  integers: 341 / 2 is 170, in memory too
  /// price * 2       cd_call('multiply:by:', …)       decimals are calculated in tens, not as binary fractions
  /// -pages          (0 - t0.ZPAGES)
  /// title + 1       NULL: a text is no number
  /// ```
  private func arithmetic(_ function: PredicateFunction, _ operands: [SQLOperand]) throws -> SQLOperand {
    let types = operands.map(type(of:))
    if types.contains(.decimal) {
      let isExact = types.allSatisfy { $0 == .decimal || $0 == .integer }
      guard case .scalar(let result, _) = try call(function, operands) else { return .constant(.null) }
      return .scalar(result, isExact ? .decimal : .number)
    }
    let numbers = operands.compactMap(number)
    // A value that is not a number makes the result nil, as in memory.
    guard numbers.count == operands.count else { return .scalar("NULL", .number) }
    let type: SQLType = types.allSatisfy { $0 == .integer } ? .integer : .number
    if function == .negate, numbers.count == 1 { return .scalar("(0 - \(numbers[0]))", type) }
    guard numbers.count == 2, let symbol = function.infix else { return .scalar("NULL", .number) }
    // A division by zero is NULL in SQLite, and an error in PostgreSQL.
    if dialect.hasTypes, function == .divide { return .scalar("(\(numbers[0]) / NULLIF(\(numbers[1]), 0))", type) }
    return .scalar("(\(numbers[0]) \(raw: symbol) \(numbers[1]))", type)
  }

  /// The operand for a calculation; nil for one that is not a number.
  private func number(_ operand: SQLOperand) -> SQL? {
    switch operand {
    case .scalar(let column, let type) where type.isNumeric: column
    case .constant(.null): "NULL"
    case .constant(let constant): SQLType.number.bound(constant).map { value -> SQL in "\(bind: value)" }
    default: nil
    }
  }

  /// A predefined function, computed by the same code as in memory.
  ///
  /// The second argument has a bit for each decimal operand. Such a value is passed as text, since its REAL would bring
  /// a binary error into the decimal:
  ///
  /// ```text
  /// price + 1     cd_call('add:to:', 1, CAST(t0.ZPRICE AS TEXT), ?)        bit 0: the first operand is a decimal
  /// ```
  func call(_ function: PredicateFunction, _ operands: [SQLOperand]) throws -> SQLOperand {
    if !dialect.hasFunctions {
      if let stored = storedCall(function, operands) { return stored }
      throw SQLGenerationError.unsupportedFunction(function.rawValue)
    }
    var decimals: Int64 = 0
    var arguments: [SQL] = []
    for (index, operand) in operands.enumerated() {
      switch operand {
      case .scalar(let column, .decimal) where index < 64:
        decimals |= 1 << Int64(index)
        // The text from which the code in memory reads the value.
        arguments.append("CAST(\(column) AS TEXT)")
      case .constant(.decimal(let value)) where index < 64:
        decimals |= 1 << Int64(index)
        arguments.append("\(bind: .text(value.description))")
      case .scalar(let column, let type)
      where type != .opaque && (type.isNumeric || type == .text || function.takesAllKinds):
        arguments.append(column)
      case .constant(let constant):
        arguments.append(
          type(of: operand).flatMap { $0.bound(constant) }.map { value -> SQL in "\(bind: value)" } ?? "NULL")
      default: arguments.append("NULL")
      }
    }
    let name = SQLFunctions.Name.call.rawValue
    return .scalar(
      """
      \(raw: name)('\(raw: function.rawValue)', \(raw: String(decimals))\
      \(arguments.map { ", \($0)" as SQL }.joined("")))
      """, try resultType(of: function, operands))
  }

  /// The type decides how the result is compared: a text with a text, a number with a number. Least and largest of a
  /// date and a number have no common type, and are an error instead of an order by storage class.
  private func resultType(of function: PredicateFunction, _ operands: [SQLOperand]) throws -> SQLType {
    switch function {
    case .uppercase, .lowercase, .canonical: return .text
    case .length, .count, .modulus, .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift, .rightShift, .onesComplement:
      return .integer
    case .minimum, .maximum:
      let types = Set(operands.compactMap(type(of:)))
      if types.count <= 1 { return types.first ?? .number }
      if types.allSatisfy(\.isNumeric) { return .number }
      throw SQLGenerationError.incomparable("values of different kinds in \(function.rawValue)")
    case .sum: return operands.map(type(of:)).allSatisfy { $0 == .decimal || $0 == .integer } ? .decimal : .number
    default: return .number
    }
  }

  /// CAST to one of the classes of attributes.
  ///
  /// ```text
  /// CAST(pages, "NSString")      cd_call('castObject:toType:', 0, t0.ZPAGES, ?)
  /// CAST(published, "NSNumber")  CAST(t0.ZPUBLISHED AS REAL): the seconds since 2001
  /// CAST(5, "NSDate")            a constant: computed in memory
  /// ```
  private func cast(_ operands: [SQLOperand], _ expression: NSExpression) throws -> SQLOperand {
    guard operands.count == 2, case .scalar(let column, let type) = operands[0],
      case .constant(.string(let target)) = operands[1]
    else { throw SQLGenerationError.unsupportedExpression(expression.printed) }
    let targetType: SQLType
    switch target {
    case "NSDate", "Date": targetType = .date
    case "NSNumber": targetType = .number
    case "NSDecimalNumber", "Decimal": targetType = .decimal
    case "NSString", "String": targetType = .text
    case "NSUUID", "UUID": targetType = .uuid
    case "NSURL", "URL": targetType = .uri
    default: throw SQLGenerationError.unsupportedExpression(expression.printed)
    }
    switch (type, targetType) {
    case (_, .number) where type.isNumeric, (_, _) where type == targetType: return operands[0]
    case (.uri, .text): return .scalar(column, targetType)
    case _ where dialect.hasTypes: throw SQLGenerationError.unsupportedExpression(expression.printed)
    case (.date, .number): return .scalar("CAST(\(column) AS REAL)", .number)
    case (_, .date) where type.isNumeric: return .scalar(column, .date)
    case _ where type.isNumeric || type == .text:
      guard case .scalar(let result, _) = try call(.cast, operands) else { return operands[0] }
      return .scalar(result, targetType)
    default: throw SQLGenerationError.unsupportedExpression(expression.printed)
    }
  }
}

extension PredicateFunction {
  /// Whether the function accepts values of any kind.
  fileprivate var takesAllKinds: Bool { [.count, .minimum, .maximum, .sum, .average].contains(self) }
}
