import Foundation
import Jobs
import PoolClient

extension Site {
  func periodic() throws -> Layout.Page {
    // The entries are worth showing where the store cannot be read.
    let store = try? openJobReader().path
    let report: PeriodicReport
    do {
      report = try PeriodicReport(queue: queue, store: store)
    } catch let error as PeriodicReportError {
      throw PageError(text: "\(error)", advice: nil)
    }
    return Layout.Page(
      title: "Periodic", part: "Periodic",
      content: HTML([
        tag("h1") { "Periodic entries" },
        report.rows.isEmpty
          ? message("There are no entries: each file in \(queue)/periodic/ is one.") : table(report),
      ]))
  }

  private func table(_ report: PeriodicReport) -> HTML {
    tag("div", .class("sheet"), Attribute("tabindex", "0")) {
      tag("table", .class("cards")) {
        tag("thead") {
          tag("tr") {
            for name in ["Entry", "Times", "Kind", "Last run", "Next run", ""] { tag("th") { name } }
          }
        }
        tag("tbody") {
          for row in report.rows {
            tag("tr") {
              tag("td") { row.name }
              if let entry = row.entry {
                tag("td") {
                  tag("code") { entry.cron.text }
                  " \(entry.timeZone.identifier)"
                }
                tag("td", Attribute("data-label", "kind")) { entry.job.kind }
                tag("td", Attribute("data-label", "last")) {
                  row.lastRun.map { When.age($0) } ?? HTML(report.knowsLastRuns ? "never" : "not known")
                }
                tag("td", Attribute("data-label", "next")) { row.nextRun.map { When.age($0) } ?? HTML("never") }
                tag("td") {
                  forms.button(
                    "Run now", to: Address("run"), fields: [("entry", row.name)], label: "Run \(row.name) now")
                }
              } else {
                tag("td", .class("trouble whole"), Attribute("colspan", "5"), Attribute("role", "alert")) {
                  tag("strong") { "not run: " }
                  row.problem ?? ""
                }
              }
            }
          }
        }
      }
    }
  }

  /// Submits the job of an entry.
  func run(entry name: String) throws -> HTTPResponse {
    var job = try PeriodicReport(queue: queue, store: nil).entry(name).job
    let token = UUID().uuidString.lowercased()
    job.submission = token
    let file = try JobSubmission(queue: queue).submit([job])
    switch SubmissionInquiry(queue: queue, token: token, file: file).ask(timeout: 3) {
    case .taken(let submission):
      guard let first = submission.runs.first?.first else { return done("\(name) is submitted.", ["periodic"]) }
      return done("The job of \(name) is submitted.", ["jobs", "p\(first)"])
    case .rejected(let reason): return done("The pool does not accept the job of \(name): \(reason)", ["periodic"])
    case .unknown(let reason):
      return done("The job of \(name) is submitted, and waits for the pool to take it: \(reason)", ["periodic"])
    }
  }
}
