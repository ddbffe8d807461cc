internal import Synchronization

/// The turns of a private queue's blocks: one block at a time, in the order of the calls.
///
/// A block announces itself, goes through the queue and takes its turn there. A thread that waits for an idle queue
/// takes a turn without the queue, since there is no block before it.
///
///     thread A: perform                    thread B: performAndWait
///     announce: 1, enqueue
///                                          1 is announced: waits in the queue behind A
///     queue: begin, A's block, end: 0
///                                          its own turn
///
///     (idle)                               0 is announced, the lock is free: runs at once
///     perform: announce, enqueue
///     queue: begin waits for the lock      end
///     A's block
///
/// The lock alone keeps blocks from running at the same time; the count only keeps them in order. So the count may be
/// read without a barrier: a thread that reads an old 0 still has to get the lock.
final class QueueTurns: Sendable {
  /// The blocks that are queued or run.
  private let announced = Atomic(0)
  private let lock = NSLock()

  /// Comes before the block is enqueued, on the thread that calls `perform`.
  func announce() { announced.add(1, ordering: .relaxed) }

  /// On the queue, before the block. It waits for a thread that has taken a turn without the queue.
  func begin() { lock.lock() }

  /// On the queue, after the block.
  func end() {
    lock.unlock()
    announced.subtract(1, ordering: .relaxed)
  }

  /// Runs the body at once if no block is queued or runs; nil otherwise. It never waits.
  func runIfIdle<T>(_ body: () throws -> T) rethrows -> T? {
    guard announced.load(ordering: .relaxed) == 0, lock.try() else { return nil }
    defer { lock.unlock() }
    return try body()
  }
}
