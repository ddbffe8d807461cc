import PoolClient

extension Site {
  /// The slow statements with their plans; nothing where none are counted.
  func slowStatements(_ status: PoolStatus) -> HTML {
    guard let slow = status.slowStatements else { return .nothing }
    return HTML([
      tag("h2") { "Slow SQL statements" },
      tag("p", .class("note")) {
        slow.count == 0
          ? "None has taken \(StatusText.shortTime(slow.limit)) since the pool was started."
          : "\(Count.text(slow.count, "statement")) took \(StatusText.shortTime(slow.limit)) or longer since the pool "
            + "was started. These took longest."
      },
      slow.statements.isEmpty ? .nothing : table(slow.statements),
    ])
  }

  private func table(_ statements: [PoolStatus.SlowStatement]) -> HTML {
    tag("div", .class("sheet"), Attribute("tabindex", "0")) {
      tag("table", .class("cards")) {
        tag("thead") {
          tag("tr") {
            tag("th") { "Kind" }
            for name in ["Longest", "Times", "In all"] { tag("th", .class("number")) { name } }
            tag("th") { "Statement and plan" }
          }
        }
        tag("tbody") {
          for statement in statements {
            tag("tr") {
              tag("td", Attribute("data-label", "kind")) { statement.kind ?? "outside of jobs" }
              tag("td", .class("number"), Attribute("data-label", "longest")) {
                StatusText.shortTime(statement.longest)
              }
              tag("td", .class("number"), Attribute("data-label", "times")) { Count.number(statement.count) }
              tag("td", .class("number"), Attribute("data-label", "in all")) { StatusText.shortTime(statement.total) }
              tag("td", .class("whole")) {
                tag("code") { statement.sql }
                if !statement.plan.isEmpty {
                  tag("pre", Attribute("tabindex", "0")) { statement.plan.joined(separator: "\n") }
                }
              }
            }
          }
        }
      }
    }
  }
}
