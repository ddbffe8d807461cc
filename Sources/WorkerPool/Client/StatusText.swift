import Foundation
import Jobs

/// The status of a pool as the command line shows it.
public enum StatusText {
  /// Moves a terminal's cursor home and clears what is below (ECMA-48: CUP, ED).
  public static let clearScreen = "\u{1B}[H\u{1B}[J"

  /// The status as JSON on one line.
  public static func json(_ value: some Encodable) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
  }

  /// The status for people.
  public static func lines(_ status: PoolStatus) -> [String] {
    var lines = ["pool \(status.pid), \(status.phase) for \(duration(status.age))\(pauses(status))"]
    lines.append("jobs      " + jobs(status))
    let counters = status.counters
    lines.append(
      "so far    \(counters.done) done, \(counters.failed) failed, \(counters.crashed) crashed, "
        + "\(counters.timedOut) timed out; \(status.restarts) workers replaced")
    if let bytes = status.walBytes { lines.append("WAL       \(size(bytes))") }
    for plugin in status.plugins {
      guard let failure = plugin.failure else { continue }
      lines.append("plugin    \(plugin.name) is not in use: \(TerminalText.escaped(failure))")
    }
    return lines + [""] + workers(status)
  }

  private static func pauses(_ status: PoolStatus) -> String {
    var paused = status.pausedQueues.map { "queue \($0)" } + status.pausedKinds.map { "kind \($0)" }
    if status.isPaused { paused.insert("all", at: 0) }
    return paused.isEmpty ? "" : "; paused: \(paused.joined(separator: ", "))"
  }

  private static func jobs(_ status: PoolStatus) -> String {
    let running = status.workers.reduce(0) { $0 + $1.running.count }
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
      ["worker", "pid", "plugin", "phase", "age", "holds", "progress", "runs"], rightAligned: [1, 4, 5])
    for worker in status.workers {
      let running = worker.running.compactMap { $0.split(separator: "/").last.map(String.init) }.joined(separator: " ")
      table.add([
        String(worker.id), String(worker.pid), worker.plugin, worker.phase, duration(worker.age),
        String(worker.holding), progress(worker), running,
      ])
    }
    return table.isEmpty ? ["no workers"] : table.lines
  }

  private static func progress(_ worker: PoolStatus.Worker) -> String {
    guard let done = worker.progressDone, let total = worker.progressTotal, total > 0 else { return "" }
    return "\(done)/\(total)"
  }

  /// Seconds in the two units that matter: `3 h 20 min`.
  static func duration(_ seconds: Double) -> String {
    let seconds = Int(seconds)
    switch seconds {
    case ..<60: return "\(seconds) s"
    case ..<3600: return "\(seconds / 60) min \(seconds % 60) s"
    case ..<86_400: return "\(seconds / 3600) h \(seconds / 60 % 60) min"
    default: return "\(seconds / 86_400) d \(seconds / 3600 % 24) h"
    }
  }

  private static func size(_ bytes: Int) -> String {
    bytes < 1 << 20 ? "\(bytes >> 10) KiB" : "\(bytes >> 20) MiB"
  }
}
