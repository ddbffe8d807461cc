import Foundation
import Testing

/// No matter which process is killed, and at which moment of a job: the job takes effect exactly once, and nothing is
/// left behind.
@Suite(.serialized) struct KillMatrixTests {
  enum Victim: String, CaseIterable, Sendable {
    case worker, supervisor, both
  }

  /// The moments of a job, as the worker's fault points.
  enum Moment: String, CaseIterable, Sendable {
    case beforeItsStart = "connected"
    case inTheJob = "pluginReturned"
    case betweenSaveAndDone = "committed"
    case afterDone
  }

  /// For a supervisor that is killed in the middle of a job:
  ///
  ///     worker                          supervisor           test
  ///     begins the job, stops           …
  ///                                     dies                 kill -9
  ///                                                          lets the worker go
  ///     finishes it, saves, exits
  ///                                     a new one starts
  @Test(.timeLimit(.minutes(20)), arguments: Victim.allCases, Moment.allCases)
  func everyJobTakesEffectOnce(victim: Victim, moment: Moment) throws {
    let items = try ItemPool(items: 3)
    let stop = try StopPoint(items.place)
    try items.submit("add-slowly")
    let stops = moment != .afterDone
    var pool = try items.start(
      environment: stops ? ["TEST_WORKER_STOP": moment.rawValue, "TEST_WORKER_FAULT_MARK": stop.path] : [:])
    let worker: WatchedProcess
    if stops {
      worker = try stop.waitForArrival()
      if moment == .beforeItsStart { try pool.wait { $0.workers.contains { $0.holding > 0 } } }
    } else {
      try pool.waitForJobs(3)
      worker = try WatchedProcess(try #require(try pool.status().workers.first?.pid))
    }
    if victim != .supervisor { worker.kill9() }
    if victim != .worker { try pool.kill9() }
    stop.release()
    worker.waitForEnd()
    if victim != .worker { pool = try items.start() }
    try pool.waitForJobs(3)
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
    if victim == .supervisor {
      #expect(try items.rows() == "3|1|0", "a worker that goes on alone costs no attempt")
    }
  }

  /// The next pool has to know the effects of an orphan's job on others: one waits for it, one may not run beside it,
  /// one shows as running.
  @Test(.timeLimit(.minutes(20)))
  func whatAnOrphanFinishesCountsInTheNextPool() throws {
    let items = try ItemPool(items: 3)
    let stop = try StopPoint(items.place)
    let parameters = #""parameters": {"how": "wait", "stop": "\#(stop.path)"}, "limitKey": "disk""#
    let first = try items.start(workers: 2)
    try items.drop(
      [
        #"{"kind": "misbehave", "label": "one", "objects": ["\#(items.items[0])"], \#(parameters)}"#,
        #"{"kind": "add", "after": ["one"], "objects": ["\#(items.items[1])"]}"#,
        #"{"kind": "misbehave", "objects": ["\#(items.items[2])"], \#(parameters)}"#, #"{"kind": "nothing"}"#,
      ], as: "jobs.json")
    let orphan = try stop.waitForArrival()
    // It is noted who runs the job a moment after it began.
    try first.waitForJobs(1)
    try waitUntil("the job shows as running") {
      try first.command("jobs", "--state", "running").output.contains("p1 ")
    }
    try first.kill9()
    let second = try items.start(workers: 2)
    #expect(try second.command("jobs", "show", "p1").output.contains("in process \(orphan.pid)"))
    #expect(try second.command("jobs", "show", "p2").output.contains("p1 among them"))
    // All that may run has run: the job of the same key has not been handed out.
    try items.drop([#"{"kind": "nothing"}"#], as: "more.json")
    try second.waitForJobs(2)
    try second.wait { $0.workers.allSatisfy { $0.holding == 0 } }
    stop.release()
    orphan.waitForEnd()
    let other = try stop.waitForArrival()
    #expect(other.pid != orphan.pid)
    stop.release()
    try second.waitForJobs(5)
    try second.stop()
    try items.checkNothingIsLeft(of: second)
  }

  @Test(.timeLimit(.minutes(20)))
  func anOrphanWhoseJobNeverEndsEndsItself() throws {
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    try items.submit("misbehave", "--set", "how=wait and ignore", "--set", "stop=\(stop.path)")
    let first = try items.start(options: ["--orphan-deadline", "0"])
    let worker = try stop.waitForArrival()
    // A pool that dies before it has read BEGIN leaves a job that has not begun, as far as the next one can know.
    try first.waitForRunningWorker()
    try first.kill9()
    worker.waitForEnd()
    let second = try items.start(environment: [:])
    // The next pool counts the orphan's death as a crash, after which the job does not misbehave.
    try second.waitForJobs(1)
    try second.stop()
    try items.checkNothingIsLeft(of: second)
    #expect(try items.rows() == "3|1|1")
  }

  @Test(.timeLimit(.minutes(20)), arguments: ["wait with a child", "wait with a child elsewhere"])
  func whatADeadWorkerOfADeadPoolHasStartedIsEndedByTheNextPool(how: String) throws {
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    try items.submit("misbehave", "--set", "how=\(how)", "--set", "stop=\(stop.path)")
    let first = try items.start()
    let worker = try stop.waitForArrival()
    let child = try stop.waitForArrival()
    try first.waitForRunningWorker()
    first.signal(SIGSTOP)
    worker.kill9()
    try first.kill9()
    let second = try items.start()
    child.waitForEnd()
    try second.waitForJobs(1)
    try second.stop()
    try items.checkNothingIsLeft(of: second)
    #expect(try items.rows() == "3|1|1")
  }
}
