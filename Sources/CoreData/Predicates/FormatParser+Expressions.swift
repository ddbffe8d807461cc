extension FormatParser {
  /// An expression, not a predicate.
  mutating func expression() throws -> NSExpression {
    let start = position
    return try asExpression(either(), at: start)
  }

  /// One side of a comparison.
  mutating func operand() throws -> NSExpression {
    let start = position
    return try asExpression(operation(), at: start)
  }

  /// Operators in the order of their precedence, those that bind loosest first.
  private static let levels: [[String: PredicateFunction]] = [
    ["|": .bitwiseOr], ["^": .bitwiseXor], ["&": .bitwiseAnd], ["<<": .leftShift, ">>": .rightShift],
    ["+": .add, "-": .subtract], ["*": .multiply, "/": .divide],
  ]

  mutating func operation() throws -> Node {
    let start = position
    let first = try binary(level: 0)
    if take(":=") {
      guard case .variable(let name) = try asExpression(first, at: start).node else {
        throw failure("Expected a $variable before :=", at: start)
      }
      return .expression(NSExpression(node: .assignment(name, try operand())))
    }
    guard let operation = setOperation else { return first }
    var left = try asExpression(first, at: start)
    var next: SetOperation? = operation
    while let operation = next {
      advance()
      let right = position
      left = NSExpression(node: .set(operation, left, try asExpression(binary(level: 0), at: right)))
      next = setOperation
    }
    return .expression(left)
  }

  private var setOperation: SetOperation? {
    switch keyword {
    case .union: .union
    case .intersect: .intersect
    case .minus: .minus
    default: nil
    }
  }

  private mutating func binary(level: Int) throws -> Node {
    guard level < FormatParser.levels.count else { return try power() }
    let start = position
    var node = try binary(level: level + 1)
    while case .symbol(let symbol) = current, let function = FormatParser.levels[level][symbol] {
      advance()
      let left = try asExpression(node, at: start)
      let next = position
      node = call(function, [left, try asExpression(binary(level: level + 1), at: next)])
    }
    return node
  }

  private mutating func power() throws -> Node {
    let start = position
    var node = try unary()
    while take("**") {
      let left = try asExpression(node, at: start)
      let next = position
      node = call(.power, [left, try asExpression(unary(), at: next)])
    }
    return node
  }

  private mutating func unary() throws -> Node {
    var signs: [PredicateFunction] = []
    while true {
      if take("-") {
        signs.append(.negate)
      } else if take("~") {
        signs.append(.onesComplement)
      } else {
        break
      }
      guard signs.count < 50 else { throw failure("Nested too deeply") }
    }
    let start = position
    var node = try postfix()
    for sign in signs.reversed() {
      let operand = try asExpression(node, at: start)
      node = sign == .negate ? .expression(negated(operand)) : call(sign, [operand])
    }
    return node
  }

  /// A literal's sign belongs to it.
  private func negated(_ operand: NSExpression) -> NSExpression {
    switch operand.constantValue {
    case let number as Int64 where number != .min: NSExpression(forConstantValue: -number)
    case let number as Double: NSExpression(forConstantValue: -number)
    default: NSExpression(forFunction: PredicateFunction.negate.rawValue, arguments: [operand])
    }
  }

  private func call(_ function: PredicateFunction, _ arguments: [NSExpression]) -> Node {
    .expression(NSExpression(forFunction: function.rawValue, arguments: arguments))
  }

  // MARK: Key paths and indexes

  private mutating func postfix() throws -> Node {
    let start = position
    var node = try primary()
    while true {
      if take(".") {
        let keys = try keyPathStep()
        node = .expression(try asExpression(node, at: start).appending(keys))
      } else if take("[") {
        let collection = try asExpression(node, at: start)
        node = call(.element, [collection, try subscriptIndex()])
        try expect("]")
      } else {
        return node
      }
    }
  }

  private mutating func keyPathStep() throws -> [String] {
    switch current {
    case .word(let name), .escapedWord(let name), .operatorKey(let name):
      advance()
      return [name]
    case .argument(.keyPath): return try keyPathArgument()
    default: throw failure("Expected a key after \".\"")
    }
  }

  private mutating func keyPathArgument() throws -> [String] {
    let value = try nextArgument()
    guard case .string(let text) = PredicateValue(value), !text.isEmpty else {
      throw failure("The argument for %K must be a key path")
    }
    advance()
    return text.split(separator: ".").map(String.init)
  }

  private mutating func subscriptIndex() throws -> NSExpression {
    for (word, symbol) in [(FormatKeyword.first, IndexSymbol.first), (.last, .last), (.size, .size)] where take(word) {
      return NSExpression(forConstantValue: symbol)
    }
    return try operand()
  }

  // MARK: Primaries

  private mutating func primary() throws -> Node {
    switch current {
    case .integer(let value): return constant(value)
    case .real(let value): return constant(value)
    case .string(let value): return constant(value)
    case .variable(let name):
      advance()
      return .expression(NSExpression(forVariable: name))
    case .escapedWord(let name), .operatorKey(let name):
      advance()
      return .expression(NSExpression(node: .keyPath(operand: nil, path: KeyPathComponents(keys: [name]))))
    case .argument(let specifier): return try argument(specifier)
    case .functionName(let name):
      let start = position
      advance()
      return try predefined(name, at: start)
    case .word(let word): return try self.word(word)
    case .symbol("("):
      advance()
      let node = try either()
      try expect(")")
      return node
    case .symbol("{"):
      advance()
      return .expression(NSExpression(node: .aggregate(try list(until: "}"))))
    default: throw failure("Expected a key path, a value or \"(\"")
    }
  }

  private mutating func constant(_ value: Any) -> Node {
    advance()
    return .expression(NSExpression(forConstantValue: value))
  }

  private mutating func argument(_ specifier: FormatSpecifier) throws -> Node {
    if specifier == .keyPath {
      return .expression(
        NSExpression(node: .keyPath(operand: nil, path: KeyPathComponents(keys: try keyPathArgument()))))
    }
    let value = try nextArgument()
    if specifier == .object, let predicate = value as? NSPredicate {
      advance()
      return .predicate(predicate)
    }
    if specifier == .object, let expression = value as? NSExpression {
      advance()
      return .expression(expression)
    }
    if specifier == .int32 || specifier == .int64 || specifier == .double {
      guard PredicateValue(value).double != nil || value is String else {
        throw failure("The argument must be a number")
      }
    }
    return constant(value as Any)
  }

  private mutating func word(_ word: String) throws -> Node {
    let start = position
    let keyword = keyword
    advance()
    switch keyword {
    case .null, .nil: return .expression(NSExpression(forConstantValue: nil))
    case .true, .yes: return .expression(NSExpression(forConstantValue: true))
    case .false, .no: return .expression(NSExpression(forConstantValue: false))
    case .self: return .expression(NSExpression.expressionForEvaluatedObject())
    case .anyKey: return .expression(NSExpression.expressionForAnyKey())
    case .cast: return try call(.cast, arguments(count: 2, of: "CAST"))
    case .function: return try functionCall()
    case .subquery: return try subquery()
    case .ternary: return try ternary()
    case nil, .first, .last, .size: break
    default: throw failure("\(word) is a reserved word; a key of that name is written #\(word)", at: start)
    }
    if isSymbol("(") { return try predefined(word, at: start) }
    return .expression(NSExpression(node: .keyPath(operand: nil, path: KeyPathComponents(keys: [word]))))
  }

  private mutating func predefined(_ name: String, at start: Int) throws -> Node {
    guard let function = PredicateFunction(formatName: name) else {
      throw failure("There is no function \"\(name)\"", at: start)
    }
    try expect("(")
    let arguments = try list(until: ")")
    // The statistics take one collection or any number of values.
    let takesMany = function.argumentCount == 1 && !arguments.isEmpty
    guard takesMany || arguments.count == function.argumentCount else {
      throw failure("\(function.rawValue) takes \(function.argumentCount) arguments", at: start)
    }
    return call(function, arguments)
  }

  private mutating func arguments(count: Int, of name: String) throws -> [NSExpression] {
    let start = position
    try expect("(")
    let arguments = try list(until: ")")
    guard arguments.count == count else { throw failure("\(name) takes \(count) arguments", at: start) }
    return arguments
  }

  private mutating func functionCall() throws -> Node {
    let start = position
    try expect("(")
    let parts = try list(until: ")")
    guard parts.count >= 2, let name = parts[1].constantValue as? String else {
      throw failure("FUNCTION takes an operand, a name in quotes, and arguments", at: start)
    }
    return .expression(
      NSExpression(node: .function(name: name, operand: parts[0], arguments: Array(parts.dropFirst(2)))))
  }

  private mutating func subquery() throws -> Node {
    try expect("(")
    let collection = try expression()
    try expect(",")
    guard case .variable(let name) = current else { throw failure("Expected a $variable") }
    advance()
    try expect(",")
    let predicate = try predicate()
    try expect(")")
    return .expression(NSExpression(forSubquery: collection, usingIteratorVariable: name, predicate: predicate))
  }

  private mutating func ternary() throws -> Node {
    try expect("(")
    let predicate = try predicate()
    try expect(",")
    let chosen = try expression()
    try expect(",")
    let otherwise = try expression()
    try expect(")")
    return .expression(
      NSExpression(forConditional: predicate, trueExpression: chosen, falseExpression: otherwise))
  }

  private mutating func list(until end: String) throws -> [NSExpression] {
    var members: [NSExpression] = []
    if take(end) { return members }
    repeat { members.append(try expression()) } while take(",")
    guard take(end) else { throw failure("Expected \",\" or \"\(end)\"") }
    return members
  }

  private func asExpression(_ node: Node, at start: Int) throws -> NSExpression {
    if case .expression(let expression) = node { return expression }
    throw failure("Expected a value, not a predicate", at: start)
  }
}

extension NSExpression {
  /// The value at further keys of this expression's value.
  fileprivate func appending(_ keys: [String]) -> NSExpression {
    switch node {
    case .evaluatedObject: NSExpression(node: .keyPath(operand: nil, path: KeyPathComponents(keys: keys)))
    case .keyPath(let operand, let path):
      NSExpression(node: .keyPath(operand: operand, path: KeyPathComponents(keys: path.keys + keys)))
    default: NSExpression(node: .keyPath(operand: self, path: KeyPathComponents(keys: keys)))
    }
  }
}
