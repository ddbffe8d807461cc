import Foundation
import Glibc
import Jobs
import Testing

@testable import WorkerPool

@Suite struct WALCheckpointOrderTests {
  private let pool: PoolParts
  private let checkpoints: WALCheckpoints

  init() throws {
    pool = try PoolParts()
    checkpoints = WALCheckpoints(pool.core)
  }

  /// Turns the loop for longer than a checkpoint would wait.
  private func pass() {
    let end = Date(timeIntervalSinceNow: 3 * WALCheckpoints.writingInterval)
    while Date() < end { pool.core.loop.turn(milliseconds: 20) }
  }

  /// On a slow disk one checkpoint takes long.
  @Test func writesDuringACheckpointAreOneMoreCheckpoint() {
    checkpoints.walWasWritten()
    #expect(pool.turn { pool.source.checkpoints.all == [.whileWriting] })
    checkpoints.walWasWritten()
    pass()
    checkpoints.walWasWritten()
    pass()
    #expect(pool.source.checkpoints.all == [.whileWriting], "one at a time")
    checkpoints.checkpointed(.quiet)
    #expect(pool.turn { pool.source.checkpoints.all == [.whileWriting, .whileWriting] })
  }

  /// Commits that the pool is not told of in time do not make the log long.
  @Test func aLogThatIsBeingWrittenIsCheckedAgainAtOnce() {
    checkpoints.walWasWritten()
    for count in 1...3 {
      #expect(pool.turn { pool.source.checkpoints.all == Array(repeating: .whileWriting, count: count) })
      checkpoints.checkpointed(.written)
    }
    #expect(pool.turn { pool.source.checkpoints.all.count == 4 })
    checkpoints.checkpointed(.quiet)
    #expect(pool.turn { pool.source.checkpoints.all.last == .inPause }, "and once more in the pause")
    #expect(pool.source.checkpoints.all.count == 5)
  }

  @Test func aPoolThatFinishesBeginsNoCheckpoint() {
    checkpoints.walWasWritten()
    #expect(pool.turn { pool.source.checkpoints.all == [.whileWriting] })
    pool.core.phase = .finishing
    checkpoints.walWasWritten()
    checkpoints.checkpointed(.held)
    pass()
    #expect(pool.source.checkpoints.all == [.whileWriting])
  }
}

@Suite struct StoreFileWatchTests {
  @Test func aPoolWhoseStoreIsReplacedEndsOnceAndSaysWhy() throws {
    let pool = try PoolParts()
    let store = pool.core.configuration.store
    for suffix in ["", "-wal", "-shm"] { try Data().write(to: URL(fileURLWithPath: store + suffix)) }
    let watch = StoreFileWatch(pool.core)
    watch.start(StoreFiles(path: store))
    #expect(watch.failure == nil && pool.stops.isEmpty)
    try FileManager.default.moveItem(atPath: store, toPath: store + ".old")
    #expect(pool.turn { watch.failure != nil }, "the kernel tells")
    #expect(pool.core.ending == .storeParted && pool.stops == [0])
    watch.check()
    #expect(pool.stops == [0])
    #expect(pool.log.all.map(\.event) == [.storeParted])
    #expect(watch.failure?.contains("was deleted or renamed while the pool had it open") == true)
  }
}

/// What an idle pool does less often.
@Suite struct IdleUpkeepTests {
  /// Given a store into which nobody writes, then old jobs are looked for now and then only; after a write at once.
  @Test func oldJobsAreLookedForAfterWrites() throws {
    let pool = try PoolParts()
    let upkeep = StoreUpkeep(pool.core, ReadyJobs(pool.core))
    upkeep.prune()
    upkeep.prune()
    #expect(pool.source.prunings.all.count == 2, "without a log nothing is known")
    let log = pool.core.configuration.store + "-wal"
    /// Sets the time of the log to that many seconds ago.
    func write(_ seconds: Int) throws {
      try Data("frames".utf8).write(to: URL(fileURLWithPath: log))
      var time = timespec()
      clock_gettime(CLOCK_REALTIME, &time)
      time.tv_sec -= seconds
      utimensat(AT_FDCWD, log, [time, time], 0)
    }
    try write(60)
    for _ in 0..<3 { upkeep.prune() }
    #expect(pool.source.prunings.all.count == 3)
    try write(30)
    for _ in 0..<3 { upkeep.prune() }
    #expect(pool.source.prunings.all.count == 4)
  }

  private static func gauges(_ memory: Double) -> HistoryGauges {
    var gauges = HistoryGauges()
    (gauges.memory, gauges.processors) = (memory, 0.5)
    return gauges
  }

  /// An idle minute has the gauges of the note before it, without the work that was done then.
  private static func idle(_ memory: Double) -> HistoryGauges {
    var gauges = gauges(memory)
    gauges.processors = 0
    return gauges
  }

  @Test func idleMinutesAreNotedTogether() {
    var minutes = DeferredMinutes()
    minutes.begin(PoolActivity())
    var deferred = (1...DeferredMinutes.mostTogether).map { _ in minutes.defersEnd(of: PoolActivity()) }
    #expect(deferred == [true, true, true, true, false])
    var noted = minutes.take(Self.gauges(1))
    #expect(noted == Array(repeating: Self.idle(1), count: 4) + [Self.gauges(1)])
    // A job comes in the second minute after that, and ends in the third.
    var activity = PoolActivity(newestJob: 1)
    deferred = [PoolActivity(), activity].map { minutes.defersEnd(of: $0) }
    #expect(deferred == [true, false])
    noted = minutes.take(Self.gauges(2))
    #expect(noted == [Self.idle(1), Self.gauges(2)])
    activity.counters.done = 1
    deferred = [activity, activity].map { minutes.defersEnd(of: $0) }
    #expect(deferred == [false, true])
  }

  @Test func aMinuteWithAJobInHandIsNotedAtOnce() {
    var minutes = DeferredMinutes()
    minutes.begin(nil)
    let deferred = [PoolActivity(), nil, PoolActivity(), PoolActivity()].map { minutes.defersEnd(of: $0) }
    #expect(deferred == [false, false, false, true])
  }
}
