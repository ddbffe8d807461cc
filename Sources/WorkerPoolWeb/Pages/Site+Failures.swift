import Jobs
import PoolClient

extension Site {
  /// The failed jobs by kind and error, with what can be done with each group.
  func failureGroups() -> HTML {
    let failures: FailureGroups
    do {
      failures = try self.failures.groups(in: try openJobReader())
    } catch let error as PageError {
      // The plots say so, too, when there is no store to read.
      return error.passes ? .nothing : problem("The failed jobs cannot be counted: \(error.text)", error.advice)
    } catch {
      return .nothing
    }
    guard !failures.groups.isEmpty else { return .nothing }
    let missing = failures.groups.dropFirst(Self.shownFailures).reduce(failures.others) { $0 + $1.count }
    return HTML([
      tag("h2") { "Failures" },
      tag("div", .class("sheet"), Attribute("tabindex", "0")) {
        tag("table", .class("cards"), .id("failures")) {
          tag("thead") {
            tag("tr") {
              for name in ["Kind", "Error"] { tag("th") { name } }
              for name in ["Dead", "Retryable", "Last"] { tag("th", .class("number")) { name } }
              if !visitor.isReadOnly { tag("th") { tag("span", .class("unseen")) { "Actions" } } }
            }
          }
          tag("tbody") {
            for group in failures.groups.prefix(Self.shownFailures) { row(group) }
          }
        }
      },
      missing > 0
        ? tag("p", .class("note")) {
          "The largest groups are shown; \(Count.text(missing, "job")) more are in others. "
          "workerpool failures lists all."
        } : .nothing,
    ])
  }

  /// Groups that the overview shows.
  private static let shownFailures = 12

  private func row(_ group: FailureGroup) -> HTML {
    let state = group.dead > 0 ? JobState.dead : .retryable
    return tag("tr") {
      tag("td", .class("name"), Attribute("data-label", "kind")) { group.kind }
      tag("td", .class("whole error")) { link(group.error, group.filter(state).address()) }
      count(group.dead, "dead", group.filter(.dead))
      count(group.retryable, "retryable", group.filter(.retryable))
      tag("td", .class("number"), Attribute("data-label", "last")) { When.age(group.last) }
      if !visitor.isReadOnly {
        tag("td", .class("whole actions")) {
          for change in [JobChange.retry, .delete] {
            tag(
              "a", .class("button"), Attribute("aria-label", "\(change.title) \(group.kind): \(group.error)"),
              .href(Address(path: ["change"], query: [("do", change.rawValue)] + group.filter(state).parameters))
            ) { "\(change.title)…" }
          }
        }
      }
    }
  }

  private func count(_ count: Int, _ name: String, _ filter: JobFilter) -> HTML {
    tag("td", .class(count > 0 ? "number" : "number none"), Attribute("data-label", name)) {
      count > 0 ? link(Count.number(count), filter.address()) : HTML("0")
    }
  }
}
