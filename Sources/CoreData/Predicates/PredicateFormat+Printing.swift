extension NSPredicate {
  /// The predicate in the syntax of `init(format:)`: double quotes, `==`, upper-case keywords, parentheses around
  /// compounds inside compounds. The parser reads it back; chains of one kind are one compound then. Blocks and objects
  /// other than numbers, texts, dates, UUIDs, URLs and data cannot be read back.
  ///
  /// Use it in place of `predicateFormat`, which Foundation on Linux deprecates and which is wrong there for compounds
  /// that a program builds.
  ///
  /// ```swift
  /// let predicate = NSPredicate(format: "not (pages between {1, 9} and isRead = yes)")
  /// print(predicate.canonicalFormat)  // NOT (pages BETWEEN {1, 9} AND isRead == 1)
  /// ```
  ///
  /// Without blocks and objects, two predicates with equal texts are equal trees. So it can be a key of a cache, or the
  /// form in which a program stores a user's filter. It contains the values of constants: do not log it if they are
  /// private.
  ///
  /// Complexity: proportional to the size of the tree.
  public final var canonicalFormat: String {
    switch kind {
    case .comparison(let comparison): comparison.printed
    case .compound(let type, let parts): NSPredicate.printed(type, parts)
    case .truth(let value): value ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .block: "BLOCKPREDICATE"
    }
  }

  /// A compound of one part prints as that part, since a format has no way to write it; it is then read as the part
  /// alone. An empty AND is true and an empty OR false.
  private static func printed(_ type: NSCompoundPredicate.LogicalType, _ parts: [NSPredicate]) -> String {
    if type != .not, parts.count == 1 { return parts[0].canonicalFormat }
    let operands = parts.map { $0.isPrintedInParentheses ? "(\($0.canonicalFormat))" : $0.canonicalFormat }
    switch type {
    case .not: return "NOT \(operands.first ?? "FALSEPREDICATE")"
    case .and: return operands.isEmpty ? "TRUEPREDICATE" : operands.joined(separator: " AND ")
    case .or: return operands.isEmpty ? "FALSEPREDICATE" : operands.joined(separator: " OR ")
    }
  }

  /// Whether the predicate has parentheses as a part of another: not a compound of one part, which prints as that part.
  private var isPrintedInParentheses: Bool {
    switch kind {
    case .compound(.not, _): true
    case .compound(_, let parts): parts.count == 1 ? parts[0].isPrintedInParentheses : !parts.isEmpty
    case .comparison, .truth, .block: false
    }
  }

  /// Whether two predicates are equal trees. A block predicate equals only itself.
  ///
  /// The order of parts counts: `a AND b` does not equal `b AND a`. A compound of one part does not equal the part.
  final func isStructurallyEqual(to other: NSPredicate) -> Bool {
    if self === other { return true }
    switch (kind, other.kind) {
    case (.comparison(let a), .comparison(let b)): return a == b
    case (.truth(let a), .truth(let b)): return a == b
    case (.compound(let type, let parts), .compound(let otherType, let otherParts)):
      return type == otherType && parts.count == otherParts.count
        && zip(parts, otherParts).allSatisfy { $0.isStructurallyEqual(to: $1) }
    default: return false
    }
  }
}

extension NSComparisonPredicate {
  /// Modifier, left side, operator with options, right side. The parts are printed without parentheses: comparisons
  /// bind looser than all operators of expressions.
  fileprivate var printed: String {
    let modifier =
      switch comparisonPredicateModifier {
      case .direct: ""
      case .any: "ANY "
      case .all: "ALL "
      }
    let comparison = predicateOperatorType.symbol + options.printed
    return "\(modifier)\(leftExpression.printed) \(comparison) \(rightExpression.printed)"
  }
}

extension NSComparisonPredicate.Operator {
  /// The operator in the syntax of a format.
  var symbol: String {
    switch self {
    case .lessThan: "<"
    case .lessThanOrEqualTo: "<="
    case .greaterThan: ">"
    case .greaterThanOrEqualTo: ">="
    case .equalTo: "=="
    case .notEqualTo: "!="
    case .matches: "MATCHES"
    case .like: "LIKE"
    case .beginsWith: "BEGINSWITH"
    case .endsWith: "ENDSWITH"
    case .in: "IN"
    case .contains: "CONTAINS"
    case .between: "BETWEEN"
    }
  }
}

extension NSComparisonPredicate.Options {
  /// "[cd]"; "" without options.
  var printed: String {
    let letters: [(NSComparisonPredicate.Options, String)] = [
      (.caseInsensitive, "c"), (.diacriticInsensitive, "d"), (.normalized, "n"), (.localeSensitive, "l"),
    ]
    let text = letters.filter { contains($0.0) }.map(\.1).joined()
    return text.isEmpty ? "" : "[\(text)]"
  }
}
