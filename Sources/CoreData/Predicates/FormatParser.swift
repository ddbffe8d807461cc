/// Parses a predicate's text by recursive descent, with one function for each level of precedence.
///
/// ```text
/// predicate  = and { (OR | "||") and }
/// and        = not { (AND | "&&") not }
/// not        = (NOT | "!") not | comparison
/// comparison = [ANY | SOME | ALL | NONE] operation operator ["[" c d n l "]"] operation
///            | TRUEPREDICATE | FALSEPREDICATE | "(" predicate ")" | %@
/// operator   = "=" "==" "!=" "<>" "<" ">" "<=" "=<" ">=" "=>"
///            | IN | BETWEEN | CONTAINS | BEGINSWITH | ENDSWITH | LIKE | MATCHES
/// operation  = $name ":=" operation | binary { (UNION | INTERSECT | MINUS) binary }
/// binary     = unary { infix unary }
/// unary      = { "-" | "~" } postfix
/// postfix    = primary { "." key | "." $name | "[" (FIRST | LAST | SIZE | operation) "]" }
/// primary    = number | string | data | $name | #name | @operator | %argument | NULL | TRUE | FALSE
///            | SELF | ANYKEY | name | function "(" [operation { "," operation }] ")"
///            | "(" (predicate | operation) ")" | "{" [operation { "," operation }] "}"
///            | CAST(…) | FUNCTION(…) | SUBQUERY(…) | TERNARY(…) | FETCH(…)
/// ```
///
/// `infix` binds the tighter the higher its level: `|` 0, `^` 1, `&` 2, `<<` and `>>` 3, `+` and `-` 4, `*` and `/` 5,
/// `**` 6. All of them associate to the left, so `2 ** 3 ** 2` is 64. Unary signs bind tighter than all: `-2 ** 2` is
/// 4.
///
/// A parenthesis may hold a predicate or an expression, and only its content tells which: `(a + b) > 3` and
/// `(a > b) AND c`. So every level returns a `Node`, which is either. Groups of predicates are no recursion:
/// `PredicateGroups` finds them beforehand, and `either()` keeps a list of those that are open. So a chain that a
/// program built two by two, which prints with as many parentheses as it has parts, needs no deep stack.
///
/// Callers are the initialisers with a format, `NSPredicate.parse(format:arguments:)`,
/// `NSExpression.parse(format:arguments:)` and the readers of model and mapping files. A parser is used once.
///
/// Source: Predicate Programming Guide, "Predicate Format String Syntax"; the precedences of arithmetic are C's.
struct FormatParser {
  /// The two never mix in one tree without a conversion: `asExpression` and `asPredicate` refuse the other kind at its
  /// place in the text. An expression may hold a predicate only in SUBQUERY and TERNARY, a predicate holds expressions
  /// as the sides of comparisons.
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

  /// Splits the text and fetches the arguments, but parses nothing yet.
  ///
  /// - Throws: `PredicateSyntaxError` for text that has no tokens.
  init(format: String, arguments: FormatArguments) throws {
    self.format = format
    self.tokens = try FormatLexer.tokens(of: format)
    self.groups = PredicateGroups(tokens)
    let specifiers = tokens.compactMap { token in
      if case .argument(let specifier) = token.kind { specifier } else { nil }
    }
    self.arguments = arguments.values(for: specifiers)
  }

  /// The predicate that the whole text is. What is left behind it is an error: `a = 1 b = 2` lacks an AND.
  mutating func parsePredicate() throws -> NSPredicate {
    let predicate = try self.predicate()
    guard current == .end else { throw failure("Expected AND, OR or the end") }
    return predicate
  }

  /// The expression that the whole text is, for `NSExpression(format:)` and derivations in model files.
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

  /// Goes to the next token. The last one, `.end`, stays current.
  mutating func advance() {
    if index < tokens.count - 1 { index += 1 }
  }

  func isSymbol(_ symbol: String) -> Bool { current == .symbol(symbol) }

  /// Whether `<null>` follows, as which `NSNull` prints.
  var isNullObject: Bool {
    guard isSymbol("<"), index + 2 < tokens.count else { return false }
    return tokens[index + 1].keyword == .null && tokens[index + 2].kind == .symbol(">")
  }

  /// Goes on if the symbol is next; returns whether it was.
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

  /// An error at the current token, or at an earlier one where the fault began: a predicate that stands where a value
  /// is expected is known as one only at its end.
  func failure(_ message: String, at position: Int? = nil) -> PredicateSyntaxError {
    PredicateSyntaxError(format: format, scalar: position ?? self.position, message: message)
  }

