import Foundation
import Testing

/// Everything that can happen to a coordinator, in any order.
///
/// `WORKERPOOL_COORDINATOR_SEEDS=1000` tries that many orders.
@Suite struct RandomisedCoordinatorTests {
  private static let seeds =
    ProcessInfo.processInfo.environment["WORKERPOOL_COORDINATOR_SEEDS"].flatMap(UInt64.init) ?? 8

  @Test(arguments: 1...Self.seeds, [false, true])
  func everyJobEndsAndIsInOneHandAtATime(seed: UInt64, isShared: Bool) {
    var pool = RandomPool(seed: seed, isShared: isShared)
    for step in 0..<40_000 where !pool.isDone {
      pool.step(isCalm: step > 4000)
      if step % 8 == 0 { pool.checkIndex() }
    }
    pool.checkIndex()
    pool.checkEnd()
  }
}
