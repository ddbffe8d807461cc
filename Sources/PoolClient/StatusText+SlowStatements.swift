extension StatusText {
  /// Statements that are shown; ``json(_:)`` has all.
  private static let shownStatements = 5
  /// The most characters of a statement that are shown.
  private static let shownCharacters = 300

  /// The slow statements that took longest with their plans, a paragraph for each; empty if there were none.
  static func slowStatements(_ status: PoolStatus, _ layout: TextLayout) -> [String] {
    guard let slow = status.slowStatements, slow.count > 0 else { return [] }
    var lines = [layout.styled(slowTitle(slow), .strong)]
    for statement in slow.statements.prefix(shownStatements) {
      let text = statement.sql.prefix(shownCharacters) + (statement.sql.count > shownCharacters ? "…" : "")
      lines += layout.wrapped(
        "  \(slowTimes(statement)), \(TerminalText.escaped(statement.kind ?? "outside of jobs")): "
          + TerminalText.escaped(String(text)), indentation: 4)
      for line in statement.plan {
        lines += layout.wrapped("    \(TerminalText.escaped(line))", indentation: 6)
      }
    }
    return lines
  }

  /// `slow statements: 12 of 0.5 s and longer`.
  package static func slowTitle(_ slow: PoolStatus.SlowStatements) -> String {
    "slow statements: \(slow.count) of \(shortTime(slow.limit)) and longer"
  }

  /// `2.5 s at most, 12 times, 8.1 s in all`.
  static func slowTimes(_ statement: PoolStatus.SlowStatement) -> String {
    if statement.count == 1 { return "\(shortTime(statement.longest)), once" }
    return "\(shortTime(statement.longest)) at most, \(statement.count) times, \(shortTime(statement.total)) in all"
  }
}
