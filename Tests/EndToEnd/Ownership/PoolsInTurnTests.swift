import Foundation
import Glibc
import Testing

/// Pools with two queue directories take turns on one store, and each is killed while it removes job files.
@Suite(.serialized) struct PoolsInTurnTests {
  private static let rounds = 2
  private static let files = 60

  /// For each pool, while files of one job each come into its queue directory:
  ///
  ///     pool                               test
  ///     takes files, runs jobs
  ///                                        sees that the store notes taken files: some of them lie in taken/
  ///     killed with its workers            kill -9
  ///                                        starts a pool on the other queue directory
  @Test(.timeLimit(.minutes(20))) func noJobIsDoubledByPoolsThatTakeTurns() throws {
    let items = try ItemPool(items: 0)
    let trace = items.place.path("trace")
    let queues = ["queue", "other"]
    var jobs = 0
    for round in 0..<2 * Self.rounds {
      let queue = queues[round % 2]
      let pool = try start(items, queue)
      for _ in 0..<Self.files {
        try drop(job: jobs, into: queue, of: items, trace: trace)
        jobs += 1
      }
      try waitUntil("files are noted and not removed yet") {
        try !items.files("\(queue)/taken").isEmpty && sqlite(items.store, "SELECT count(*) FROM WPPOOLFILE") != "0"
      }
      for process in try [pool.pid] + pool.leftovers() { Glibc.kill(process, SIGKILL) }
      _ = pool.waitForExit()
    }
    for queue in queues {
      let pool = try start(items, queue)
      try waitUntil("all files are taken") {
        try items.files("\(queue)/incoming").isEmpty && items.files("\(queue)/taken").isEmpty
      }
      try pool.wait { ($0.jobs?["available"] ?? 0) == 0 && ($0.jobs?["retryable"] ?? 0) == 0 }
      try pool.stop()
    }
    let numbers = try sqlite(items.store, "SELECT ZVALUE FROM ZITEM").split(separator: "\n").compactMap { Int($0) }
    #expect(numbers.sorted() == Array(0..<jobs), "\(numbers.count) effects of \(jobs) jobs")
    #expect(try sqlite(items.store, "SELECT count(*) FROM WPPOOLJOB") == "\(jobs)")
    #expect(try sqlite(items.store, "SELECT count(*) FROM WPPOOLFILE") == "0")
    let lines = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
    #expect(Set(lines).count == jobs)
  }

  private func start(_ items: ItemPool, _ queue: String) throws -> RunningPool {
    try RunningPool(
      items.place, store: items.store, model: items.model, plugins: items.plugins, workers: 2,
      environment: ["TEST_WORKER_COUNTS": "1"], queue: queue)
  }

  private func drop(job number: Int, into queue: String, of items: ItemPool, trace: String) throws {
    let temporary = items.place.path("\(queue)/incoming/.job")
    let text = #"{"kind": "counted", "parameters": {"number": \#(number), "file": "\#(trace)"}}"#
    try Data(text.utf8).write(to: URL(fileURLWithPath: temporary))
    try #require(rename(temporary, items.place.path("\(queue)/incoming/\(number).json")) == 0)
  }
}
