/// A predicate that is being read: one, or the parts of a chain of ANDs or ORs.
///
/// A group of the same kind in a chain is part of the chain, so `(a AND b) AND c` is one compound of three.
///
/// The parser adds operand after operand to a chain, so this keeps the parts in an array until the chain is complete.
/// Making a compound of two each time would take time and depth proportional to the length, and the tree would differ
/// from the one that Apple's parser makes.
///
/// ```text
/// a AND b AND c          (type: and, parts: [a, b, c])      one compound
/// a AND (b OR c)         (type: and, parts: [a, b OR c])    a compound in a compound
/// NOT a                  (type: nil, parts: [NOT a])        a negation is one predicate
/// ```
///
/// Invariant: a chain with a type has at least one part, and none of its parts is a chain of the same type that was
/// read from this text.
struct PredicateOperand {
  /// The kind of the chain; nil for one predicate.
  private var type: NSCompoundPredicate.LogicalType?
  private var parts: [NSPredicate]
  /// The levels of the deepest part.
  private var partLevels: Int

  /// A predicate of no more levels than a parser allows.
  init(_ predicate: NSPredicate) {
    parts = [predicate]
    partLevels = predicate.levels
  }

  /// The depth of the tree that `predicate` will have. It is kept up to date with each part, because measuring the tree
  /// each time would take quadratic time.
  var levels: Int { type == nil ? partLevels : partLevels + 1 }

  /// The operand as a predicate: the only part, or a new compound of all parts.
  var predicate: NSPredicate {
    guard let type else { return parts[0] }
    return ParsedCompoundPredicate(type: type, subpredicates: parts)
  }

  /// Adds an operand to the chain. What was read so far becomes the first part if it was something else: in
  /// `a AND b OR c` the AND is complete and becomes one part of the OR.
  mutating func join(_ other: PredicateOperand, by type: NSCompoundPredicate.LogicalType) {
    if self.type != type { wrap(type) }
    if other.type == type {
      parts += other.parts
      partLevels = max(partLevels, other.partLevels)
    } else {
      parts.append(other.predicate)
      partLevels = max(partLevels, other.levels)
    }
  }

  /// Puts a NOT around the operand. The result counts as one predicate, so `NOT (a AND b) AND c` is not flattened.
  mutating func negate() {
    wrap(.not)
    (parts, partLevels, type) = ([predicate], levels, nil)
  }

  /// Makes a compound with one part of what was read.
  private mutating func wrap(_ type: NSCompoundPredicate.LogicalType) {
    (parts, partLevels) = ([predicate], levels)
    self.type = type
  }
}

/// What was read of a text between parentheses, or of the whole text.
///
/// AND binds tighter than OR, so the group has two open chains: the conjunction that grows with each AND, and the
/// disjunction that takes it over at each OR and at the end.
///
/// ```text
/// a AND b OR NOT c AND d
///   add a, add b       conjunction a AND b
///   endConjunction     disjunction (a AND b)            conjunction nil
///   negations = 1
///   add c, add d       disjunction (a AND b)            conjunction (NOT c) AND d
///   finish             (a AND b) OR ((NOT c) AND d)
/// ```
struct PredicateGroup {
  /// The NOTs before the next operand.
  var negations = 0
  /// The ORed operands that are complete.
  private var disjunction: PredicateOperand?
  /// The ANDed operands after the last OR.
  private var conjunction: PredicateOperand?

  /// Whether nothing was read yet.
  var isEmpty: Bool { negations == 0 && disjunction == nil && conjunction == nil }

  /// The depth of what is complete so far, which the parser compares with its limit after each operand.
  var levels: Int { max(conjunction?.levels ?? 0, disjunction?.levels ?? 0) }

  /// Adds an operand behind the NOTs that were read before it.
  mutating func add(_ operand: PredicateOperand) {
    var operand = operand
    for _ in 0..<negations { operand.negate() }
    negations = 0
    if conjunction == nil { conjunction = operand } else { conjunction?.join(operand, by: .and) }
  }

