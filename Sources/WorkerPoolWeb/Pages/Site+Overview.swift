import Foundation
import Jobs
import PoolClient

extension Site {
  func overview(_ period: Period) -> Layout.Page {
    let latest = monitor.latest
    return Layout.Page(
      title: "Overview", part: "Overview",
      content: HTML([
        tag("h1") { "Overview" },
        latest.isRunning
          ? .nothing
          : {
            let error = PageError(latest, queue: queue)
            return problem(error.text, error.advice)
          }(),
        latest.isRunning ? tiles(latest.status) : .nothing,
        latest.isRunning ? advice(latest.status) : .nothing,
        failureGroups(),
        periods(period),
        plots(period),
        problems(latest.status),
      ]))
  }

  private func tiles(_ status: PoolStatus?) -> HTML {
    guard let jobs = status?.jobs else { return .nothing }
    return tag("ul", .class("tiles")) {
      for state in StateMark.order where state != "pending" || jobs[state] ?? 0 > 0 {
        tag("li") {
          tag("a", .href(Address("jobs", query: ["state": state])), .class(jobs[state] ?? 0 > 0 ? "" : "none")) {
            tag("strong") { Count.number(jobs[state] ?? 0) }
            StateMark.html(state)
          }
        }
      }
    }
  }

  private func advice(_ status: PoolStatus?) -> HTML {
    let lines = status.map { StatusAdvice.lines($0) } ?? []
    guard !lines.isEmpty else { return .nothing }
    return tag("div", .class("message")) {
      tag("ul", .class("advice")) {
        for line in lines { tag("li") { advice(line) } }
      }
    }
  }

  /// A line whose options such as `--state` are not broken.
  private func advice(_ line: String) -> HTML {
    let words = line.split(separator: " ", omittingEmptySubsequences: false).map { word in
      word.hasPrefix("-") ? tag("span", .class("option")) { String(word) } : HTML(String(word))
    }
    return HTML(Array(words.map { [$0] }.joined(separator: [HTML(" ")])))
  }

  private func problems(_ status: PoolStatus?) -> HTML {
    guard let problems = status?.problems, !problems.isEmpty else { return .nothing }
    return HTML([
      tag("h2") { "What went wrong last" },
      tag("div", .class("sheet"), Attribute("tabindex", "0")) {
        tag("table", .class("cards events")) {
          tag("thead") {
            tag("tr") {
              tag("th") { "Time" }
              tag("th") { "Event" }
              tag("th") { "What happened" }
            }
          }
          tag("tbody") {
            for problem in problems.suffix(20).reversed() {
              tag("tr") {
                tag("td", .class("tight")) {
                  Timestamp.date(problem.time).map { When.moment($0) } ?? HTML(problem.time)
                }
                tag("td", .class("mono tight")) { problem.event }
                tag("td", .class("whole")) { linked(problem.text) }
              }
            }
          }
        }
      },
    ])
  }

  /// A text in which each job's URI is a link with the job's name.
  private func linked(_ text: String) -> HTML {
    let words = text.split(separator: " ", omittingEmptySubsequences: false).map { word in
      guard let uri = ObjectURI(String(word)), uri.entity == Job.entityName else { return HTML(String(word)) }
      return link(uri.name, Address("jobs", uri.name))
    }
    return HTML(Array(words.map { [$0] }.joined(separator: [HTML(" ")])))
  }

  private func periods(_ chosen: Period) -> HTML {
    tag("nav", Attribute("aria-label", "Period")) {
      tag("ul", .class("choices")) {
        for period in Period.allCases {
          tag("li") {
            tag(
              "a",
              with: [.href(Address("", query: ["period": period.rawValue]))]
                + (period == chosen ? [Attribute("aria-current", "true")] : [])
            ) { period.title }
          }
        }
      }
    }
  }

  // MARK: Plots

  private func plots(_ period: Period) -> HTML {
    let grid = period.grid(until: Date())
    var intervals = grid.times.map { HistoryInterval(start: $0) }
    let plots: [HTML]
    do {
      intervals = try finished.intervals(grid, in: try openJobReader())
      plots = JobPlots.html(intervals, step: grid)
    } catch let error as PageError {
      return problem(error.text, error.advice)
    } catch {
      plots = [
        problem("The finished jobs cannot be read now: \(ErrorText.text(error))", "This page tries again by itself.")
      ]
    }
    return tag("div", .class("plots")) {
      plots
      gaugePlots(grid, monitor.recent.filling(intervals, step: grid.step).map(\.gauges))
    }
  }

  /// How the pool stood in each interval.
  private func gaugePlots(_ grid: TimeGrid, _ gauges: [HistoryGauges?]) -> [HTML] {
    func values(_ value: (HistoryGauges) -> Double) -> [Double?] { gauges.map { $0.map(value) } }
    let note = "As the pool has kept it in the store, minute by minute."
    func plot(_ title: String, unit: String, _ series: [Plot.Series], text: @escaping (Double) -> String) -> HTML {
      Plot(
        title: title, unit: unit, note: note, shape: .lines, times: grid.times, step: grid.step, series: series,
        isCount: unit == "jobs", text: text
      ).html
    }
    let count = { (value: Double) in
      value < 10 && value != value.rounded() ? StatusText.decimal(value) : Count.number(Int(value.rounded()))
    }
    return [
      plot(
        "Queue depth", unit: "jobs",
        [
          .init(name: "can run", values: values(\.waiting)),
          .init(name: "wait for a time or others", values: values(\.later)),
        ], text: count),
      plot(
        "Memory", unit: "MiB of all workers",
        [.init(name: "resident", values: values { $0.memory / 1_048_576 })], text: count),
      plot("Processor", unit: "processors kept busy", [.init(name: "workers", values: values(\.processors))]) {
        $0 == 0 ? "0" : String(format: "%.3g", $0)
      },
    ]
  }
}
