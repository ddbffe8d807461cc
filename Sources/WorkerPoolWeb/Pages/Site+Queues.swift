import Foundation
import Jobs
import PoolClient

extension Site {
  func queues() throws -> Layout.Page {
    let status = try status()
    let queueNames = Set((status.backlog ?? []).map(\.queue) + status.pausedQueues)
    return Layout.Page(
      title: "Queues", part: "Queues",
      content: HTML([
        tag("h1") { "Queues" },
        whole(status),
        groups(status, names: queueNames, what: "queue", paused: Set(status.pausedQueues), by: \.queue),
        rest(status),
        patterns(status),
      ]))
  }

  func kinds() throws -> Layout.Page {
    let status = try status()
    let kindNames = Set((status.backlog ?? []).map(\.kind) + status.pausedKinds + status.plugins.flatMap(\.kinds))
    return Layout.Page(
      title: "Kinds", part: "Kinds",
      content: HTML([
        tag("h1") { "Kinds" },
        groups(status, names: kindNames, what: "kind", paused: Set(status.pausedKinds), by: \.kind),
        rest(status),
        processorPlot(status),
        slowStatements(status),
        plugins(status),
      ]))
  }

  private func whole(_ status: PoolStatus) -> HTML {
    tag("div", .class("actions")) {
      if status.isPaused {
        StateMark.html("paused")
        tag("span") { "The whole pool is paused." }
        forms.button("Resume all", to: Address("resume"))
      } else {
        forms.button("Pause all", to: Address("pause"))
      }
    }
  }

  private static let shown = ["running", "available", "scheduled", "retryable", "blocked"]

  /// A line for each queue or kind with unfinished jobs, or with jobs that ended lately.
  private func groups(
    _ status: PoolStatus, names: Set<String>, what: String, paused: Set<String>, by name: (JobBacklog) -> String
  ) -> HTML {
    let backlog = Dictionary(grouping: status.backlog ?? [], by: name)
    let sizes = backlog.mapValues { $0.reduce(0) { $0 + $1.count } }
    let isOfKinds = what == "kind"
    let times = Dictionary((status.kinds ?? []).map { ($0.kind, $0) }, uniquingKeysWith: { first, _ in first })
    let limits = limits(of: what, status)
    // The table is worth showing where the store cannot be read, or not in time.
    let activity = (try? openJobReader()).flatMap { jobReader in
      try? jobReader.within(JobReader.longest) {
        try self.activity.groups(status.backlog ?? [], by: name, in: jobReader.reader)
      }
    }
    // What ended lately is shown where nothing waits, too.
    let names = names.union(activity?.keys.map(\.self) ?? [])
    guard !names.isEmpty else { return message("No unfinished jobs, and none that ended lately.") }
    return tag("div", .class("sheet"), Attribute("tabindex", "0")) {
      tag("table", .class("cards dense")) {
        tag("thead") {
          tag("tr") {
            tag("th") { what == "queue" ? "Queue" : "Kind" }
            for state in Self.shown { tag("th", .class("number")) { state } }
            if isOfKinds {
              for column in Self.columnsOfKinds { tag("th", .class("number")) { column } }
            } else {
              for column in Self.columnsOfQueues { tag("th", .class("number")) { column } }
            }
            tag("th") { "Last \(GroupActivity.minutes) min" }
            tag("th") { "State" }
            tag("th") {}
          }
        }
        tag("tbody") {
          // The longest backlog first.
          for name in names.sorted(by: { (sizes[$1] ?? 0, $0) < (sizes[$0] ?? 0, $1) }) {
            tag("tr") {
              tag("td", .class("whole name")) {
                tag("a", .href(Address(path: ["jobs"], query: [(what, name)]))) { name }
              }
              for state in Self.shown {
                let count = (backlog[name] ?? []).filter { $0.state == state }.reduce(0) { $0 + $1.count }
                tag("td", .class(count > 0 ? "number" : "number none"), Attribute("data-label", state)) {
                  Count.number(count)
                }
              }
              if isOfKinds {
                for (column, text) in zip(Self.columnsOfKinds, values(times[name], activity?[name])) {
                  tag("td", .class("number"), Attribute("data-label", column)) { text }
                }
              } else {
                for (column, text) in zip(Self.columnsOfQueues, values(activity?[name])) {
                  tag("td", .class("number"), Attribute("data-label", column)) { text }
                }
              }
              tag("td") { activity?[name].map { Sparkline.html($0, of: name) } ?? .nothing }
              tag("td", .class("name")) {
                paused.contains(name) ? StateMark.html("paused") : HTML(limits[name] ?? "")
              }
              tag("td") {
                paused.contains(name)
                  ? forms.button("Resume", to: Address("resume"), fields: [(what, name)], label: "Resume \(name)")
                  : forms.button("Pause", to: Address("pause"), fields: [(what, name)], label: "Pause \(name)")
              }
            }
          }
        }
      }
    }
  }

  /// Kinds that the plot shows: those that have used most.
  private static let plottedKinds = 5

