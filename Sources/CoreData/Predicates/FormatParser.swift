/// Parses a predicate's text by recursive descent, with one function for each level of precedence.
///
///     predicate  = and { (OR | ||) and }
///     and        = not { (AND | &&) not }
///     not        = (NOT | !) not | comparison
///     comparison = [ANY | SOME | ALL | NONE] expression operator ["[" c d n l "]"] expression
///                | TRUEPREDICATE | FALSEPREDICATE | "(" predicate ")" | %@
///
/// A parenthesis may hold a predicate or an expression, and only its content tells which. So every level returns
/// either. Groups of predicates are no recursion: `PredicateGroups` finds them beforehand.
struct FormatParser {
  enum Node {
    case expression(NSExpression)
    case predicate(NSPredicate)
  }

  /// The most levels of the tree, and of parentheses in the text. Large enough for any predicate that a person writes,
  /// small enough for any thread's stack: reading and releasing the tree recurse over it. SQLite's own parser takes a
  /// few levels less.
  static let maximumDepth = 100

  private let format: String
  private let tokens: [FormatToken]
  private let groups: PredicateGroups
  private var arguments: [Any?]
  private var index = 0
  private var depth = 0
  private var argumentIndex = 0

  init(format: String, arguments: FormatArguments) throws {
    self.format = format
    self.tokens = try FormatLexer.tokens(of: format)
    self.groups = PredicateGroups(tokens)
    let specifiers = tokens.compactMap { token in
      if case .argument(let specifier) = token.kind { specifier } else { nil }
    }
    self.arguments = arguments.values(for: specifiers)
  }

  mutating func parsePredicate() throws -> NSPredicate {
    let predicate = try self.predicate()
    guard current == .end else { throw failure("Expected AND, OR or the end") }
    return predicate
  }

  mutating func parseExpression() throws -> NSExpression {
    let expression = try self.expression()
    guard current == .end else { throw failure("Expected an operator or the end") }
    return expression
  }

  // MARK: Tokens

  var current: FormatToken.Kind { tokens[index].kind }

  var position: Int { tokens[index].position }

  var keyword: FormatKeyword? { tokens[index].keyword }

  var infix: (function: PredicateFunction, level: Int)? { tokens[index].infix }

  mutating func advance() {
    if index < tokens.count - 1 { index += 1 }
  }

  func isSymbol(_ symbol: String) -> Bool { current == .symbol(symbol) }

  /// Whether `<null>` follows, as which `NSNull` prints.
  var isNullObject: Bool {
    guard isSymbol("<"), index + 2 < tokens.count else { return false }
    return tokens[index + 1].keyword == .null && tokens[index + 2].kind == .symbol(">")
  }

  mutating func take(_ symbol: String) -> Bool {
    guard isSymbol(symbol) else { return false }
    advance()
    return true
  }

  mutating func take(_ expectedKeyword: FormatKeyword) -> Bool {
    guard keyword == expectedKeyword else { return false }
    advance()
    return true
  }

  mutating func expect(_ symbol: String) throws {
    guard take(symbol) else { throw failure("Expected \"\(symbol)\"") }
  }

  func failure(_ message: String, at position: Int? = nil) -> PredicateSyntaxError {
    PredicateSyntaxError(format: format, scalar: position ?? self.position, message: message)
  }

  /// The argument of the `%…` that was just read.
  mutating func nextArgument() throws -> Any? {
    guard argumentIndex < arguments.count else { throw failure("No argument is left for this place") }
    defer { argumentIndex += 1 }
    return arguments[argumentIndex]
  }

  // MARK: Predicates

  mutating func predicate() throws -> NSPredicate {
    let node = try either()
    return try asPredicate(node)
  }

  /// A predicate or an expression.
  mutating func either() throws -> Node {
    var group = PredicateGroup()
    var outer: [PredicateGroup] = []
    while true {
      group.negations = try negations()
      if groups.begin(at: index) {
        advance()
        outer.append(group)
        group = PredicateGroup()
        continue
      }
      let node = try comparison()
      if case .expression = node, outer.isEmpty, group.isEmpty, !isAnd, !isOr { return node }
      try add(PredicateOperand(asPredicate(node)), to: &group)
      while !takeConnective(of: &group) {
        guard let whole = group.finish() else { throw failure("Expected a comparison operator") }
        guard let next = outer.popLast() else { return .predicate(whole.predicate) }
        group = next
        try expect(")")
        guard comparisonOperator == nil else { throw failure("Expected AND, OR or the end after a predicate") }
        try add(whole, to: &group)
      }
    }
  }

