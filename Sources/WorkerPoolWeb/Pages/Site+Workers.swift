import Foundation
import Jobs
import PoolClient

extension Site {
  func workers() throws -> Layout.Page {
    let status = try status()
    return Layout.Page(
      title: "Workers", part: "Workers",
      content: HTML([
        tag("h1") { "Workers" },
        scale(status),
        status.workers.isEmpty ? message("No worker runs.") : table(status.workers),
        timeline(status.workers),
      ]))
  }

  private func scale(_ status: PoolStatus) -> HTML {
    tag("div", .class("actions")) {
      tag("span") {
        "The pool keeps \(Count.text(status.workerCount, "worker process"))."
      }
      forms.form(to: Address("scale")) {
        tag("label") {
          tag("span") { "Workers" }
          tag(
            "input", .type("number"), .name("count"), .value(String(status.workerCount)), Attribute("min", "0"),
            Attribute("max", "1000"), Attribute("required"))
        }
        tag("label") {
          tag("span") { "of" }
          tag("select", .name("plugin")) {
            tag("option", .value("")) { "all plugins" }
            for plugin in status.plugins where plugin.failure == nil {
              tag("option", .value(plugin.name)) { plugin.name }
            }
          }
        }
        tag("button") { "Scale" }
      }
    }
  }

  private func table(_ workers: [PoolStatus.Worker]) -> HTML {
    tag("div", .class("sheet")) {
      tag("table", .class("cards")) {
        tag("thead") {
          tag("tr") {
            for name in ["Worker", "Process", "Plugin", "Phase"] { tag("th") { name } }
            for name in ["Age", "Memory", "Processor", "Done"] { tag("th", .class("number")) { name } }
            tag("th") { "Runs" }
          }
        }
        tag("tbody") {
          for worker in workers {
            tag("tr") {
              tag("td") { link(String(worker.id), Address("workers", String(worker.pid))) }
              tag("td", Attribute("data-label", "process")) { String(worker.pid) }
              tag("td") { worker.plugin }
              tag("td") { worker.phase + (worker.isRetiring ? ", to be replaced" : "") }
              tag("td", .class("number"), Attribute("data-label", "age")) { StatusText.duration(worker.age) }
              tag("td", .class("number"), Attribute("data-label", "memory")) {
                worker.memory.map(StatusText.size) ?? ""
              }
              tag("td", .class("number"), Attribute("data-label", "processor")) {
                worker.processorTime.map { "\(StatusText.decimal($0)) s" } ?? ""
              }
              tag("td", .class("number"), Attribute("data-label", "done")) { Count.number(worker.jobsDone) }
              tag("td", .class("whole")) { runs(worker) }
            }
          }
        }
      }
    }
  }

  private func runs(_ worker: PoolStatus.Worker) -> HTML {
    tag("span") {
      for name in worker.running.compactMap({ ObjectURI($0)?.name }) {
        link(name, Address("jobs", name))
        " "
      }
      if let busy = worker.busy, !worker.running.isEmpty { "for \(StatusText.shortTime(busy))" }
      if let done = worker.progressDone, let total = worker.progressTotal, total > 0 {
        progress(Int64(done), Int64(total))
      }
    }
  }

  func worker(_ pid: String) throws -> Layout.Page? {
    let status = try status()
    guard let worker = status.workers.first(where: { String($0.pid) == pid }) else {
      return Layout.Page(
        title: "Process \(pid)", part: "Workers", content: problem("There is no worker process \(pid) any more.", nil),
        status: 404)
    }
    return Layout.Page(
      title: "Worker \(worker.id)", part: "Workers",
      content: HTML([
        tag("h1") { "Worker \(worker.id), process \(worker.pid)" },
        table([worker]),
        timeline([worker]),
        tag("h2") { "Executable" },
        tag("p") { tag("code") { worker.path } },
        tag("h2") { "Last lines of its standard error" },
        worker.lastLines.isEmpty
          ? tag("p", .class("quiet")) { "none" } : tag("pre") { worker.lastLines.joined(separator: "\n") },
      ]))
  }

  // MARK: Timeline

  /// What each worker ran in the last minutes, a track for each.
  private func timeline(_ workers: [PoolStatus.Worker]) -> HTML {
    guard !workers.isEmpty else { return .nothing }
    let now = Date()
    let length = WorkerTimeline.length
    let spans = Dictionary(grouping: monitor.spans.spans, by: \.worker)
    let shown = workers.prefix(60)
    let keys = Set(shown.flatMap { spans[$0.id] ?? [] }.compactMap { ObjectURI($0.job)?.key })
    let kinds = (try? openJobReader().kinds(of: Array(keys))) ?? [:]
    let (left, width, row) = (40.0, 880.0, 22.0)
    let height = Double(shown.count) * row + 24
    return HTML([
      tag("h2") { "The last \(Int(length / 60)) minutes" },
      tag("div", .class("timeline plot")) {
        tag(
          "svg", Attribute("viewBox", "0 0 \(Int(left + width + 10)) \(Int(height))"), Attribute("role", "img"),
          Attribute("aria-label", "What each worker ran in the last \(Int(length / 60)) minutes")
        ) {
          for (index, worker) in shown.enumerated() {
            let top = Double(index) * row
            tag("text", .number("x", 0), .number("y", top + 14)) { String(worker.id) }
            tag(
              "rect", .class("track"), .number("x", left), .number("y", top + 4), .number("width", width),
              .number("height", row - 8))
            for span in spans[worker.id] ?? [] {
              let begin = left + width * (1 - min(length, now.timeIntervalSince(span.start)) / length)
              let end = left + width * (1 - max(0, now.timeIntervalSince(span.end)) / length)
              let name = ObjectURI(span.job)?.name ?? span.job
              let kind = ObjectURI(span.job).flatMap { kinds[$0.key] } ?? ""
              tag("a", .href(Address("jobs", name))) {
                tag(
                  "rect", .class("span"), .number("x", begin), .number("y", top + 3),
                  .number("width", max(2, end - begin)), .number("height", row - 6)
                ) {
                  tag("title") {
                    "\(name) \(kind), \(StatusText.shortTime(max(0, span.end.timeIntervalSince(span.start))))"
                  }
                }
              }
            }
          }
          for minute in stride(from: 0.0, through: length / 60, by: 5) {
            tag(
              "text", .number("x", left + width * (1 - minute * 60 / length)), .number("y", height - 6),
              Attribute("text-anchor", minute == 0 ? "end" : "middle")
            ) { minute == 0 ? "now" : "\(Int(minute)) min" }
          }
        }
        tag("p", .class("note")) {
          "As workerpool web has seen it: jobs shorter than two seconds may be missing."
        }
      },
    ])
  }
}
