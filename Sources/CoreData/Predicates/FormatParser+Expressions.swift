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

  mutating func operation() throws -> Node { try nested { try $0.assignmentOrSets() } }

  private mutating func assignmentOrSets() throws -> Node {
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
      let set = NSExpression(node: .set(operation, left, try asExpression(binary(level: 0), at: right)))
      left = try asExpression(.expression(set), at: start)
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

  /// An operation whose operators have at least the precedence `level`. Operators of one level associate to the left.
  private mutating func binary(level: Int) throws -> Node {
    let start = position
    var node = try unary()
    while let (function, precedence) = infix, precedence >= level {
      advance()
      let left = try asExpression(node, at: start)
      let next = position
      node = call(function, [left, try asExpression(binary(level: precedence + 1), at: next)])
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

  /// The negated operand. The sign of a number literal becomes part of the constant.
  private func negated(_ operand: NSExpression) -> NSExpression {
    switch operand.constant {
    case let number as Int64 where number != .min: NSExpression(forConstantValue: -number)
    case let number as Double: NSExpression(forConstantValue: -number)
    default: NSExpression(forFunction: PredicateFunction.negate.rawValue, arguments: [operand])
    }
  }

  func call(_ function: PredicateFunction, _ arguments: [NSExpression]) -> Node {
    .expression(NSExpression(forFunction: function.rawValue, arguments: arguments))
  }

  // MARK: Key paths and indexes

  private mutating func postfix() throws -> Node {
    let start = position
    var node = try primary()
    while true {
      if take(".") {
        if case .variable(let name) = current {
          advance()
          node = .expression(try asExpression(node, at: start).appending(variable: name))
          continue
        }
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
      try checkKeys([name])
      advance()
      return [name]
    case .argument(.keyPath): return try keyPathArgument()
    default: throw failure("Expected a key after \".\"")
    }
  }

  mutating func keyPathArgument() throws -> [String] {
    let value = try nextArgument()
    guard case .string(let text) = PredicateValue(value), !text.isEmpty else {
      throw failure("The argument for %K must be a key path")
    }
    let keys = text.split(separator: ".").map(String.init)
    try checkKeys(keys)
    advance()
    return keys
  }

  /// Throws for a collection operator that does not exist.
  func checkKeys(_ keys: [String]) throws {
    for key in keys where key.hasPrefix("@") && CollectionOperator(rawValue: key) == nil {
      throw failure(CollectionOperator.unknown(key))
    }
  }

  private mutating func subscriptIndex() throws -> NSExpression {
    for (word, symbol) in [(FormatKeyword.first, IndexSymbol.first), (.last, .last), (.size, .size)] where take(word) {
      return NSExpression(forConstantValue: symbol)
    }
    return try operand()
  }

  /// The node as a part of a larger one, or as the whole. Chains of operators make deep trees without recursion of the
  /// parser, so each part is measured here.
  func asExpression(_ node: Node, at start: Int) throws -> NSExpression {
    guard case .expression(let expression) = node else {
      throw failure("Expected a value, not a predicate", at: start)
    }
    guard !expression.isDeeper(than: FormatParser.maximumDepth) else { throw failure("Nested too deeply") }
    return expression
  }
}

extension NSExpression {
  /// The value at the key path that `$name` will hold.
  fileprivate func appending(variable name: String) -> NSExpression {
    NSExpression(node: .function(name: "valueForKeyPath:", operand: self, arguments: [NSExpression(forVariable: name)]))
  }

  /// The key path that a call of `valueForKeyPath:` with a constant spells; nil for other expressions.
  final var calledKeyPath: NSExpression? {
    guard case .function(let name, let operand?, let arguments) = node, PredicateMethod.keyPathSelectors.contains(name),
      case .string(let text) = PredicateValue(arguments.first?.constant)
    else { return nil }
    return operand.appending(KeyPathComponents(text).keys)
  }

  /// The value at further keys of this expression's value.
  func appending(_ keys: [String]) -> NSExpression {
    switch node {
    case .evaluatedObject: NSExpression(node: .keyPath(operand: nil, path: KeyPathComponents(keys: keys)))
    case .keyPath(let operand, let path):
      NSExpression(node: .keyPath(operand: operand, path: KeyPathComponents(keys: path.keys + keys)))
    default: NSExpression(node: .keyPath(operand: self, path: KeyPathComponents(keys: keys)))
    }
  }
}
