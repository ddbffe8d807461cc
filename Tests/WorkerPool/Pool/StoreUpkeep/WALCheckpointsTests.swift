import Testing

@testable import WorkerPool

/// When a pool checkpoints the store's write-ahead log.
@Suite struct WALCheckpointsTests {
  @Test(.timeLimit(.minutes(20))) func theLogIsCheckpointedSoonAfterAWriteAndInThePause() throws {
    let pool = try PoolHarness()
    let checkpoints = pool.source.checkpoints
    #expect(checkpoints.wait { $0 == [.whileWriting, .inPause] }, "the start writes, too")
    pool.source.add([fakeJob("ok", 1)])
    #expect(checkpoints.wait { $0.count { $0 == .whileWriting } >= 2 && $0.last == .inPause })
    try pool.end()
  }

  /// After the end of a long reader nobody may write, and the log still gets short.
  @Test(.timeLimit(.minutes(20))) func aLogThatIsHeldIsCheckpointedUntilItIsNot() throws {
    let pool = try PoolHarness()
    pool.source.isLogHeld.store(true, ordering: .relaxed)
    #expect(pool.source.checkpoints.wait { $0.count { $0 == .inPause } >= 3 })
    try pool.end()
  }

  /// A job may write for hours and say nothing of it.
  @Test(.timeLimit(.minutes(20))) func theLogIsCheckpointedWhileAJobRuns() throws {
    let pool = try PoolHarness(jobs: [fakeJob("hold", 1)])
    #expect(pool.effects.wait { $0.count == 1 })
    #expect(pool.source.checkpoints.wait { $0.count { $0 == .whileWriting } >= 4 })
    try pool.end(deadline: 0)
  }
}
