import Foundation
import Glibc
import Testing

/// What began before a pool ended counts in the next one, no matter how it ended, and what has become of the jobs.
@Suite(.serialized) struct RateRestartTests {
  /// How a pool ends while a job runs.
  enum Ending: String, CaseIterable {
    case quit = "SIGQUIT"
    case worker = "its worker is killed, then SIGTERM"
    case everything = "pool and worker are killed"
    case pool = "the pool is killed, and the worker finishes its job"
  }

  private func start(_ items: ItemPool, _ queue: String = "queue", record: String, _ options: String...) throws
    -> RunningPool
  {
    try RunningPool(
      items.place, store: items.store, model: items.model, plugins: items.plugins, workers: 2,
      record: items.place.path(record), options: options, queue: queue)
  }

  /// How often jobs with these keys were sent to workers, by the conversations of a pool.
  private func runs(_ items: ItemPool, _ record: String, of keys: Set<Int>) throws -> Int {
    let text = try String(contentsOfFile: items.place.path(record), encoding: .utf8)
    return text.split(separator: "\n").filter { $0.hasPrefix("> RUN ") }.reduce(0) { count, line in
      count
        + line.split(separator: " ").count {
          $0.split(separator: "/p").last.flatMap { Int($0) }.map(keys.contains) ?? false
        }
    }
  }

  /// Runs a job of another kind, which came after all others: what may begin was sent to a worker before it.
  private func runAnother(_ items: ItemPool, _ pool: RunningPool) throws {
    let before = try pool.status().jobs?["succeeded"] ?? 0
    try pool.submit("add", items.items[1])
    try pool.wait { ($0.jobs?["succeeded"] ?? 0) == before + 1 }
  }

  /// One of two jobs begins in an hour. Pools on two queue directories follow, and the last but one ends by SIGQUIT,
  /// too.
  @Test(.timeLimit(.minutes(20)), arguments: Ending.allCases)
  func aBeginningCountsHoweverItsPoolEnds(ending: Ending) throws {
    let items = try ItemPool(items: 2)
    let stop = try StopPoint(items.place)
    let rate = ["--rate", "misbehave=1/3600"]
    var pool = try start(items, record: "first", rate[0], rate[1])
    let parameters = #""parameters": {"how": "wait", "stop": "\#(stop.path)"}"#
    let line = #"{"kind": "misbehave", "objects": ["\#(items.items[0])"], \#(parameters)}"#
    try items.drop([line, line], as: "jobs.json")
    let worker = try stop.waitForArrival()
    switch ending {
    case .quit: pool.signal(SIGQUIT)
    case .worker:
      worker.kill9()
      try pool.wait { $0.jobs?["retryable"] == 1 }
      pool.signal(SIGTERM)
    case .everything:
      for process in try [pool.pid] + pool.leftovers() { Glibc.kill(process, SIGKILL) }
    case .pool:
      pool.signal(SIGKILL)
      _ = pool.waitForExit()
      stop.release()
      worker.waitForEnd()
    }
    _ = pool.waitForExit()
    #expect(try runs(items, "first", of: [1, 2]) == 1)
    for queue in ["other", "queue"] {
      pool = try start(items, queue, record: "\(queue).txt", rate[0], rate[1])
      try runAnother(items, pool)
      #expect(try runs(items, "\(queue).txt", of: [1, 2]) == 0)
      pool.signal(SIGQUIT)
      #expect(pool.waitForExit() == 0)
    }
  }

  /// Two jobs begin in an hour; their rows are gone when the next pool starts.
  @Test(.timeLimit(.minutes(20)), arguments: ["delete", "--keep-count"])
  func aBeginningCountsWhenItsJobIsDeleted(by means: String) throws {
    let items = try ItemPool(items: 2)
    let rate = ["--rate", "nothing=2/3600"]
    var pool = try start(items, record: "first", rate[0], rate[1])
    try items.drop(Array(repeating: #"{"kind": "nothing"}"#, count: 2), as: "jobs.json")
    try pool.waitForJobs(2)
    if means == "delete" {
      #expect(try pool.command("delete", "p1", "p2").code == 0)
    } else {
      try pool.stop()
      pool = try start(items, record: "second", rate[0], rate[1], "--keep-count", "0")
    }
    try pool.wait { ($0.jobs?["succeeded"] ?? 0) == 0 }
    try items.drop([#"{"kind": "nothing"}"#], as: "more.json")
    try pool.wait { $0.jobs?["available"] == 1 }
    try pool.stop()
    pool = try start(items, record: "last", rate[0], rate[1])
    try runAnother(items, pool)
    #expect(try runs(items, "last", of: [3]) == 0)
    try pool.stop()
  }

  /// A job begins, fails, is retried and begins again: the row names the last beginning alone.
  @Test(.timeLimit(.minutes(20))) func eachAttemptOfAJobCounts() throws {
    let items = try ItemPool(items: 2)
    let rate = ["--rate", "fail-for-good=2/3600"]
    var pool = try start(items, record: "first", rate[0], rate[1])
    try items.drop([#"{"kind": "fail-for-good"}"#], as: "jobs.json")
    try pool.wait { $0.jobs?["dead"] == 1 }
    #expect(try pool.command("retry", "p1").code == 0)
    try pool.wait { $0.counters.failed == 2 && $0.jobs?["dead"] == 1 }
    try pool.stop()
    pool = try start(items, record: "second", rate[0], rate[1])
    try items.drop([#"{"kind": "fail-for-good"}"#], as: "more.json")
    try pool.wait { $0.jobs?["available"] == 1 }
    try runAnother(items, pool)
    #expect(try runs(items, "second", of: [1, 2]) == 0)
    try pool.stop()
  }

  /// What a pool has not used when it stops, the next one has: places are not lost by stopping.
  @Test(.timeLimit(.minutes(20))) func aPoolThatStopsLeavesTheRestOfARate() throws {
    let items = try ItemPool(items: 2)
    let rate = ["--rate", "nothing=4/3600"]
    for round in 1...2 {
      let pool = try start(items, record: "\(round)", rate[0], rate[1])
      try items.drop(Array(repeating: #"{"kind": "nothing"}"#, count: 2), as: "jobs-\(round).json")
      try pool.waitForJobs(2 * round)
      try pool.stop()
    }
    let pool = try start(items, record: "3", rate[0], rate[1])
    try items.drop([#"{"kind": "nothing"}"#], as: "more.json")
    try pool.wait { $0.jobs?["available"] == 1 }
    try runAnother(items, pool)
    let shown = try pool.command("jobs", "show", "p5")
    #expect(shown.output.contains("because the rate of the kind nothing is"), "\(shown.output)")
    try pool.stop()
  }
}