  /// The argument of the `%…` that was just read.
  ///
  /// Arguments are taken in the order in which the parser comes to them, which is the order of the text.
  mutating func nextArgument() throws -> Any? {
    guard argumentIndex < arguments.count else { throw failure("No argument is left for this place") }
    defer { argumentIndex += 1 }
    return arguments[argumentIndex]
  }

  // MARK: Predicates

  /// A predicate where nothing else may stand: as the whole, and in SUBQUERY and TERNARY.
  mutating func predicate() throws -> NSPredicate {
    let node = try either()
    return try asPredicate(node)
  }

  /// A predicate or an expression: the whole of a parenthesis or of the text.
  ///
  /// The loop reads one operand after another into `group` and opens and closes groups of predicates without recursion.
  ///
  /// ```text
  /// (a = 1 OR NOT (b = 2)) AND c = 3
  ///
  /// token        group                        outer
  /// (            empty                        [empty]
  /// a = 1 OR     disjunction a=1              [empty]
  /// NOT (        empty                        [empty, {a=1, one NOT}]
  /// b = 2        conjunction b=2
  /// )            a=1 OR NOT b=2               [empty]
  /// ) AND        conjunction (… OR …)         []
  /// c = 3        (… OR …) AND c=3             []      end: finish() gives the predicate
  /// ```
  ///
  /// An operand that is an expression, with nothing read before it and no AND or OR behind it, is returned as it is:
  /// the caller has a parenthesised value, such as the left side of `(a + b) * 2 > 9`.
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

  /// Reads AND or OR; false if the group ends here. An OR completes the conjunction before it, since AND binds tighter.
  private mutating func takeConnective(of group: inout PredicateGroup) -> Bool {
    guard isAnd || isOr else { return false }
    if isOr { group.endConjunction() }
    advance()
    return true
  }

  /// Adds an operand and refuses the text as soon as the tree gets too deep, before anything walks the tree.
  private func add(_ operand: PredicateOperand, to group: inout PredicateGroup) throws {
    group.add(operand)
    guard group.levels <= FormatParser.maximumDepth else { throw failure("Nested too deeply") }
  }

  /// The number of NOTs that follow. `NOT NOT a` stays a double negation in the tree, since in SQL it is not the same
  /// as `a` for a row in which `a` compares nil.
  private mutating func negations() throws -> Int {
    var count = 0
    while take(.not) || take("!") { count += 1 }
    guard count < FormatParser.maximumDepth else { throw failure("Nested too deeply") }
    return count
  }

  /// A comparison, a constant predicate, or a value for the caller to go on with. NONE becomes NOT ANY, which means the
  /// same and leaves one modifier fewer to the stores.
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

  /// What follows ANY, SOME, ALL or NONE: always a comparison, so an operator has to come.
  private mutating func modified(_ modifier: NSComparisonPredicate.Modifier) throws -> NSPredicate {
    let left = try operand()
    guard let type = comparisonOperator else { throw failure("Expected a comparison operator") }
    return try comparison(left, modifier, type)
  }

  /// The rest of a comparison, from its operator on.
  ///
  /// BETWEEN with braces is checked here, where the place is known; with an argument or a variable only evaluation can
  /// tell that there are not two bounds, and then nothing matches.
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

  /// The operator that the current token is, in any of its spellings; nil for other tokens.
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

  /// The letters in brackets behind an operator, in any order and case. Without a bracket there are none. The options
  /// of operators that do not compare texts are kept and without effect.
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

  /// The node as a predicate. A value alone is no predicate: `isRead` has to be `isRead == YES`, as with Apple's.
  private func asPredicate(_ node: Node) throws -> NSPredicate {
    guard case .predicate(let predicate) = node else { throw failure("Expected a comparison operator") }
    guard !predicate.isDeeper(than: FormatParser.maximumDepth) else { throw failure("Nested too deeply") }
    return predicate
  }

  /// Runs one step of the recursive descent. Every cycle of it passes through ``operation()``, which calls this.
  ///
  /// It bounds the parser's own recursion; the depth of the tree is measured apart, in `asExpression` and `add`,
  /// because loops build deep trees without recursion. Without either bound a text from a user could end the process by
  /// overflowing the stack.
  mutating func nested<Value>(_ step: (inout FormatParser) throws -> Value) throws -> Value {
    depth += 1
    defer { depth -= 1 }
    guard depth < FormatParser.maximumDepth else { throw failure("Nested too deeply") }
    return try step(&self)
  }
}