  /// The processor time that kinds have used in the last minutes; nothing before any was measured.
  private func processorPlot(_ status: PoolStatus) -> HTML {
    let kinds = (status.kinds ?? []).filter { $0.use != nil }
      .sorted { ($0.use?.processorTime ?? 0, $1.kind) > ($1.use?.processorTime ?? 0, $0.kind) }
    guard !kinds.isEmpty else { return .nothing }
    let (grid, recent) = (Period.fiveMinutes.grid(until: Date()), monitor.recent)
    let series = kinds.prefix(Self.plottedKinds).map { kind in
      Plot.Series(name: kind.kind, values: recent.processorTime(of: kind.kind, grid))
    }
    let plot = Plot(
      title: "Processor time by kind", unit: "seconds in \(grid.stepTitle)",
      note: "Of the kinds that have used most, counted when their jobs end.", shape: .bars, times: grid.times,
      step: grid.step, series: series, text: { $0 == 0 ? "0" : StatusText.shortTime($0) })
    return tag("div", .class("plots")) { plot.html }
  }

  private static let columnsOfKinds = [
    "oldest waits", "mean wait", "mean run", "done per min", "done", "failed", "processor time", "memory at most",
    "read", "written",
  ]

  private static let columnsOfQueues = ["oldest waits", "done per min", "died"]

  /// What is known of a queue: how long the oldest job waits, and what ended in the last minutes.
  private func values(_ group: GroupActivity.Group?) -> [String] {
    guard let group else { return Self.columnsOfQueues.map { _ in "" } }
    return [
      group.oldestWaits.map { StatusText.shortTime(max(0, Date().timeIntervalSince($0))) } ?? "",
      StatusText.decimal(group.rate), Count.number(group.deaths),
    ]
  }

  /// What is known of a kind since the pool was started, with its oldest job and what ended in the last minutes.
  private func values(_ kind: PoolStatus.Kind?, _ group: GroupActivity.Group?) -> [String] {
    let kind = kind ?? PoolStatus.Kind(kind: "")
    func mean(_ times: TimeHistogram) -> String {
      let count = times.counts.reduce(0, +)
      return count > 0 ? StatusText.shortTime(times.sum / Double(count)) : ""
    }
    let counters = kind.counters
    return [
      kind.oldestWaiting.map(StatusText.shortTime) ?? "", mean(kind.waiting), mean(kind.running),
      group.map { StatusText.decimal($0.rate) } ?? "", Count.number(counters.done),
      Count.number(counters.failed + counters.crashed + counters.timedOut),
      kind.use.map { StatusText.shortTime($0.processorTime) } ?? "", kind.use?.peakMemory.map(StatusText.size) ?? "",
      kind.use?.bytesRead.map(StatusText.size) ?? "", kind.use?.bytesWritten.map(StatusText.size) ?? "",
    ]
  }

  /// The limits and rates of queues or kinds, by name, and which of them keep jobs from beginning now.
  private func limits(of what: String, _ status: PoolStatus) -> [String: String] {
    var texts: [String: String] = [:]
    // The page is worth showing without the pool's answer.
    let reply = try? StatusClient(queue: queue).request(StatusRequest(.explain), within: 1)
    for obstacle in reply?.obstacles?.obstacles ?? [] {
      guard let name = obstacle.name else { continue }
      switch (what, obstacle.reason) {
      case ("queue", .queueLimit), ("kind", .kindLimit):
        texts[name] = "limit reached" + (obstacle.limit.map { ": \($0)" } ?? "")
      case ("kind", .rate): texts[name] = "rate reached"
      case ("kind", .sharedLimit): texts[name] = "limit or rate of all pools reached"
      case ("kind", .noWorker) where texts[name] == nil: texts[name] = "no worker process"
      default: break
      }
    }
    for limit in status.limits ?? [] {
      guard let name = what == "kind" ? limit.kind : limit.queue, texts[name] == nil else { continue }
      texts[name] = "limit \(StatusText.values(limit))"
    }
    return texts
  }

  private func rest(_ status: PoolStatus) -> HTML {
    let count = (status.backlogRest ?? [:]).values.reduce(0, +)
    guard count > 0 else { return .nothing }
    return tag("p", .class("note")) { "The largest groups are shown; \(Count.text(count, "job")) more are in others." }
  }

  /// The limits of queues whose names fit a pattern.
  private func patterns(_ status: PoolStatus) -> HTML {
    let limits = (status.limits ?? []).filter { $0.queue != nil && $0.held == nil }
    guard !limits.isEmpty else { return .nothing }
    return tag("p", .class("note")) { "Limits of \(limits.map(StatusText.text).joined(separator: "; "))." }
  }

  private func plugins(_ status: PoolStatus) -> HTML {
    HTML([
      tag("h2") { "Plugins" },
      tag("div", .class("sheet"), Attribute("tabindex", "0")) {
        tag("table", .class("cards")) {
          tag("thead") {
            tag("tr") {
              for name in ["Plugin", "Version", "Kinds"] { tag("th") { name } }
              tag("th", .class("number")) { "Workers" }
              tag("th") { "Trouble" }
            }
          }
          tag("tbody") {
            for plugin in status.plugins {
              tag("tr") {
                tag("td") { plugin.name }
                tag("td", Attribute("data-label", "version")) { plugin.version ?? "" }
                tag("td", Attribute("data-label", "kinds")) { plugin.kinds.joined(separator: ", ") }
                tag("td", .class("number"), Attribute("data-label", "workers")) { String(plugin.workers) }
                tag("td", .class("error whole")) { plugin.failure ?? "" }
              }
            }
          }
        }
      },
    ])
  }
}
