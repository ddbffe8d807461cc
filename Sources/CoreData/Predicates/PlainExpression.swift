/// A regular expression that means the same to ICU and to PostgreSQL: of characters, lists and ranges of characters,
/// any character, groups, alternatives and repetitions. Everything else, such as `\w` or `^`, differs or may differ.
///
/// A whole text matches it or not, so that it does not matter which alternative an engine tries first.
///
/// MATCHES is defined by ICU's syntax. SQLite gets it through `cd_matches`; a PostgreSQL server has an engine of its
/// own, with another syntax. For the part that both have, the server filters: `ZTITLE ~ '^(?:E.*)$'`. For the rest the
/// fetch throws 134070, and does not give a result that differs from the one in memory.
///
/// ```text
/// "E[a-z]+"       ^(?:E[a-z]+)$
/// "a.b"           ^(?:a[^\n-\r\u0085\u2028\u2029]b)$      ICU's dot does not match the ends of lines
/// "(ab|c)*"       ^(?:(?:ab|c)*)$                          groups do not capture
/// "\d+", "a{2}", "a*?", "(?i)a", "[^a]"     nil
/// ```
///
/// Source: https://www.postgresql.org/docs/15/functions-matching.html, "POSIX Regular Expressions";
/// https://unicode-org.github.io/icu/userguide/strings/regexp.html
struct PlainExpression {
  /// The expression in PostgreSQL's syntax, for whole texts.
  ///
  /// Bound as a parameter: `ZTITLE ~ $1`.
  ///
  /// Source: https://www.postgresql.org/docs/15/functions-matching.html
  let posix: String

  /// Greedy repetitions. Both engines find the same whole matches with them.
  private static let repetitions: Set<Unicode.Scalar> = ["*", "+", "?"]
  /// Characters that make the expression one of another kind: anchors, counted repetitions, and signs of ICU's set
  /// operations.
  private static let others: Set<Unicode.Scalar> = ["^", "$", "{", "}", "]", "#", "&", "~"]
  /// What may stand behind a backslash for itself.
  private static let escaped: Set<Unicode.Scalar> = [
    ".", "*", "+", "?", "(", ")", "[", "]", "{", "}", "|", "\\", "^", "$",
  ]

  /// It reads the pattern once. `mayRepeat` refuses a repetition without an atom before it, `isEmpty` an empty branch:
  /// the two engines treat both differently.
  ///
  /// - Returns: nil for an expression that has anything else.
  init?(_ pattern: String) {
    var result = String.UnicodeScalarView()
    var unreadScalars = pattern.unicodeScalars[...]
    /// Whether a repetition may follow, and whether a branch has anything yet.
    var (mayRepeat, isEmpty) = (false, true)
    var depth = 0
    while let scalar = unreadScalars.popFirst() {
      switch scalar {
      case "(":
        if unreadScalars.first == "?" { return nil }
        depth += 1
        result.append(contentsOf: "(?:".unicodeScalars)
        (mayRepeat, isEmpty) = (false, true)
      case ")":
        depth -= 1
        if depth < 0 || isEmpty { return nil }
        result.append(scalar)
        mayRepeat = true
      case "|":
        if isEmpty { return nil }
        result.append(scalar)
        (mayRepeat, isEmpty) = (false, true)
      case _ where Self.repetitions.contains(scalar):
        // Two of them together are a lazy or a possessive repetition.
        if !mayRepeat { return nil }
        result.append(scalar)
        mayRepeat = false
      case ".":
        // ICU's ends of lines: https://unicode-org.github.io/icu/userguide/strings/regexp.html
        result.append(contentsOf: "[^\\n-\\r\\u0085\\u2028\\u2029]".unicodeScalars)
        (mayRepeat, isEmpty) = (true, false)
      case "[":
        guard let list = Self.list(&unreadScalars) else { return nil }
        result.append(contentsOf: list.unicodeScalars)
        (mayRepeat, isEmpty) = (true, false)
      case "\\":
        guard let next = unreadScalars.popFirst(), Self.escaped.contains(next) else { return nil }
        result.append(scalar)
        result.append(next)
        (mayRepeat, isEmpty) = (true, false)
      case _ where Self.others.contains(scalar) || scalar.value == 0: return nil
      default:
        result.append(scalar)
        (mayRepeat, isEmpty) = (true, false)
      }
    }
    if depth != 0 || isEmpty { return nil }
    posix = "^(?:\(String(result)))$"
  }

  /// A list of letters, digits and ranges of them.
  private static func list(_ unreadScalars: inout Substring.UnicodeScalarView) -> String? {
    var scalars: [Unicode.Scalar] = []
    while let scalar = unreadScalars.popFirst() {
      if scalar == "]" {
        return scalars.isEmpty || !areRangesPlain(scalars) ? nil : "[\(String(String.UnicodeScalarView(scalars)))]"
      }
      guard scalar == "-" || scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) else { return nil }
      scalars.append(scalar)
    }
    return nil
  }

  /// Whether each hyphen stands between two ends of a range, the lower one first.
  private static func areRangesPlain(_ scalars: [Unicode.Scalar]) -> Bool {
    var unreadScalars = scalars[...]
    while let first = unreadScalars.popFirst() {
      if first == "-" { return false }
      guard unreadScalars.first == "-" else { continue }
      unreadScalars.removeFirst()
      guard let last = unreadScalars.popFirst(), last != "-", first.value <= last.value else { return false }
    }
    return true
  }
}
