import Foundation
import Jobs
import PoolClient

/// The plots and the failures of a period as one page, which needs no network and no script.
struct Report {
  let store: String
  let grid: TimeGrid
  let end: Date
  let intervals: [FinishedJobs.Interval]
  let failures: PeriodFailures

  /// Reads what the report tells from the store.
  ///
  /// - Parameter seconds: the length of the period before `end`.
  init(store: String, seconds: Double, until end: Date) throws {
    self.store = store
    self.end = end
    grid = TimeGrid(seconds: seconds, until: end)
    let reader = try JobReader(path: store)
    var finished = FinishedJobs()
    intervals = try finished.intervals(grid, in: reader)
    failures = try PeriodFailures(since: grid.times.first ?? end, in: reader.reader)
  }

  var html: HTML {
    tag("html", Attribute("lang", "en")) {
      tag("head") {
        tag("meta", Attribute("charset", "utf-8"))
        tag("meta", .name("viewport"), Attribute("content", "width=device-width, initial-scale=1"))
        tag("meta", .name("color-scheme"), Attribute("content", "light dark"))
        tag("title") { title }
        HTML(stylesheet: PackageResources.style_css)
      }
      tag("body") {
        Patterns.html
        tag("main") {
          tag("h1") { title }
          tag("p") { "\(When.full(grid.times.first ?? end)) to \(When.full(end)), from \(store)." }
          outcomes
          tag("div", .class("plots")) { JobPlots.html(intervals, step: grid) }
          groups
          latest
        }
      }
    }
  }

  private var title: String { "Jobs of \(URL(fileURLWithPath: store).lastPathComponent)" }

  private var outcomes: HTML {
    tag("ul", .class("tiles")) {
      for (number, state) in FinishedJobs.outcomes.enumerated() {
        tag("li", .class("tile")) {
          tag("strong") { Count.number(intervals.reduce(0) { $0 + $1.counts[number] }) }
          StateMark.html(state.name)
        }
      }
    }
  }

  private var groups: HTML {
    HTML([
      tag("h2") { "Failed attempts" },
      failures.groups.isEmpty
        ? tag("p") { "None." }
        : table(["Kind", "Error", "Attempts", "Jobs dead by it", "Last", "Message of the last"], numbers: [2, 3]) {
          for group in failures.groups {
            tag("tr") {
              tag("td", .class("name"), Attribute("data-label", "kind")) { group.kind }
              tag("td", .class("whole error")) { group.error }
              tag("td", .class("number"), Attribute("data-label", "attempts")) { Count.number(group.count) }
              tag("td", .class("number"), Attribute("data-label", "dead by it")) { Count.number(group.dead) }
              tag("td", .class("tight whole"), Attribute("data-label", "last")) { When.full(group.last) }
              tag("td", .class("whole error")) { group.message }
            }
          }
        },
    ])
  }

  private var latest: HTML {
    guard !failures.latest.isEmpty else { return .nothing }
    let earlierFailures = failures.count - failures.latest.count
    return HTML([
      tag("h2") { earlierFailures > 0 ? "The latest \(Count.number(failures.latest.count))" : "Each of them" },
      table(["Job", "Kind", "State now", "Attempt", "Failed", "Error", "Last lines"], numbers: [3]) {
        for failure in failures.latest {
          tag("tr") {
            tag("td", .class("tight")) { failure.job }
            tag("td", .class("name"), Attribute("data-label", "kind")) { failure.kind }
            tag("td") { StateMark.html(failure.state) }
            tag("td", .class("number"), Attribute("data-label", "attempt")) { String(failure.failure.attempt) }
            tag("td", .class("tight whole"), Attribute("data-label", "failed")) { When.full(failure.failure.date) }
            tag("td", .class("whole error")) { "\(failure.failure.type): \(failure.failure.message)" }
            tag("td", .class("whole mono lines")) { failure.failure.standardError.joined(separator: "\n") }
          }
        }
      },
    ])
  }

  /// - Parameter numbers: the places of the columns of numbers.
  private func table(_ header: [String], numbers: Set<Int>, @HTMLBuilder rows: () -> HTML) -> HTML {
    tag("div", .class("sheet"), Attribute("tabindex", "0")) {
      tag("table", .class("cards failures")) {
        tag("thead") {
          tag("tr") {
            for (place, name) in header.enumerated() {
              tag("th", .class(numbers.contains(place) ? "number" : "")) { name }
            }
          }
        }
        tag("tbody", content: rows)
      }
    }
  }
}
