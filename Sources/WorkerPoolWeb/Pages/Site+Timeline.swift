import Foundation
import Jobs
import PoolClient

extension Site {
  /// What each worker ran in the last minutes, a track for each.
  ///
  /// The names are beside the picture and the times below it, so that the picture can get as narrow as the window.
  func timeline(_ workers: [PoolStatus.Worker]) -> HTML {
    guard !workers.isEmpty else { return .nothing }
    let shown = Array(workers.prefix(60))
    let minutes = Int(WorkerTimeline.length / 60)
    return HTML([
      tag("h2") { "The last \(minutes) minutes" },
      tag("div", .class("timeline plot")) {
        tag("div", .class("tracks")) {
          names(shown)
          tracks(shown)
          tag("div", .class("times"), Attribute("aria-hidden", "true")) {
            for minute in stride(from: minutes, through: 0, by: -5) {
              tag("span") { minute == 0 ? "now" : "\(minute) min" }
            }
          }
        }
        tag("p", .class("note")) {
          "A row for each worker, as workerpool web has seen it: jobs shorter than two seconds may be missing."
        }
      },
    ])
  }

  private static let row = 22.0

  private func names(_ workers: [PoolStatus.Worker]) -> HTML {
    let width = 8 * Double(workers.map { String($0.id).count }.max() ?? 1)
    return tag(
      "svg", .class("names"), .number("width", width), .number("height", Double(workers.count) * Self.row),
      Attribute("aria-hidden", "true")
    ) {
      for (index, worker) in workers.enumerated() {
        tag("text", .number("x", 0), .number("y", Double(index) * Self.row + 15)) { String(worker.id) }
      }
    }
  }

  private func tracks(_ workers: [PoolStatus.Worker]) -> HTML {
    let now = Date()
    let length = WorkerTimeline.length
    let spans = Dictionary(grouping: monitor.spans.spans, by: \.worker)
    let keys = Set(workers.flatMap { spans[$0.id] ?? [] }.compactMap { ObjectURI($0.job)?.key })
    // The lines are worth showing without the kinds.
    let kinds = (try? openJobReader().kinds(of: Array(keys))) ?? [:]
    let width = length
    let height = Double(workers.count) * Self.row
    return tag(
      "svg", .class("spans"), .number("height", height), Attribute("viewBox", "0 0 \(Int(width)) \(Int(height))"),
      Attribute("preserveAspectRatio", "none"), Attribute("role", "group"),
      Attribute("aria-label", "What each worker ran in the last \(Int(length / 60)) minutes")
    ) {
      for (index, worker) in workers.enumerated() {
        let top = Double(index) * Self.row
        tag(
          "rect", .class("track"), .number("x", 0), .number("y", top + 4), .number("width", width),
          .number("height", Self.row - 8))
        for span in spans[worker.id] ?? [] {
          let begin = width - min(length, now.timeIntervalSince(span.start))
          let end = width - max(0, now.timeIntervalSince(span.end))
          let name = ObjectURI(span.job)?.name ?? span.job
          let kind = ObjectURI(span.job).flatMap { kinds[$0.key] } ?? ""
          let time = StatusText.shortTime(max(0, span.end.timeIntervalSince(span.start)))
          tag(
            "a", .href(Address("jobs", name)), Attribute("aria-label", "worker \(worker.id): \(name) \(kind), \(time)")
          ) {
            tag(
              "rect", .class("span"), .number("x", begin), .number("y", top + 3),
              .number("width", max(4, end - begin)), .number("height", Self.row - 6)
            ) {
              tag("title") { "\(name) \(kind), \(time)" }
            }
          }
        }
      }
    }
  }
}
