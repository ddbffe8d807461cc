import Foundation
import Jobs
import LinuxSystem
import WorkerProtocol

/// The status of a pool as the command line shows it.
///
/// All texts from the pool are escaped for terminals. The tables drop columns that do not fit into the layout's width;
/// ``json(_:)`` has everything.
public enum StatusText {
  /// The status as JSON on one line.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// if let status = try StatusClient(queue: "queue/").request(StatusRequest(.status)).status {
  ///   print(StatusText.json(status.jobs))
  /// }
  /// ```
  ///
  /// `{}` for a value that cannot be encoded, as one with a number that is not finite.
  public static func json(_ value: some Encodable) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // As the documentation says: only a number that is not finite cannot be encoded.
    return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
  }

  /// The status for people, as `workerpool status` prints it.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// if let status = try StatusClient(queue: "queue/").request(StatusRequest(.status)).status {
  ///   print(StatusText.lines(status).joined(separator: "\n"))
  /// }
  /// ```
  ///
  /// ```text
  /// pool 27575, running; version 0.10.0, started 13 s ago
  /// jobs      0 running, 1 dead
  /// so far    0 done, 1 failed, 0 crashed, 0 timed out; 0 workers replaced
  /// per s     0.0, 0.0, 0.0 done, 0.1, 0.1, 0.1 failed (last 1, 5, 15 minutes)
  ///
  /// worker    pid  plugin  phase   age  memory  CPU s  done  holds  for  progress  runs
  /// 2       27607  index   up     12 s  36 MiB    0.0     0      0
  ///
  /// what to do
  ///   1 job is dead; why: workerpool jobs --state dead; to run one again: workerpool retry JOB
  ///
  /// what went wrong last
  ///   2026-11-28T10:11:10Z  p5 (import) failed: PermanentFailure: "key" is missing in the parameters; it is dead
  /// ```
  ///
  /// Parts without content are left out. The words may change between versions: a program reads ``json(_:)``, whose
  /// names stay.
  ///
  /// - Parameters:
  ///   - status: what the pool has answered.
  ///   - layout: how wide the lines may be, and whether they have colours. Default: those of a file.
  ///   - reader: for whom commands are written.
  public static func lines(
    _ status: PoolStatus, layout: TextLayout = .file, reader: AdviceReader = .plain
  ) -> [String] {
    var lines = layout.wrapped(title(status), indentation: 10).map { layout.styled($0, .strong) }
    lines += summary(status, layout)
    lines += [""] + workers(status, layout: layout)
    let groups = backlog(status, layout)
    if !groups.isEmpty { lines += [""] + groups }
    let kinds = kinds(status, layout)
    if !kinds.isEmpty { lines += [""] + kinds }
    let slow = slowStatements(status, layout)
    if !slow.isEmpty { lines += [""] + slow }
    let advice = advice(status, layout, reader)
    if !advice.isEmpty { lines += ["", layout.styled("what to do", .strong)] + advice }
    let problems = problems(status, layout)
    if !problems.isEmpty { lines += ["", layout.styled("what went wrong last", .strong)] + problems }
    return lines
  }

  /// `pool 4711, running; started 2 h 5 min ago`.
  static func title(_ status: PoolStatus) -> String {
    let version = status.version.map { "version \($0), " } ?? ""
    return "pool \(status.pid), \(status.phase); \(version)started \(duration(status.age)) ago\(pauses(status))"
  }

  /// The numbers of the pool: a line for each subject, its name first.
  static func summary(_ status: PoolStatus, _ layout: TextLayout) -> [String] {
    let counters = status.counters
    var lines = [
      "jobs      " + jobs(status),
      "so far    \(counters.done) done, \(counters.failed) failed, \(counters.crashed) crashed, "
        + "\(counters.timedOut) timed out; \(Plural.text(status.restarts, "worker")) replaced",
    ]
    let rates = status.rates.map { "\(decimal($0.done))" }.joined(separator: ", ")
    if !rates.isEmpty { lines.append("per s     \(rates) done\(failureRates(status)) (last 1, 5, 15 minutes)") }
    if let waiting = status.waitingTime, let running = status.runTime {
      lines.append("waiting   \(spread(waiting))")
      lines.append("running   \(spread(running))")
    }
    if let limits = status.limits {
      lines.append("limits    " + limits.map { TerminalText.escaped(text($0)) }.joined(separator: "; "))
    }
    for host in (status.hosts ?? []).sorted(by: { ($0.name, $0.queue) < ($1.name, $1.queue) }) {
      lines.append(
        "host      \(TerminalText.escaped(host.name)): pool \(host.pid) on \(TerminalText.escaped(host.queue)), "
          + (host.version.map { "version \(TerminalText.escaped($0)), " } ?? "version not known, ")
          + "for \(duration(host.age))" + work(of: host, status))
    }
    if let bytes = status.walBytes { lines.append("store     a write-ahead log of \(size(bytes))") }
    for reader in status.walReaders ?? [] {
      lines.append(
        "          process \(reader.pid) (\(TerminalText.escaped(reader.command))) keeps it from getting shorter, "
          + "reading for \(duration(reader.age)) at least")
    }
    for holder in status.lockHolders ?? [] {
      lines.append(
        "store     process \(holder.pid) (\(TerminalText.escaped(holder.command))) has it locked; writers wait")
    }
    if let turn = status.longestTurn {
      lines.append("loop      longest turn \(shortTime(turn.seconds)) in the last minutes (\(turn.handler))")
    }
    return lines.flatMap { layout.wrapped($0, indentation: 10) }
  }

  /// What a host's pool does, if it has answered. A host that has not answered has a line, too: the store lists it.
  private static func work(of host: PoolStatus.Host, _ status: PoolStatus) -> String {
    let pools = [status] + (status.others ?? [])
    guard let pool = pools.first(where: { $0.pid == host.pid && $0.host == host.name }) else { return "" }
    let busy = pool.workers.count { !$0.running.isEmpty }
    let phase = pool.phase == "running" ? "" : ", \(pool.phase)"
    return "; \(busy) of \(Plural.text(pool.workers.count, "worker")) busy, \(pool.counters.done) done\(phase)"
  }

  /// What to do, one paragraph for each thing.
  static func advice(_ status: PoolStatus, _ layout: TextLayout, _ reader: AdviceReader) -> [String] {
    StatusAdvice.lines(status, for: reader).flatMap {
      layout.wrapped("  \(TerminalText.escaped($0))", indentation: 4)
    }
  }

  /// The last problems, one paragraph for each: five of them, the newest last.
  static func problems(_ status: PoolStatus, _ layout: TextLayout) -> [String] {
    status.problems.suffix(5).flatMap { problem in
      layout.wrapped("  \(problem.time)  \(named(TerminalText.escaped(problem.text)))", indentation: 4)
    }
  }

  /// The text with `p45` in place of each job's URI.
  package static func named(_ text: String) -> String {
    text.split(separator: " ", omittingEmptySubsequences: false).map { word in
      guard word.hasPrefix("x-coredata://") else { return String(word) }
      let mark = word.last.map { ",;:.)".contains($0) } == true ? String(word.suffix(1)) : ""
      guard let uri = ObjectURI(String(word.dropLast(mark.count))), uri.entity == Job.entityName else {
        return String(word)
      }
      return uri.name + mark
    }.joined(separator: " ")
  }

  /// The failures per second of the last 1, 5 and 15 minutes; nothing where there are none.
  private static func failureRates(_ status: PoolStatus) -> String {
    guard status.rates.contains(where: { $0.failed > 0 }) else { return "" }
    return ", " + status.rates.map { decimal($0.failed) }.joined(separator: ", ") + " failed"
  }

  /// A spread of times in words: `half within 2 ms, 90 % 5 ms, 99 % 1.2 s, all 4 min 2 s`.
  private static func spread(_ spread: PoolStatus.Spread) -> String {
    let values = [spread.median, spread.p90, spread.p99, spread.longest].map(shortTime)
    return "half within \(values[0]), 90 % \(values[1]), 99 % \(values[2]), all \(values[3])"
  }

  /// A limit in a few words: `kind import: 1 of 2`, `queues tenant-*: 3 each`, `kind mail: 100 in 60 s`.
  package static func text(_ limit: PoolStatus.Limit) -> String {
    let subject = limit.kind.map { "kind \($0)" } ?? "\(limit.held == nil ? "queues" : "queue") \(limit.queue ?? "")"
    return "\(subject): \(values(limit))"
  }

  /// A limit without its subject: `1 of 2`, `3 each`, `1 of 2, 100 in 60 s`.
  package static func values(_ limit: PoolStatus.Limit) -> String {
    let most = limit.limit.map { most in limit.held.map { "\($0) of \(most)" } ?? "\(most) each" }
    let rate = limit.rate.map { "\($0.jobs) in \(Clock.text($0.period))" }
    return [most, rate].compactMap(\.self).joined(separator: ", ")
  }

  /// A row for each queue and kind with unfinished jobs, or with jobs that ended lately: the longest backlog first; of
  /// equal ones, that with the most successes per minute. Empty if there are no such groups.
  static func backlog(_ status: PoolStatus, _ layout: TextLayout) -> [String] {
    let states = [JobText.runningName] + JobState.allCases.filter(\.isUnfinished).map(\.name)
    let counts = states.enumerated().map { TextTable.Column.number($1, worth: states.count - $0) }
    let figures: [TextTable.Column] =
      status.activity == nil
      ? []
      : [.number("oldest", worth: states.count), .number("per min", worth: 4), .number("died", worth: 3)]
    var table = TextTable([.text("queue"), .text("kind")] + counts + figures)
    let groups = Dictionary(grouping: status.backlog ?? []) { [$0.queue, $0.kind] }
    let activity = Dictionary(
      (status.activity ?? []).map { ([$0.queue, $0.kind], $0) }, uniquingKeysWith: { first, _ in first })
    func size(_ key: [String]) -> (Int, Double) {
      (groups[key]?.reduce(0) { $0 + $1.count } ?? 0, activity[key]?.succeededPerMinute ?? 0)
    }
    let keys = Set(groups.keys).union(activity.keys).sorted {
      let (one, other) = (size($0), size($1))
      return one == other ? $0.lexicographicallyPrecedes($1) : one > other
    }
    for key in keys {
      let counts = states.map { state in
        String((groups[key] ?? []).filter { $0.state == state }.reduce(0) { $0 + $1.count })
      }
      let values = [
        activity[key]?.oldestWaiting.map(age) ?? "", activity[key].map { decimal($0.succeededPerMinute) } ?? "",
        activity[key].map { String($0.died) } ?? "",
      ]
      table.add(key + counts + values.prefix(figures.count))
    }
    if let otherJobs = status.backlogRest, !otherJobs.isEmpty {
      table.add(["all others", ""] + states.map { String(otherJobs[$0] ?? 0) } + figures.map { _ in "" })
    }
    return table.isEmpty ? [] : table.lines(layout)
  }

  /// What the jobs of each kind have used, the kind with the most processor time first; empty before it was measured.
  static func kinds(_ status: PoolStatus, _ layout: TextLayout) -> [String] {
    var table = TextTable([
      .text("kind"), .number("attempts", worth: 3), .number("CPU", worth: 5), .number("CPU each", worth: 4),
      .number("memory", worth: 4), .number("read", worth: 2), .number("written", worth: 2),
    ])
    let kinds = (status.kinds ?? []).compactMap { kind in kind.use.map { (kind, $0) } }
    for (kind, use) in kinds.sorted(by: { ($1.1.processorTime, $0.0.kind) < ($0.1.processorTime, $1.0.kind) }) {
      let attempts = kind.running.counts.reduce(0, +)
      table.add([
        TerminalText.escaped(kind.kind), String(attempts), shortTime(use.processorTime),
        attempts > 0 ? shortTime(use.processorTime / Double(attempts)) : "", use.peakMemory.map(size) ?? "",
        use.bytesRead.map(size) ?? "", use.bytesWritten.map(size) ?? "",
      ])
    }
    return table.isEmpty ? [] : table.lines(layout)
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

  /// What is paused, for the title: `; paused: all, queue mail, kind export`.
  private static func pauses(_ status: PoolStatus) -> String {
    var paused = status.pausedQueues.map { "queue \($0)" } + status.pausedKinds.map { "kind \($0)" }
    if status.isPaused { paused.insert("all", at: 0) }
    return paused.isEmpty ? "" : "; paused: \(TerminalText.escaped(paused.joined(separator: ", ")))"
  }

  /// How many jobs are in each state: `3 running, 12 available, 1 dead`.
  private static func jobs(_ status: PoolStatus) -> String {
    let running = status.jobs?[JobText.runningName] ?? status.workers.reduce(0) { $0 + $1.running.count }
    var parts = ["\(running) running"]
    for state in JobState.allCases {
      guard let count = status.jobs?[state.name], count > 0 else { continue }
      parts.append("\(count) \(state.name)")
    }
    return parts.joined(separator: ", ") + (status.storeAge.map { " (\(duration($0)) ago)" } ?? "")
  }

  /// The worker processes as a table for people.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// if let status = try StatusClient(queue: "queue/").request(StatusRequest(.status)).status {
  ///   print(StatusText.workers(status).joined(separator: "\n"))
  /// }
  /// ```
  ///
  /// - Parameter shares: the share of a processor that each process uses now, by its ID, where it is known.
  public static func workers(
    _ status: PoolStatus, layout: TextLayout = .file, shares: [Int32: Double]? = nil
  ) -> [String] {
    let pools = [status] + (status.others ?? [])
    let hasHosts = pools.count > 1
    let first: [TextTable.Column] = hasHosts ? [.text("host", worth: 8)] : []
    var table = TextTable(
      first + [
        .text("worker"), .number("pid"), .text("plugin", worth: 5), .text("phase"), .number("age", worth: 2),
        .number("memory", worth: 6), .number(shares == nil ? "CPU s" : "CPU %", worth: shares == nil ? 1 : 7),
        .number("done", worth: 3), .number("holds", worth: 4), .number("for", worth: 8), .text("progress", worth: 9),
        .text("runs"),
      ])
    for (pool, worker) in pools.flatMap({ pool in pool.workers.map { (pool, $0) } }) {
      // Shares are known of this pool only.
      let shares = pool.pid == status.pid && pool.host == status.host ? shares : shares.map { _ in [:] }
      var running = worker.running.compactMap { ObjectURI($0)?.name }.joined(separator: " ")
      if let wait = storeWait(worker) { running += running.isEmpty ? wait : ", \(wait)" }
      let processor =
        shares.map { shares in worker.pid.flatMap { shares[$0] }.map { String(Int(($0 * 100).rounded())) } ?? "" }
        ?? worker.processorTime.map(decimal) ?? ""
      let host = hasHosts ? [TerminalText.escaped(pool.host ?? "")] : []
      let styles = phaseStyle(worker).map { ($0 + host.count, $1) }
      table.add(
        host + [
          String(worker.id), worker.pid.map(String.init) ?? "", worker.plugin, worker.phase, age(worker.age),
          worker.memory.map(size) ?? "", processor, String(worker.jobsDone), String(worker.holding),
          worker.busy.map(shortTime) ?? "", progress(worker, layout), running,
        ], styles: Dictionary(styles, uniquingKeysWith: { first, _ in first }))
    }
    return table.isEmpty ? ["no workers"] : table.lines(layout)
  }

  /// The styles of a worker's row, by column: of one that runs a job, one that is ended, and one that comes or goes.
  private static func phaseStyle(_ worker: PoolStatus.Worker) -> [Int: TextStyle] {
    switch worker.phase {
    case "up": worker.running.isEmpty ? [:] : [3: .active, 11: .active]
    case "killed": [3: .bad]
    default: [3: .warning]
    }
  }

  /// The store wait of the worker in a few words; nil without one.
  private static func storeWait(_ worker: PoolStatus.Worker) -> String? {
    worker.waitsForStore.flatMap { StoreWait(rawValue: $0) }.flatMap(StoreWaitText.short).map {
      "not \(worker.running.isEmpty ? "begun" : "saved"): \($0)"
    }
  }

  /// How far the running job is; on a terminal as a bar.
  private static func progress(_ worker: PoolStatus.Worker, _ layout: TextLayout) -> String {
    guard let done = worker.progressDone, let total = worker.progressTotal, total > 0 else { return "" }
    guard layout.columns != nil else { return "\(done)/\(total)" }
    return bar(Double(done) / Double(total), width: 8) + " \(Int(min(1, Double(done) / Double(total)) * 100)) %"
  }

  /// A bar of `width` characters, filled from the left.
  static func bar(_ share: Double, width: Int) -> String {
    let filled = Int((min(1, max(0, share)) * Double(width)).rounded())
    return String(repeating: "█", count: filled) + String(repeating: "·", count: width - filled)
  }

  /// Seconds in the one unit that matters: `12 s`, `4 min`, `3 h`, `2 d`.
  package static func age(_ seconds: Double) -> String {
    let seconds = max(0, Int(seconds))
    switch seconds {
    case ..<60: return "\(seconds) s"
    case ..<3600: return "\(seconds / 60) min"
    case ..<86_400: return "\(seconds / 3600) h"
    default: return "\(seconds / 86_400) d"
    }
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
