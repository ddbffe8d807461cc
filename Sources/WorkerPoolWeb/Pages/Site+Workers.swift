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
    tag("div", .class("sheet"), Attribute("tabindex", "0")) {
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
              tag("td", Attribute("data-label", "worker")) {
                link(String(worker.id), Address("workers", worker.shownID))
              }
              tag("td", Attribute("data-label", "process")) { worker.pid.map(String.init) ?? "" }
              tag("td", Attribute("data-label", "plugin")) { worker.plugin }
              tag("td", Attribute("data-label", "phase")) {
                worker.phase + (worker.isRetiring ? ", to be replaced" : "")
              }
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
    guard let worker = status.workers.first(where: { $0.shownID == pid }) else {
      return Layout.Page(
        title: "Process \(pid)", part: "Workers", content: problem("There is no worker process \(pid) any more.", nil),
        status: 404)
    }
    return Layout.Page(
      title: "Worker \(worker.id)", part: "Workers",
      content: HTML([
        tag("h1") { "Worker \(worker.id)\(worker.pid.map { ", process \($0)" } ?? "")" },
        table([worker]),
        timeline([worker]),
        tag("h2") { "Executable" },
        tag("p") { tag("code") { worker.path } },
        tag("h2") { "Last lines of its standard error" },
        worker.lastLines.isEmpty
          ? tag("p", .class("quiet")) { "none" }
          : tag("pre", Attribute("tabindex", "0")) { worker.lastLines.joined(separator: "\n") },
      ]))
  }
}
