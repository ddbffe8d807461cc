extension SQLGenerator {
  /// A method of a value, computed by the same code as in memory.
  ///
  /// ```text
  /// FUNCTION(title, "stringByAppendingString:", "!") == "a!"
  /// cd_method(?, ?, t0.ZTITLE, ?) = ?          selector, kinds, receiver, argument
  /// ```
  ///
  /// The kinds are one letter for each value (`PredicateMethod.Kind`): SQLite hands over numbers, texts and bytes only,
  /// and a date is a number too.
  func method(_ selector: String, _ operands: [SQLOperand]) throws -> SQLOperand {
    if !dialect.hasFunctions { throw SQLGenerationError.unsupportedFunction(selector) }
    guard let receiver = operands.first, let type = type(of: receiver) else {
      if case .constant(.null)? = operands.first { return .constant(.null) }
      throw SQLGenerationError.unsupportedFunction(selector)
    }
    guard let method = type.methodKind.flatMap({ PredicateMethod.method(selector, of: $0) }),
      let result = SQLType(method.result)
    else { throw SQLGenerationError.unsupportedFunction(selector) }
    var kinds = ""
    var values: [SQL] = []
    for operand in operands {
      guard let (kind, value) = try argument(operand) else { return .constant(.null) }
      kinds.append(kind.rawValue)
      values.append(value)
    }
    let name = SQLFunctions.Name.method.rawValue
    return .scalar(
      "\(raw: name)(\(bind: .text(selector)), \(bind: .text(kinds)), \(values.joined(", ")))", result)
  }

  /// The kind and the value of a receiver or an argument; nil for nil, which makes the result nil.
  private func argument(_ operand: SQLOperand) throws -> (PredicateMethod.Kind, SQL)? {
    if case .constant(.null) = operand { return nil }
    guard let type = type(of: operand), let kind = type.methodKind else {
      throw SQLGenerationError.unsupportedExpression("an argument of FUNCTION that is not a value")
    }
    switch operand {
    // The text from which the code in memory reads the value.
    case .scalar(let column, .decimal): return (kind, "CAST(\(column) AS TEXT)")
    case .scalar(let column, _): return (kind, column)
    case .constant(.decimal(let value)): return (kind, "\(bind: .text(value.description))")
    case .constant(let constant): return type.bound(constant).map { (kind, "\(bind: $0)") }
    default: return nil
    }
  }
}

extension SQLType {
  /// The kind of value for methods; nil for types without any.
  fileprivate var methodKind: PredicateMethod.Kind? {
    switch self {
    case .number: .number
    case .integer: .integer
    case .decimal: .decimal
    case .date: .date
    case .text: .text
    case .uuid: .uuid
    case .uri: .url
    case .data: .data
    case .opaque, .entity: nil
    }
  }

  /// The type of a method's result; nil for results that SQL cannot compare.
  fileprivate init?(_ kind: PredicateMethod.Kind) {
    switch kind {
    case .number: self = .number
    case .integer: self = .integer
    case .decimal: self = .decimal
    case .date: self = .date
    case .text: self = .text
    case .uuid: self = .uuid
    case .url: self = .uri
    case .data: self = .data
    case .collection, .any: return nil
    }
  }
}
