/// A predicate that is being read: one, or the parts of a chain of ANDs or ORs.
///
/// A group of the same kind in a chain is part of the chain, so `(a AND b) AND c` is one compound of three.
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

  var levels: Int { type == nil ? partLevels : partLevels + 1 }

  var predicate: NSPredicate {
    guard let type else { return parts[0] }
    return ParsedCompoundPredicate(type: type, subpredicates: parts)
  }

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
struct PredicateGroup {
  /// The NOTs before the next operand.
  var negations = 0
  /// The ORed operands that are complete.
  private var disjunction: PredicateOperand?
  /// The ANDed operands after the last OR.
  private var conjunction: PredicateOperand?

  /// Whether nothing was read yet.
  var isEmpty: Bool { negations == 0 && disjunction == nil && conjunction == nil }

  var levels: Int { max(conjunction?.levels ?? 0, disjunction?.levels ?? 0) }

  mutating func add(_ operand: PredicateOperand) {
    var operand = operand
    for _ in 0..<negations { operand.negate() }
    negations = 0
    if conjunction == nil { conjunction = operand } else { conjunction?.join(operand, by: .and) }
  }

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
struct PredicateGroups {
  private var beginnings: Set<Int> = []

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
  fileprivate var isCallable: Bool {
    switch (kind, keyword) {
    case (.functionName, _), (.word, nil), (_, .cast), (_, .function), (_, .subquery), (_, .ternary): true
    default: false
    }
  }

  /// Whether it stands in predicates, and in values only inside of brackets.
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