  /// Called at an OR and at the end of the group. Without operands it does nothing, so that `finish()` can report an
  /// empty group.
  mutating func endConjunction() {
    guard let conjunction else { return }
    self.conjunction = nil
    if disjunction == nil { disjunction = conjunction } else { disjunction?.join(conjunction, by: .or) }
  }

  /// Empties the group of its predicate; nil if it has no operand.
  mutating func finish() -> PredicateOperand? {
    endConjunction()
    defer { disjunction = nil }
    return disjunction
  }
}

/// The parentheses of a text that hold a predicate, not a value.
///
/// They are found before the text is parsed, so that the parser need not recurse into them: a chain that a program
/// built two by two prints as many parentheses as it has parts.
///
/// A parenthesis is that of a predicate if a comparison, AND, OR, NOT, a constant predicate or another such parenthesis
/// stands directly in it. A parenthesis behind a name is a call, whatever is in it: `TERNARY(a > b, 1, 2)` and
/// `SUBQUERY(…)` hold predicates and are values. The parser reads these recursively.
///
/// ```text
/// ((a + b) > 3 OR c = 1) AND d IN (2)
/// 12                              3
/// 1 has > and OR in it: a predicate.  2 has + in it: a value.  3 has a number in it: a value.
/// ```
///
/// An unbalanced parenthesis is skipped here and found by the parser, which can say where.
struct PredicateGroups {
  private var beginnings: Set<Int> = []

  /// Looks through all tokens once. `open` is the stack of brackets; a closing one tells the bracket around it that it
  /// holds a predicate too, since `((a = b))` is a predicate at both levels.
  init(_ tokens: [FormatToken]) {
    /// What is open: the index of a parenthesis, nil for one of a call and for other brackets.
    var open: [(beginning: Int?, isPredicate: Bool)] = []
    for (index, token) in tokens.enumerated() {
      let previous = index > 0 ? tokens[index - 1] : nil
      let symbol = if case .symbol(let symbol) = token.kind { symbol } else { "" }
      switch symbol {
      case "(": open.append((previous?.isCallable ?? false ? nil : index, false))
      case "[", "{": open.append((nil, false))
      case ")", "]", "}":
        guard let group = open.popLast(), group.isPredicate, let beginning = group.beginning else { continue }
        beginnings.insert(beginning)
        if !open.isEmpty { open[open.count - 1].isPredicate = true }
      default:
        if !open.isEmpty, token.makesPredicate, previous?.kind != .symbol(".") {
          open[open.count - 1].isPredicate = true
        }
      }
    }
  }

  /// Whether the token at the index opens a group.
  func begin(at index: Int) -> Bool { beginnings.contains(index) }
}

extension FormatToken {
  /// Whether a parenthesis after it holds arguments.
  ///
  /// `IN (` and `AND (` are not calls, which is why only words without a meaning of their own and the four calling
  /// keywords count.
  fileprivate var isCallable: Bool {
    switch (kind, keyword) {
    case (.functionName, _), (.word, nil), (_, .cast), (_, .function), (_, .subquery), (_, .ternary): true
    default: false
    }
  }

  /// Whether it stands in predicates, and in values only inside of brackets.
  ///
  /// A key behind a dot may have the name of an operator, `rules.in`; the caller leaves these out.
  fileprivate var makesPredicate: Bool {
    if case .symbol(let symbol) = kind {
      return Self.predicateSymbols.contains(symbol)
    }
    return keyword.map(Self.predicateKeywords.contains) ?? false
  }

  private static let predicateSymbols: Set<String> = [
    "=", "==", "!=", "<>", "<", ">", "<=", "=<", ">=", "=>", "&&", "||", "!",
  ]

  private static let predicateKeywords: Set<FormatKeyword> = [
    .and, .or, .not, .in, .between, .contains, .beginsWith, .endsWith, .like, .matches, .any, .some, .all, .none,
    .truePredicate, .falsePredicate,
  ]
}
