import Synchronization

/// A point on a job's way at which a test may kill the process. It does nothing in production.
///
/// Tests number the points that a run passes, and kill the worker at each in turn.
package enum FaultPoint: String, Sendable, CaseIterable {
  case connected
  case begun
  case rowRead
  case pluginReturned
  case committed
  case answered
  case failureNoted

  /// For tests: the handler is called at each point that is passed, on the thread that passes it.
  package static func setHandler(_ handler: @escaping @Sendable (FaultPoint) -> Void) {
    self.handler.withLock { $0 = handler }
    isWatched.store(true, ordering: .releasing)
  }

  private static let isWatched = Atomic<Bool>(false)
  private static let handler = Mutex<(@Sendable (FaultPoint) -> Void)?>(nil)

  func pass() {
    guard Self.isWatched.load(ordering: .acquiring) else { return }
    Self.handler.withLock { $0 }?(self)
  }
}
