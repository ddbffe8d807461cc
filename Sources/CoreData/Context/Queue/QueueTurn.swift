internal import Synchronization

/// The turns of a private queue's blocks. A block announces itself before it is queued, and takes its turn when the
/// queue runs it.
///
/// A thread of a child that reads through an idle parent takes a turn itself, without the queue: handing the work over
/// to another thread would take longer than the reading.
final class QueueTurn: Sendable {
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
