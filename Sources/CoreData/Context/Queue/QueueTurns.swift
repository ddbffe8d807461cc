internal import Synchronization

/// The turns of a private queue's blocks: one block at a time, in the order of the calls.
///
/// A block announces itself, goes through the queue and takes its turn there. A thread that waits for an idle queue
/// takes a turn without the queue, since there is no block to be in order with.
final class QueueTurns: Sendable {
  /// The blocks that are queued or run.
  private let announced = Atomic(0)
  private let lock = NSLock()

  func announce() { announced.add(1, ordering: .relaxed) }

  func begin() { lock.lock() }

  func end() {
    lock.unlock()
    announced.subtract(1, ordering: .relaxed)
  }

  /// Runs the body at once if no block is queued or runs; nil otherwise.
  func runIfIdle<T>(_ body: () throws -> T) rethrows -> T? {
    guard announced.load(ordering: .relaxed) == 0, lock.try() else { return nil }
    defer { lock.unlock() }
    return try body()
  }
}
