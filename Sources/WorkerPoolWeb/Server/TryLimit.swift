import LinuxSystem
import Synchronization

/// Bounds how often wrong tokens may be shown: some at once, and then one a second. While there were more, right ones
/// are refused, too: else guessing would know no bound.
final class TryLimit: Sendable {
  /// Wrong tries at once.
  static let burst = 10.0
  /// Further ones a second.
  private static let rate = 1.0

  private let state: Mutex<(left: Double, at: Double)>
  private let now: @Sendable () -> Double

  init(now: @escaping @Sendable () -> Double = { Clock.now }) {
    self.now = now
    state = Mutex((Self.burst, now()))
  }

  /// Seconds until something may be tried; nil when it may be tried now.
  var wait: Int? {
    let left = left(after: 0)
    return left >= 1 ? nil : Int(((1 - left) / Self.rate).rounded(.up))
  }

  func noteWrong() { _ = left(after: 1) }

  private func left(after tries: Double) -> Double {
    let now = now()
    return state.withLock { state in
      state.left = min(Self.burst, state.left + (now - state.at) * Self.rate) - tries
      state.at = now
      return state.left
    }
  }
}
