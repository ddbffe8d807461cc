extension FormatParser {
  /// An expression where a parenthesis could hold a predicate too: a member of a list, an argument of a function, and
  /// the whole text of `NSExpression(format:)`. A predicate there is an error at its first token.
  mutating func expression() throws -> NSExpression {
    let start = position
    return try asExpression(either(), at: start)
  }

  /// One side of a comparison, an index, or the value of an assignment. AND and OR end it.
  mutating func operand() throws -> NSExpression {
    let start = position
    return try asExpression(operation(), at: start)
  }

  /// An assignment, set operations or arithmetic. Every cycle of the grammar passes through here, so this is where the
  /// depth of the recursion is counted.
  mutating func operation() throws -> Node { try nested { try $0.assignmentOrSets() } }

  /// The loosest operators. Set operations have one level and associate to the left: `a UNION b MINUS c` is
  /// `(a UNION b) MINUS c`.
  ///
  /// Each result goes through `asExpression`, although it is known to be an expression: that is where the depth of the
  /// tree is checked, and each operation makes the tree one level deeper.
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
  ///
  /// Precedence climbing: the right side is read with the next higher level, so it takes only operators that bind
  /// tighter. `1 + 2 * 3 + 4` gives
  ///
  /// ```text
  /// add:to:( add:to:(1, multiply:by:(2, 3)), 4)
  /// ```
  ///
  /// A single operand is returned as the node that it is, which may be a predicate in parentheses; only an operator
  /// behind it requires a value.
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

  /// Signs before an operand. They are collected in a loop and applied from the inside, so that `- - - a` needs no
  /// recursion.
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
  ///
  /// So `-5` is a constant, as in Apple's trees, and a comparison with it can use an index. The negation of anything
  /// else is the function `negate:`, which prints as a minus again.
  private func negated(_ operand: NSExpression) -> NSExpression {
    switch operand.constant {
    case let number as Int64 where number != .min: NSExpression(forConstantValue: -number)
    case let number as Double: NSExpression(forConstantValue: -number)
    default: NSExpression(forFunction: PredicateFunction.negate.rawValue, arguments: [operand])
    }
  }

  /// An operator as a call of its function: `a + b` is `add:to:(a, b)`, and both texts give equal trees.
  func call(_ function: PredicateFunction, _ arguments: [NSExpression]) -> Node {
    .expression(NSExpression(forFunction: function.rawValue, arguments: arguments))
  }

  // MARK: Key paths and indexes

  /// Keys and indexes behind a value. Keys that follow each other become one key path, `author.name`, and not a path of
  /// a path, so that SQL generation sees it whole.
  ///
  /// A variable behind a dot, `$object.$key`, is a path that is known only when the variable has a value. It is kept as
  /// `FUNCTION($object, "valueForKeyPath:", $key)`, which `withSubstitutionVariables(_:)` turns into a plain path
  /// again.
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

  /// The keys behind a dot. Reserved words are keys here. `%K` gives as many keys as its argument has.
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

  /// The keys of the argument of `%K`: "author.name" gives two. The argument is never parsed as text of the format:
  /// each part between dots is one key, whatever characters it has. So a name from a user cannot change the predicate,
  /// but it can name any property: check it against the entity first.
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

  /// What stands in brackets: a symbol, or an expression whose value is a number or the key of a dictionary. It is
  /// evaluated in memory only; SQL generation refuses it.
  private mutating func subscriptIndex() throws -> NSExpression {
    for (word, symbol) in [(FormatKeyword.first, IndexSymbol.first), (.last, .last), (.size, .size)] where take(word) {
      return NSExpression(forConstantValue: symbol)
    }
    return try operand()
  }

  /// The node as a part of a larger one, or as the whole. Chains of operators make deep trees without recursion of the
  /// parser, so each part is measured here.
  ///
  /// - Parameter start: where the node began, for the error.
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
  ///
  /// Templates of models write key paths in this form, and substitution makes it of `$object.$key`. SQL generation asks
  /// for it, so that both become columns.
  final var calledKeyPath: NSExpression? {
    guard case .function(let name, let operand?, let arguments) = node, PredicateMethod.keyPathSelectors.contains(name),
      case .string(let text) = PredicateValue(arguments.first?.constant)
    else { return nil }
    return operand.appending(KeyPathComponents(text).keys)
  }

  /// The value at further keys of this expression's value.
  ///
  /// `SELF.name` is the same as `name`, and a path continues: so equal paths are equal trees, however they were
  /// written.
  func appending(_ keys: [String]) -> NSExpression {
    switch node {
    case .evaluatedObject: NSExpression(node: .keyPath(operand: nil, path: KeyPathComponents(keys: keys)))
    case .keyPath(let operand, let path):
      NSExpression(node: .keyPath(operand: operand, path: KeyPathComponents(keys: path.keys + keys)))
    default: NSExpression(node: .keyPath(operand: self, path: KeyPathComponents(keys: keys)))
    }
  }
}
