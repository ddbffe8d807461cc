import Foundation
import Testing

/// The end of a pool, asked for in every way, with a job in flight: it never costs the job an attempt.
@Suite(.serialized) struct SignalTests {
  private func poolWithAJobInFlight(
    _ items: ItemPool, _ stop: StopPoint, how: String = "wait", _ options: String...
  ) throws -> (RunningPool, WatchedProcess) {
    try items.submit("misbehave", "--set", "how=\(how)", "--set", "stop=\(stop.path)")
    let pool = try items.start(options: options)
    return (pool, try stop.waitForArrival())
  }

  /// Runs the job that was interrupted, which waits for the test again.
  private func finish(_ items: ItemPool, _ stop: StopPoint) throws {
    #expect(try items.rows() == "0|0|0", "the job is as it was")
    let pool = try items.start()
    _ = try stop.waitForArrival()
    stop.release()
    try pool.waitForJobs(1)
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
  }

  @Test(.timeLimit(.minutes(20)))
  func termLetsTheJobFinish() throws {
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    let (pool, worker) = try poolWithAJobInFlight(items, stop)
    pool.signal(SIGTERM)
    try pool.wait { $0.phase == "stopping" }
    stop.release()
    #expect(pool.waitForExit() == 0)
    worker.waitForEnd()
    #expect(try items.rows() == "3|1|0")
    try items.checkNothingIsLeft(of: pool)
  }

  @Test(.timeLimit(.minutes(20)), arguments: ["wait", "wait and ignore"])
  func termFiveTimesEndsItAtOnce(how: String) throws {
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    let (pool, worker) = try poolWithAJobInFlight(items, stop, how: how)
    // Standard signals do not queue: the second is sent when the first has been seen.
    pool.signal(SIGTERM)
    try pool.wait { $0.phase == "stopping" }
    for _ in 1...4 { pool.signal(SIGTERM) }
    #expect(pool.waitForExit() == 0)
    worker.waitForEnd()
    #expect(try pool.leftovers().isEmpty)
    #expect(try items.rows() == "0|0|0")
    if how == "wait" { return try finish(items, stop) }
    // Nothing but its death ends the job in the next pool, either; the attempt after that is a good one.
    let next = try items.start()
    try stop.waitForArrival().kill9()
    try next.waitForJobs(1)
    try next.stop()
    try items.checkNothingIsLeft(of: next)
  }

  @Test(.timeLimit(.minutes(20)))
  func intTwiceDoesNotWaitForTheJob() throws {
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    let (pool, worker) = try poolWithAJobInFlight(items, stop)
    pool.signal(SIGINT)
    try pool.wait { $0.phase == "stopping" }
    pool.signal(SIGINT)
    #expect(pool.waitForExit() == 0)
    worker.waitForEnd()
    try finish(items, stop)
  }

  @Test(.timeLimit(.minutes(20)))
  func quitEndsEverythingAtOnce() throws {
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    let (pool, worker) = try poolWithAJobInFlight(items, stop)
    pool.signal(SIGQUIT)
    #expect(pool.waitForExit() == 0)
    worker.waitForEnd()
    try finish(items, stop)
  }

  @Test(.timeLimit(.minutes(20)))
  func aJobThatOutlastsTheDeadlineIsStopped() throws {
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    let (pool, worker) = try poolWithAJobInFlight(items, stop, "--deadline", "0")
    pool.signal(SIGTERM)
    #expect(pool.waitForExit() == 0)
    worker.waitForEnd()
    try finish(items, stop)
  }

  /// Signals that a pool gives no meaning to: people and programs send them by mistake, or to a whole group.
  @Test(.timeLimit(.minutes(20)))
  func signalsWithoutAMeaningCostNothing() throws {
    let items = try ItemPool()
    let stop = try StopPoint(items.place)
    let (pool, worker) = try poolWithAJobInFlight(items, stop)
    let signals = [
      SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGXFSZ, SIGSTKFLT, SIGWINCH, SIGURG,
      SIGPIPE, SIGCONT, 40,
    ]
    for signal in signals { pool.signal(signal) }
    #expect(try pool.status().phase == "running")
    #expect(pool.isRunning && worker.isAlive)
    stop.release()
    try pool.waitForJobs(1)
    #expect(try items.rows() == "3|1|0")
    try waitUntil("the pool says what it was sent") { pool.lastLines.contains("SIGUSR1") }
    try pool.stop()
  }
}
