import LinuxSystem
import Synchronization

/// Times the work on the store, so that the pool can report work that takes very long, most often because another
/// process has the store locked.
///
/// It sets no timer. The pool asks ``takeDelay()`` from a timer of its own while there is work.
final class StoreWatch: Sendable {
  /// Seconds after which work counts as slow and is reported.
  static let timeout = 3.0

  private struct State {
    /// Work that was asked for and is not done.
    var pending = 0
    /// When the work under way should be done, in seconds of the monotonic clock; taken out when it was reported.
    var deadlines: [Int: Double] = [:]
    var lastNumber = 0
  }

  private let state = Mutex(State())

  /// Notes that work is asked for, before it is handed to its queue.
  func expect() { state.withLock { $0.pending += 1 } }

  /// Notes that it is over.
  func finish() { state.withLock { $0.pending -= 1 } }

  /// Whether there is work.
  var isBusy: Bool { state.withLock { $0.pending > 0 } }

  /// Runs a part of the work that may have to wait, on the thread of the caller.
  ///
  /// - Parameter size: seconds that it may take in addition, since there is much to do.
  func during<T>(size: Double = 0, _ work: () throws -> T) rethrows -> T {
    let number = state.withLock { state in
      state.lastNumber += 1
      state.deadlines[state.lastNumber] = Clock.now + Self.timeout + size
      return state.lastNumber
    }
    defer { state.withLock { $0.deadlines[number] = nil } }
    return try work()
  }

  /// Whether some work takes too long and was not reported before. Asking counts as reporting it.
  func takeDelay() -> Bool {
    state.withLock { state in
      let late = state.deadlines.filter { $0.value <= Clock.now }.keys
      for number in late { state.deadlines[number] = nil }
      return !late.isEmpty
    }
  }
}
