import Foundation
import Jobs
import TestFiles
import Testing
import WorkerPool

/// Workers that leave the rows of their jobs to the pool: effects happen at least once, and each attempt ends once.
/// `Tests/Support/PythonWorker/worker-told` was written from PROTOCOL.md, and has no SQL.
@Suite(.serialized, .enabled(if: Python.isThere, "python3 is not there")) struct ToldWorkerTests {
  private static let worker = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Support/PythonWorker/worker-told").path

  private func place() throws -> ItemPool {
    let items = try ItemPool()
    try FileManager.default.createSymbolicLink(
      atPath: items.plugins + "/worker-told", withDestinationPath: Self.worker)
    return items
  }

  private func submit(_ pool: RunningPool, _ items: ItemPool, mode: String, say: String = "hello") throws {
    try pool.submit(
      "told", "--set", "lines=\(items.place.path("lines"))", "--set", "mode=\(mode)", "--set", "say=\(say)")
  }

  /// How often the effects have happened.
  private func effects(_ items: ItemPool) throws -> Int {
    try String(contentsOfFile: items.place.path("lines"), encoding: .utf8).split(separator: "\n").count
  }

  private func job(_ pool: RunningPool) throws -> JSONValue {
    try JSONParser.parse(try #require(try pool.command("jobs", "--json", "--limit", "0").lines.first))
  }

  @Test(.timeLimit(.minutes(20))) func aSettledJobHasItsOutputAndLeavesNoFile() throws {
    let items = try place()
    let recording = items.place.path("recording")
    let pool = try items.start(record: recording)
    try submit(pool, items, mode: "none", say: "a ü \n text")
    try pool.waitForJobs(1)
    let job = try job(pool)
    #expect(job["output"]?.stringValue == "a ü \n text" && job["attempts"]?.intValue == 1)
    #expect(job["startedAt"]?.stringValue != nil && job["finishedAt"]?.stringValue != nil)
    #expect(try effects(items) == 1)
    #expect(try items.files("queue/run/jobs").isEmpty)
    try pool.stop()
    let said = try String(contentsOfFile: recording, encoding: .utf8)
    #expect(said.contains("SETTLE succeeded") && !said.contains("text") && !said.contains("lines"), "\(said)")
  }

  // Worker              | Pool
  // effect              |
  // dies                |
  //                     | counts a crash, runs the job again
  @Test(.timeLimit(.minutes(20))) func aWorkerKilledBetweenEffectAndAnswerRunsTheJobAgain() throws {
    let items = try place()
    let pool = try items.start()
    try submit(pool, items, mode: "die")
    try pool.waitForJobs(1)
    #expect(try effects(items) == 2)
    #expect(try items.rows() == "3|1|1")
    #expect(try items.files("queue/run/jobs").isEmpty)
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)), arguments: ["kill-pool", "kill-after"])
  func aPoolKilledAroundTheAnswerLosesNoJob(mode: String) throws {
    let items = try place()
    let first = try items.start()
    try submit(first, items, mode: mode)
    #expect(first.waitForExit() == SIGKILL)
    let second = try items.start()
    try second.waitForJobs(1)
    // Directly after the answer the row may be written already, or not.
    let effects = try effects(items)
    #expect(mode == "kill-pool" ? effects == 2 : [1, 2].contains(effects))
    #expect(try sqlite(items.store, "SELECT ZSTATE, ZATTEMPT FROM WPPOOLJOB") == "3|1")
    try second.stop()
    #expect(try items.files("queue/run/jobs").isEmpty)
  }

  @Test(.timeLimit(.minutes(20))) func aSecondAnswerChangesNothing() throws {
    let items = try place()
    let pool = try items.start()
    for _ in 0..<5 { try submit(pool, items, mode: "twice") }
    try pool.waitForJobs(5)
    #expect(try items.rows() == "3|1|0")
    #expect(try effects(items) == 5)
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func aLateAnswerDoesNotSettleALaterAttempt() throws {
    let items = try place()
    let pool = try items.start()
    try submit(pool, items, mode: "late")
    try pool.wait { $0.jobs?["dead"] == 1 }
    let errors = try job(pool)["errors"]?.arrayValue ?? []
    #expect(errors.map { $0["type"]?.stringValue } == ["ValueError", "ValueError"])
    #expect(errors.map { $0["attempt"]?.intValue } == [1, 2])
    #expect((errors.first?["pid"]?.intValue ?? 0) > 0)
    #expect(try effects(items) == 2)
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func nobodySettlesAJobThatIsNotItsOwn() throws {
    let items = try place()
    let pool = try items.start(workers: 2)
    for _ in 0..<6 { try submit(pool, items, mode: "foreign") }
    try pool.waitForJobs(6)
    #expect(try effects(items) == 6)
    #expect(try items.rows() == "3|1|0")
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func aFailureMayBePermanentAndABadOutcomeFileCostsOnlyItsText() throws {
    let items = try place()
    let pool = try items.start()
    try submit(pool, items, mode: "permanent")
    try pool.wait { $0.jobs?["dead"] == 1 }
    #expect(try items.rows() == "4|1|0")
    try submit(pool, items, mode: "bad-file")
    try pool.wait { $0.jobs?["succeeded"] == 1 }
    #expect(pool.lastLines.contains("outcome file"))
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func aPluginThatHasNotAskedForItIsRefused() throws {
    let items = try place()
    let script = try String(contentsOfFile: Self.worker, encoding: .utf8)
      .replacingOccurrences(of: "\"settledByPool\": True", with: "\"heartbeat\": False")
      // It has no sheet, and makes up an answer.
      .replacingOccurrences(
        of: "        say(\"BEGIN \" + uri)\n",
        with: "        say(\"BEGIN \" + uri)\n        say(f\"SETTLE succeeded {uri} 1\")\n        continue\n")
    try FileManager.default.removeItem(atPath: items.plugins + "/worker-told")
    try items.place.write(script, to: "plugins/worker-told", mode: 0o755)
    let pool = try items.start()
    try submit(pool, items, mode: "none")
    try pool.wait { $0.jobs?["dead"] == 1 }
    let message = try job(pool)["errors"]?.arrayValue?.first?["message"]?.stringValue ?? ""
    #expect(message.contains("settledByPool"), "\(message)")
    try pool.stop()
  }

  // MARK: At a server

  @Test(.timeLimit(.minutes(20)), .enabled(if: PostgreSQLServer.isInstalled))
  func poolsAtAServerSettleTheirOwnJobsAndTakeOverThoseOfADeadHost() throws {
    let hosts = try HostPools()
    try FileManager.default.createSymbolicLink(
      atPath: hosts.plugins + "/worker-told", withDestinationPath: Self.worker)
    let pools = try ["a", "b"].map { try hosts.start($0, workers: 2) }
    func lines(_ name: String) throws -> Int {
      let path = hosts.place.path(name)
      guard FileManager.default.fileExists(atPath: path) else { return 0 }
      return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").count
    }
    func job(_ mode: String, _ name: String) -> String {
      #"{"kind": "told", "parameters": {"lines": "\#(hosts.place.path(name))", "mode": "\#(mode)"}}"#
    }
    try hosts.drop((0..<40).map { _ in job("twice", "many") }, as: "many.json", on: "a")
    try waitUntil("all jobs have succeeded") { try hosts.succeeded() == 40 }
    #expect(try lines("many") == 40)
    #expect(try hosts.psql("SELECT DISTINCT attempt, crashes FROM \(hosts.table("PoolJob"))") == "1|0")

    // Worker of one host   | Its pool   | Pool of the other host
    // effect               |            |
    // kills its pool       | dies       |
    //                      |            | takes the job over, and runs it again
    try hosts.drop([job("kill-pool", "killed")], as: "killed.json", on: "b")
    try waitUntil("the job has succeeded on the other host") { try hosts.succeeded() == 41 }
    #expect(try lines("killed") == 2)
    let rest = pools.filter(\.isRunning)
    #expect(rest.count == 1)
    for pool in rest { try pool.stop() }
  }
}
