import Foundation
import LinuxSystem
import PoolClient

/// A status in the text format of Prometheus.
///
/// Source: https://prometheus.io/docs/instrumenting/exposition_formats/, "Text-based format".
package enum PrometheusText {
  /// How each text begins.
  package static let start = "# HELP workerpool_"

  /// The metrics, each with its help and type.
  package static func text(_ status: PoolStatus) -> String {
    var text = Text()
    text.addUp(status.phase == "running")
    text.add("uptime_seconds", type: "gauge", help: "Seconds since the pool was started.", [([:], status.age)])
    addJobs(status, to: &text)
    addKinds(status.kinds ?? [], to: &text)
    addWorkers(status, to: &text)
    addState(status, to: &text)
    return text.lines
  }

  /// The metrics of a pool that does not answer: all but one are unknown.
  package static var textWithoutPool: String {
    var text = Text()
    text.addUp(false)
    return text.lines
  }

  /// Writes the metrics to a file in one step: a reader never sees half of them. Every user may read it, since the node
  /// exporter is another one, and nothing in it is private.
  package static func write(_ status: PoolStatus, to path: String) throws {
    try ReplacingFile.write(text(status).utf8, to: path, mode: 0o644, isForAll: true, surviving: .processes)
  }

  private static func addJobs(_ status: PoolStatus, to text: inout Text) {
    if status.jobs != nil {
      text.add(
        "store_age_seconds", type: "gauge",
        help: "Seconds since the numbers of jobs in the store were read: 0, unless the store does not answer.",
        [([:], status.storeAge ?? 0)])
    }
    text.add(
      "jobs", type: "gauge", help: "Jobs in the store by state.",
      (status.jobs ?? [:]).sorted { $0.key < $1.key }.map { (["state": $0.key], Double($0.value)) })
    text.add(
      "backlog", type: "gauge", help: "Unfinished jobs by state, kind and queue: the largest groups.",
      (status.backlog ?? []).map { (["state": $0.state, "kind": $0.kind, "queue": $0.queue], Double($0.count)) })
    text.add(
      "backlog_rest", type: "gauge",
      help: "Unfinished jobs by state that are in no group of the backlog, which names the largest.",
      (status.backlogRest ?? [:]).sorted { $0.key < $1.key }.map { (["state": $0.key], Double($0.value)) })
    let counters = status.counters
    text.add(
      "jobs_total", type: "counter", help: "Jobs since the start of the pool by what came of them.",
      [
        (["outcome": "done"], Double(counters.done)), (["outcome": "failed"], Double(counters.failed)),
        (["outcome": "crashed"], Double(counters.crashed)), (["outcome": "timed_out"], Double(counters.timedOut)),
        (["outcome": "returned"], Double(counters.returned)),
      ])
    text.add(
      "job_waiting_seconds", type: "summary", help: "How long the jobs that ended last had waited.",
      spread(status.waitingTime))
    text.add("job_run_seconds", type: "summary", help: "How long the jobs that ended last ran.", spread(status.runTime))
  }

  private static func addKinds(_ kinds: [PoolStatus.Kind], to text: inout Text) {
    let outcomes: [(String, KeyPath<KindCounters, Int>)] = [
      ("done", \.done), ("failed", \.failed), ("crashed", \.crashed), ("timed_out", \.timedOut),
    ]
    text.add(
      "attempts_total", type: "counter", help: "Attempts since the start of the pool by kind and what came of them.",
      kinds.flatMap { kind in
        outcomes.map { (["kind": kind.kind, "outcome": $0.0], Double(kind.counters[keyPath: $0.1])) }
      })
    text.add(
      "oldest_waiting_job_seconds", type: "gauge", help: "For how long the job has waited that waits longest, by kind.",
      kinds.compactMap { kind in kind.oldestWaiting.map { (["kind": kind.kind], $0) } })
    func used(_ value: (ResourceUse) -> Double?) -> [([String: String], Double)] {
      kinds.compactMap { kind in kind.use.flatMap(value).map { (["kind": kind.kind], $0) } }
    }
    text.add(
      "job_cpu_seconds_total", type: "counter", help: "Processor time of jobs since the start of the pool, by kind.",
      used(\.processorTime))
    text.add(
      "job_peak_memory_bytes", type: "gauge",
      help: "The most memory that a worker had resident while it ran jobs of the kind, since the start of the pool.",
      used { $0.peakMemory.map(Double.init) })
    text.add(
      "job_read_bytes_total", type: "counter", help: "Bytes that jobs have read from disks, by kind.",
      used { $0.bytesRead.map(Double.init) })
    text.add(
      "job_written_bytes_total", type: "counter", help: "Bytes that jobs have written to files, by kind.",
      used { $0.bytesWritten.map(Double.init) })
    text.addHistograms(
      "job_wait_duration_seconds", "From when a job could begin to when it did, by kind.",
      kinds.map { ($0.kind, $0.waiting) })
    text.addHistograms(
      "job_run_duration_seconds", "From when a job began to when its attempt ended, by kind.",
      kinds.map { ($0.kind, $0.running) })
  }

  private static func addWorkers(_ status: PoolStatus, to text: inout Text) {
    text.add(
      "workers_wanted", type: "gauge", help: "Worker processes that there should be.",
      [([:], Double(status.workerCount))])
    text.add(
      "worker_restarts_total", type: "counter", help: "Worker processes that died and were replaced.",
      [([:], Double(status.restarts))])
    func eachWorker(_ value: (PoolStatus.Worker) -> Double?) -> [([String: String], Double)] {
      status.workers.compactMap { worker in
        // One that is being started has no process to measure.
        guard let pid = worker.pid, let number = value(worker) else { return nil }
        return (["plugin": worker.plugin, "pid": String(pid)], number)
      }
    }
    text.add(
      "worker_busy", type: "gauge", help: "1 while the worker runs a job.", eachWorker { $0.running.isEmpty ? 0 : 1 })
    text.add(
      "worker_resident_memory_bytes", type: "gauge", help: "Resident memory of the worker.",
      eachWorker { $0.memory.map(Double.init) })
    text.add(
      "worker_cpu_seconds_total", type: "counter", help: "Processor time of the worker.",
      eachWorker { $0.processorTime })
    text.add(
      "plugin_failed", type: "gauge", help: "1 for a plugin that cannot be used.",
      status.plugins.map { (["plugin": $0.name], $0.failure == nil ? 0 : 1) })
  }

  /// The state of the pool itself, its store and its queue directory.
  private static func addState(_ status: PoolStatus, to text: inout Text) {
    text.add("paused", type: "gauge", help: "1 while the whole pool is paused.", [([:], status.isPaused ? 1 : 0)])
    if let bytes = status.walBytes {
      text.add("wal_bytes", type: "gauge", help: "Size of the write-ahead log.", [([:], Double(bytes))])
    }
    if let holders = status.lockHolders {
      text.add(
        "store_locked", type: "gauge", help: "1 while a process keeps others from writing.",
        [([:], holders.isEmpty ? 0 : 1)])
    }
    if let turn = status.longestTurn {
      text.add(
        "loop_longest_turn_seconds", type: "gauge", help: "The longest turn of the pool's loop in the last minutes.",
        [([:], turn.seconds)])
    }
    if let slow = status.slowStatements {
      text.add(
        "slow_statements_total", type: "counter",
        help: "SQL statements of the pool and its workers since the start that took as long as --slow-statements says.",
        [([:], Double(slow.count))])
    }
    text.add(
      "hanging", type: "gauge",
      help: "Things that do not answer, such as plugin directories, which the pool goes on without.",
      [([:], Double(status.hangs?.count ?? 0))])
    if let files = status.rejectedFiles {
      text.add("rejected_files", type: "gauge", help: "Bad files in the queue directory.", [([:], Double(files))])
    }
  }

  private static func spread(_ spread: PoolStatus.Spread?) -> [([String: String], Double)] {
    guard let spread else { return [] }
    return [
      (["quantile": "0.5"], spread.median), (["quantile": "0.9"], spread.p90), (["quantile": "0.99"], spread.p99),
      (["quantile": "1"], spread.longest),
    ]
  }

  private struct Text {
    var lines = ""

    mutating func addUp(_ isRunning: Bool) {
      add("up", type: "gauge", help: "1 while the pool runs.", [([:], isRunning ? 1 : 0)])
    }

    mutating func add(_ name: String, type: String, help: String, _ samples: [([String: String], Double)]) {
      guard !samples.isEmpty else { return }
      begin(name, type, help)
      for (labels, value) in samples {
        line(name, labels.sorted { $0.key < $1.key }, Int(exactly: value).map(String.init) ?? String(value))
      }
    }

    /// Buckets count all times up to their bound, so each holds those before it.
    mutating func addHistograms(_ name: String, _ help: String, _ samples: [(kind: String, TimeHistogram)]) {
      guard !samples.isEmpty else { return }
      begin(name, "histogram", help)
      for (kind, histogram) in samples {
        var count = 0
        for (bound, number) in zip(TimeHistogram.bounds.map { "\($0)" } + ["+Inf"], histogram.counts) {
          count += number
          line("\(name)_bucket", [("kind", kind), ("le", bound)], "\(count)")
        }
        line("\(name)_sum", [("kind", kind)], "\(histogram.sum)")
        line("\(name)_count", [("kind", kind)], "\(count)")
      }
    }

    private mutating func begin(_ name: String, _ type: String, _ help: String) {
      lines += "# HELP workerpool_\(name) \(help)\n# TYPE workerpool_\(name) \(type)\n"
    }

    private mutating func line(_ name: String, _ labels: [(key: String, value: String)], _ value: String) {
      let text = labels.map { "\($0.key)=\"\(Self.escaped($0.value))\"" }
      lines += "workerpool_\(name)\(text.isEmpty ? "" : "{\(text.joined(separator: ","))}") \(value)\n"
    }

    /// Backslash, quotation mark and newline are escaped in a label's value.
    private static func escaped(_ text: String) -> String {
      // Scalars, since a carriage return and a newline are one character.
      text.unicodeScalars.reduce(into: "") { result, scalar in
        switch scalar {
        case "\\": result += "\\\\"
        case "\"": result += "\\\""
        case "\n": result += "\\n"
        default: result.unicodeScalars.append(scalar)
        }
      }
    }
  }
}
