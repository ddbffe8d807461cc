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
