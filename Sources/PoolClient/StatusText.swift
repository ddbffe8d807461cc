import Foundation
import Jobs
import WorkerProtocol

/// The status of a pool as the command line shows it.
public enum StatusText {
  /// The text with which a terminal shows these lines instead of those before, without flicker: the cursor goes to the
  /// top left, each line clears its rest, and what is below is cleared (ECMA-48: CUP, EL, ED). Lines that are too long
  /// are cut; where a character takes two columns, the terminal cuts them (DECAWM of the VT100).
  public static func redrawn(_ lines: [String], columns: Int = Int.max) -> String {
    let lines = lines.map { "\u{1B}[K\(TerminalText.cut($0, to: columns))\n" }
    return "\u{1B}[?7l\u{1B}[H" + lines.joined() + "\u{1B}[J\u{1B}[?7h"
  }

  /// The status for people in at most `rows` rows. Workers are left out first, idle ones before the others, then the
  /// last lines.
  public static func lines(_ status: PoolStatus, rows: Int) -> [String] {
    let all = lines(status)
    guard all.count > rows else { return all }
    let count = max(min(fewestWorkers, status.workers.count), status.workers.count - (all.count - rows + 1))
    let busyFirst = status.workers.filter { !$0.running.isEmpty } + status.workers.filter(\.running.isEmpty)
    let shown = Set(busyFirst.prefix(count).map(\.id))
    var shorter = status
    shorter.workers.removeAll { !shown.contains($0.id) }
    let leftOut = status.workers.count - count
    let more = leftOut > 0 ? ["… \(leftOut) workers more: workerpool workers"] : []
    let lines = lines(status, workers: workers(shorter) + more)
    guard lines.count > rows else { return lines }
    let kept = lines.prefix(max(0, rows - 1))
    return kept + ["… \(lines.count - kept.count) lines more: workerpool status"]
  }

  /// The number of workers that are shown even if there are fewer rows.
  private static let fewestWorkers = 3

