import Foundation
import Testing

@testable import WorkerPool

/// What a pool that was killed has left behind is known to the next one, whatever died and whenever.
@Suite(.serialized) struct SuccessionTests {
  /// For a pool that is killed the very moment a job begins:
  ///
  ///     pool                  worker                     test
  ///     hands out the job
  ///                           begins, says so, stops
  ///     dies                                             kill -9
  ///     the next one starts
  ///                                                      sees that no process begins the job
  ///                           finishes, exits            lets it go
  @Test(.timeLimit(.minutes(20)))
  func aJobNeverBeginsBesideItsOrphan() throws {
    let rounds = 20
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    var pool = try items.start(workers: 2)
    for round in 1...rounds {
      try items.drop(
        [
          #"{"kind": "misbehave", "objects": ["\#(items.items[0])"], "parameters": "#
            + #"{"how": "wait", "stop": "\#(stop.path)"}}"#
        ], as: "job\(round).json")
      let orphan = try stop.waitForArrival()
      pool.signal(SIGKILL)
      _ = pool.waitForExit()
      pool = try items.start(workers: 2)
      #expect(try pool.status().survivors?.map(\.pid) == [orphan.pid])
      // All that may begin does.
      try items.drop([#"{"kind": "nothing"}"#], as: "other\(round).json")
      try pool.waitForJobs(2 * round - 1)
      #expect(!stop.hasArrival, "the job runs in two processes")
      stop.release()
      orphan.waitForEnd()
      try pool.waitForJobs(2 * round)
    }
    #expect(!stop.hasArrival)
    try pool.wait { $0.survivors == [] }
    try pool.stop()
    try items.checkNothingIsLeft(of: pool, value: rounds)
    #expect(try items.rows() == "3|1|0")
  }

  /// Kills a worker and its pool, which does not see the worker's death.
  private func killTogether(_ pool: RunningPool, _ worker: WatchedProcess) throws {
    pool.signal(SIGSTOP)
    worker.kill9()
    worker.waitForEnd()
    try pool.kill9()
  }

  @Test(.timeLimit(.minutes(20)))
  func aJointDeathIsACrashOfItsJobAndCountsOnce() throws {
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    try items.submit("misbehave", "--set", "how=wait", "--set", "stop=\(stop.path)")
    var pool = try items.start()
    let worker = try stop.waitForArrival()
    // A pool that dies before it has read BEGIN leaves a job that has not begun, as far as the next one can know.
    try pool.waitForRunningWorker()
    try killTogether(pool, worker)
    pool = try items.start()
    try waitUntil("the crash is counted") { try sqlite(items.store, "SELECT ZCRASHES FROM WPPOOLJOB") != "0" }
    // Also when the pool that has counted it is killed at once.
    try pool.kill9()
    pool = try items.start()
    try pool.waitForJobs(1)
    #expect(try pool.command("jobs", "--json").output.contains("died together with its pool"))
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
    #expect(try items.rows() == "3|1|1")
  }

  @Test(.timeLimit(.minutes(20)))
  func aJobThatTakesEverythingDownIsSetAside() throws {
    let items = try ItemPool()
    try items.drop(
      [
        #"{"kind": "wait", "parameters": {"until": "\#(items.place.path("never"))"}, "backoff": 0.01, "#
          + #""maxBackoff": 0.01}"#
      ],
      as: "poison.json")
    for _ in 1...3 {
      let pool = try items.start()
      let worker = try WatchedProcess(pool.waitForRunningWorker())
      try killTogether(pool, worker)
    }
    let pool = try items.start()
    try pool.wait { $0.jobs?["dead"] == 1 }
    try pool.stop()
    #expect(try items.rows() == "4|0|3")
  }

  @Test(.timeLimit(.minutes(20)))
  func jobsThatHadBegunTogetherRunAloneNextAndCostNoCrash() throws {
    let items = try ItemPool(items: 50)
    let stop = try StopPoint(items.place)
    // The mark is there, so nothing stops until it is removed.
    try items.place.write("", to: "stop")
    let pool = try items.start(
      environment: ["TEST_WORKER_STOP": "pluginReturned", "TEST_WORKER_FAULT_MARK": stop.path])
    // The worker learns that jobs are short.
    try items.drop(Array(repeating: #"{"kind": "nothing"}"#, count: 500), as: "short.json")
    try pool.waitForJobs(500)
    unlink(stop.path)
    try items.drop(items.items.map { #"{"kind": "add", "objects": ["\#($0)"]}"# }, as: "jobs.json")
    let worker = try stop.waitForArrival()
    pool.signal(SIGSTOP)
    let begun = try LedgerContents(path: try ledgerPath(items)).entries.count { $0.state == .begun }
    try killTogether(pool, worker)
    let next = try items.start()
    try next.waitForJobs(550)
    try next.stop()
    try items.checkNothingIsLeft(of: next)
    let crashes = try sqlite(items.store, "SELECT sum(ZCRASHES) FROM WPPOOLJOB")
    #expect(crashes == (begun == 1 ? "1" : "0"), "\(begun) jobs had begun together")
  }

  @Test(.timeLimit(.minutes(20)))
  func aStopCostsNoCrashHoweverItEnds() throws {
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    try items.submit("misbehave", "--set", "how=wait and ignore", "--set", "stop=\(stop.path)")
    let pool = try items.start()
    let worker = try stop.waitForArrival()
    pool.signal(SIGTERM)
    try pool.wait { $0.phase == "stopping" }
    try killTogether(pool, worker)
    let next = try items.start()
    try stop.waitForArrival().kill9()
    try next.waitForJobs(1)
    try next.stop()
    try items.checkNothingIsLeft(of: next)
    #expect(try items.rows() == "3|1|1", "the second time it was the worker's own")
  }

  @Test(.timeLimit(.minutes(20)))
  func aBootBlamesNoJob() throws {
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    try items.submit("misbehave", "--set", "how=wait", "--set", "stop=\(stop.path)")
    let pool = try items.start()
    try killTogether(pool, try stop.waitForArrival())
    let ledger = try FileHandle(forUpdating: URL(fileURLWithPath: try ledgerPath(items)))
    try ledger.seek(toOffset: UInt64(LedgerLayout.Header.boot.offset))
    try ledger.write(contentsOf: Data(UUID().uuidString.lowercased().utf8))
    try ledger.close()
    let next = try items.start()
    _ = try stop.waitForArrival()
    stop.release()
    try next.waitForJobs(1)
    try next.stop()
    try items.checkNothingIsLeft(of: next)
    #expect(try items.rows() == "3|1|0")
  }

  private func ledgerPath(_ items: ItemPool) throws -> String {
    let run = items.queue + "/run"
    let names = try FileManager.default.contentsOfDirectory(atPath: run).filter { $0.hasPrefix("ledger-") }
    try #require(names.count == 1, "\(names)")
    return run + "/" + names[0]
  }

  /// A pool that cannot read what its predecessor has written waits for each process that may run a job.
  @Test(.timeLimit(.minutes(20)))
  func nothingBeginsBesideAnOrphanOfWhichNothingIsKnown() throws {
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    try items.submit("misbehave", "--set", "how=wait", "--set", "stop=\(stop.path)")
    let pool = try items.start()
    let orphan = try stop.waitForArrival()
    try pool.kill9()
    truncate(try ledgerPath(items), 100)
    let next = try items.start(workers: 2)
    try items.drop([#"{"kind": "nothing"}"#], as: "more.json")
    try waitUntil("both jobs are taken") { try sqlite(items.store, "SELECT count(*) FROM WPPOOLJOB") == "2" }
    try next.wait { status in status.workers.contains { $0.phase == "up" } }
    let text = try next.command("status").output
    #expect(text.contains("may still run a job, and none begins before it has ended"), "\(text)")
    #expect(text.contains("cannot be used: it is damaged"), "\(text)")
    #expect(!stop.hasArrival)
    #expect(try sqlite(items.store, "SELECT count(*) FROM WPPOOLJOB WHERE ZSTATE = 3") == "0")
    stop.release()
    orphan.waitForEnd()
    try next.waitForJobs(2)
    try next.stop()
    try items.checkNothingIsLeft(of: next)
    #expect(try items.rows() == "3|1|0")
  }

  /// The store knows where its last pool ran.
  @Test(.timeLimit(.minutes(20)))
  func aPoolWithAnotherQueueDirectoryWaitsForTheOrphansOfTheFirst() throws {
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    try items.submit("misbehave", "--set", "how=wait", "--set", "stop=\(stop.path)")
    let first = try items.start()
    let orphan = try stop.waitForArrival()
    try first.kill9()
    let second = try RunningPool(
      items.place, store: items.store, model: items.model, plugins: items.plugins, queue: "other")
    #expect(try second.status().survivors?.map(\.pid) == [orphan.pid])
    #expect(!stop.hasArrival)
    stop.release()
    orphan.waitForEnd()
    try second.waitForJobs(1)
    try second.stop()
    #expect(try items.rows() == "3|1|0")
    // What is left in the first queue directory is of no meaning any more.
    let third = try items.start()
    #expect(try third.status().survivors == [])
    try third.stop()
    try items.checkNothingIsLeft(of: third)
  }
}