  private var isAnd: Bool { keyword == .and || isSymbol("&&") }

  private var isOr: Bool { keyword == .or || isSymbol("||") }

  private mutating func takeConnective(of group: inout PredicateGroup) -> Bool {
    guard isAnd || isOr else { return false }
    if isOr { group.endConjunction() }
    advance()
    return true
  }

  private func add(_ operand: PredicateOperand, to group: inout PredicateGroup) throws {
    group.add(operand)
    guard group.levels <= FormatParser.maximumDepth else { throw failure("Nested too deeply") }
  }

  private mutating func negations() throws -> Int {
    var count = 0
    while take(.not) || take("!") { count += 1 }
    guard count < FormatParser.maximumDepth else { throw failure("Nested too deeply") }
    return count
  }

  private mutating func comparison() throws -> Node {
    if take(.truePredicate) { return .predicate(TruthPredicate(value: true)) }
    if take(.falsePredicate) { return .predicate(TruthPredicate(value: false)) }
    if take(.any) || take(.some) { return .predicate(try modified(.any)) }
    if take(.all) { return .predicate(try modified(.all)) }
    if take(.none) {
      return .predicate(ParsedCompoundPredicate(type: .not, subpredicates: [try modified(.any)]))
    }
    let node = try operation()
    guard let type = comparisonOperator else { return node }
    guard case .expression(let left) = node else { throw failure("Expected AND, OR or the end after a predicate") }
    return .predicate(try comparison(left, .direct, type))
  }

  private mutating func modified(_ modifier: NSComparisonPredicate.Modifier) throws -> NSPredicate {
    let left = try operand()
    guard let type = comparisonOperator else { throw failure("Expected a comparison operator") }
    return try comparison(left, modifier, type)
  }

  private mutating func comparison(
    _ left: NSExpression, _ modifier: NSComparisonPredicate.Modifier, _ type: NSComparisonPredicate.Operator
  ) throws -> NSPredicate {
    advance()
    let options = try comparisonOptions()
    let start = position
    let right = try operand()
    if type == .between, case .aggregate(let bounds) = right.node, bounds.count != 2 {
      throw failure("Expected {lowest, highest}", at: start)
    }
    // The predicate walks its sides as soon as it is made.
    guard !left.isDeeper(than: FormatParser.maximumDepth), !right.isDeeper(than: FormatParser.maximumDepth) else {
      throw failure("Nested too deeply")
    }
    return NSComparisonPredicate(
      leftExpression: left, rightExpression: right, modifier: modifier, type: type, options: options)
  }

  private var comparisonOperator: NSComparisonPredicate.Operator? {
    if case .symbol(let symbol) = current {
      switch symbol {
      case "=", "==": return .equalTo
      case "!=", "<>": return .notEqualTo
      case "<": return .lessThan
      case ">": return .greaterThan
      case "<=", "=<": return .lessThanOrEqualTo
      case ">=", "=>": return .greaterThanOrEqualTo
      default: return nil
      }
    }
    switch keyword {
    case .in: return .in
    case .between: return .between
    case .contains: return .contains
    case .beginsWith: return .beginsWith
    case .endsWith: return .endsWith
    case .like: return .like
    case .matches: return .matches
    default: return nil
    }
  }

  private mutating func comparisonOptions() throws -> NSComparisonPredicate.Options {
    guard take("[") else { return [] }
    guard case .word(let letters) = current else { throw failure("Expected options: c, d, n, l") }
    var options: NSComparisonPredicate.Options = []
    for letter in letters.lowercased() {
      switch letter {
      case "c": options.insert(.caseInsensitive)
      case "d": options.insert(.diacriticInsensitive)
      case "n": options.insert(.normalized)
      case "l": options.insert(.localeSensitive)
      default: throw failure("Expected options: c, d, n, l")
      }
    }
    advance()
    try expect("]")
    return options
  }

  private func asPredicate(_ node: Node) throws -> NSPredicate {
    guard case .predicate(let predicate) = node else { throw failure("Expected a comparison operator") }
    guard !predicate.isDeeper(than: FormatParser.maximumDepth) else { throw failure("Nested too deeply") }
    return predicate
  }

  /// Runs one step of the recursive descent. Every cycle of it passes through ``operation()``, which calls this.
  mutating func nested<Value>(_ step: (inout FormatParser) throws -> Value) throws -> Value {
    depth += 1
    defer { depth -= 1 }
    guard depth < FormatParser.maximumDepth else { throw failure("Nested too deeply") }
    return try step(&self)
  }
}