  /// The status as JSON on one line.
  public static func json(_ value: some Encodable) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
  }

  /// The status for people.
  public static func lines(_ status: PoolStatus) -> [String] { lines(status, workers: workers(status)) }

  private static func lines(_ status: PoolStatus, workers: [String]) -> [String] {
    var lines = ["pool \(status.pid), \(status.phase) for \(duration(status.age))\(pauses(status))"]
    lines.append("jobs      " + jobs(status))
    let counters = status.counters
    lines.append(
      "so far    \(counters.done) done, \(counters.failed) failed, \(counters.crashed) crashed, "
        + "\(counters.timedOut) timed out; \(status.restarts) workers replaced")
    let rates = status.rates.map { "\(decimal($0.done))" }.joined(separator: ", ")
    if !rates.isEmpty { lines.append("per s     \(rates) done in the last 1, 5 and 15 minutes" + failureRates(status)) }
    if let waiting = status.waitingTime, let running = status.runTime {
      lines.append("waiting   \(spread(waiting))")
      lines.append("running   \(spread(running))")
    }
    if let bytes = status.walBytes { lines.append("WAL       \(size(bytes))") }
    for reader in status.walReaders ?? [] {
      lines.append(
        "          process \(reader.pid) (\(TerminalText.escaped(reader.command))) keeps it from getting shorter, "
          + "reading for \(duration(reader.age)) at least")
    }
    for holder in status.lockHolders ?? [] {
      lines.append(
        "store     process \(holder.pid) (\(TerminalText.escaped(holder.command))) has it locked; writers wait"
      )
    }
    lines += [""] + workers
    if status.backlog?.isEmpty == false { lines += [""] + backlog(status) }
    let advice = StatusAdvice.lines(status)
    if !advice.isEmpty { lines += ["", "what to do"] + advice.map { "  \(TerminalText.escaped($0))" } }
    let problems = status.problems.suffix(5)
    if !problems.isEmpty {
      lines += ["", "what went wrong last"] + problems.map { "  \($0.time)  \(TerminalText.escaped($0.text))" }
    }
    return lines
  }

  private static func failureRates(_ status: PoolStatus) -> String {
    guard status.rates.contains(where: { $0.failed > 0 }) else { return "" }
    return "; " + status.rates.map { decimal($0.failed) }.joined(separator: ", ") + " failed"
  }

  private static func spread(_ spread: PoolStatus.Spread) -> String {
    let values = [spread.median, spread.p90, spread.p99, spread.longest].map(shortTime)
    return "half of the last jobs within \(values[0]), 90 % \(values[1]), 99 % \(values[2]), all \(values[3])"
  }

  /// The unfinished jobs, a row for each queue and kind.
  private static func backlog(_ status: PoolStatus) -> [String] {
    let states = [JobText.runningName] + JobState.allCases.filter(\.isUnfinished).map(\.name)
    var table = TextTable(["queue", "kind"] + states, rightAligned: Set(2..<(2 + states.count)))
    let groups = Dictionary(grouping: status.backlog ?? []) { [$0.queue, $0.kind] }
    for (key, entries) in groups.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      let counts = states.map { state in
        String(entries.filter { $0.state == state }.reduce(0) { $0 + $1.count })
      }
      table.add(key + counts)
    }
    if let rest = status.backlogRest, !rest.isEmpty {
      table.add(["all others", ""] + states.map { String(rest[$0] ?? 0) })
    }
    return table.lines
  }

  /// A time of a job: `0.4 ms`, `12 ms`, `3.5 s`, `4 min 2 s`.
  package static func shortTime(_ seconds: Double) -> String {
    switch seconds {
    case ..<0.01: "\(decimal(seconds * 1000)) ms"
    case ..<1: "\(Int(seconds * 1000)) ms"
    case ..<60: "\(decimal(seconds)) s"
    default: duration(seconds)
    }
  }

  /// One decimal place, none above 100.
  package static func decimal(_ value: Double) -> String {
    if value >= 100 { return String(Int(value.rounded())) }
    let tenths = Int((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }

  private static func pauses(_ status: PoolStatus) -> String {
    var paused = status.pausedQueues.map { "queue \($0)" } + status.pausedKinds.map { "kind \($0)" }
    if status.isPaused { paused.insert("all", at: 0) }
    return paused.isEmpty ? "" : "; paused: \(TerminalText.escaped(paused.joined(separator: ", ")))"
  }

  private static func jobs(_ status: PoolStatus) -> String {
    let running = status.jobs?[JobText.runningName] ?? status.workers.reduce(0) { $0 + $1.running.count }
    var parts = ["\(running) running"]
    for state in JobState.allCases {
      guard let count = status.jobs?[state.name], count > 0 else { continue }
      parts.append("\(count) \(state.name)")
    }
    return parts.joined(separator: ", ")
  }

  /// The worker processes as a table for people.
  public static func workers(_ status: PoolStatus) -> [String] {
    var table = TextTable(
      ["worker", "pid", "plugin", "phase", "age", "memory", "CPU s", "done", "holds", "for", "progress", "runs"],
      rightAligned: [1, 4, 5, 6, 7, 8, 9])
    for worker in status.workers {
      var running = worker.running.compactMap { ObjectURI($0)?.name }.joined(separator: " ")
      if let wait = storeWait(worker) { running += running.isEmpty ? wait : ", \(wait)" }
      table.add([
        String(worker.id), String(worker.pid), worker.plugin, worker.phase, duration(worker.age),
        worker.memory.map(size) ?? "", worker.processorTime.map(decimal) ?? "", String(worker.jobsDone),
        String(worker.holding), worker.busy.map(shortTime) ?? "", progress(worker), running,
      ])
    }
    return table.isEmpty ? ["no workers"] : table.lines
  }

  /// The store wait of the worker in a few words; nil without one.
  private static func storeWait(_ worker: PoolStatus.Worker) -> String? {
    worker.waitsForStore.flatMap { StoreWait(rawValue: $0) }.flatMap(StoreWaitText.short).map {
      "not \(worker.running.isEmpty ? "begun" : "saved"): \($0)"
    }
  }

  private static func progress(_ worker: PoolStatus.Worker) -> String {
    guard let done = worker.progressDone, let total = worker.progressTotal, total > 0 else { return "" }
    return "\(done)/\(total)"
  }

  /// Seconds in the two units that matter: `3 h 20 min`.
  package static func duration(_ seconds: Double) -> String {
    let seconds = Int(seconds)
    switch seconds {
    case ..<60: return "\(seconds) s"
    case ..<3600: return "\(seconds / 60) min \(seconds % 60) s"
    case ..<86_400: return "\(seconds / 3600) h \(seconds / 60 % 60) min"
    default: return "\(seconds / 86_400) d \(seconds / 3600 % 24) h"
    }
  }

  package static func size(_ bytes: Int) -> String {
    bytes < 1 << 20 ? "\(bytes >> 10) KiB" : "\(bytes >> 20) MiB"
  }
}
