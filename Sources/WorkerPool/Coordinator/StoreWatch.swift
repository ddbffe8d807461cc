import Dispatch
import Synchronization

/// Notices work on the store that takes very long, most often because another process has it locked.
///
/// While there is work it wakes up once in a few seconds; otherwise never.
final class StoreWatch: Sendable {
  /// Seconds that work may take before somebody is told.
  static let patience = 3.0

  private struct State {
    /// When the work under way should be done, in seconds of the monotonic clock; taken out when it has been told of.
    var deadlines: [Int: Double] = [:]
    var lastNumber = 0
    var isArmed = false
    var tell: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  /// Has `tell` called once for each work that takes too long, on any thread.
  func tell(_ tell: @escaping @Sendable () -> Void) { state.withLock { $0.tell = tell } }

  /// Runs the work, on the thread of the caller.
  ///
  /// - Parameter size: seconds that it may take besides, there being much to do.
  func during<T>(size: Double = 0, _ work: () throws -> T) rethrows -> T {
    let (number, mustArm) = state.withLock { state in
      state.lastNumber += 1
      state.deadlines[state.lastNumber] = Clock.now + Self.patience + size
      defer { state.isArmed = true }
      return (state.lastNumber, !state.isArmed)
    }
    if mustArm { arm() }
    defer { state.withLock { $0.deadlines[number] = nil } }
    return try work()
  }

  private func arm() {
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { [weak self] in self?.look() }
  }

  private func look() {
    let (late, mustArm, tell) = state.withLock { state in
      let late = state.deadlines.filter { $0.value <= Clock.now }.keys
      for number in late { state.deadlines[number] = nil }
      state.isArmed = !state.deadlines.isEmpty
      return (late.count, state.isArmed, state.tell)
    }
    for _ in 0..<late { tell?() }
    if mustArm { arm() }
  }
}
