import LinuxSystem
import Synchronization

/// Bounds how often wrong tokens may be shown: some at once, and then one a second. While there were more, right ones
/// are refused, too: else guessing would know no bound.
final class TryLimit: Sendable {
  /// Wrong tries at once.
  static let burst = 10.0
  /// Further ones a second.
  private static let rate = 1.0

  private let state: Mutex<(triesLeft: Double, at: Double)>
  private let now: @Sendable () -> Double

  init(now: @escaping @Sendable () -> Double = { Clock.now }) {
    self.now = now
    state = Mutex((Self.burst, now()))
  }

  /// Seconds until something may be tried; nil when it may be tried now.
  var wait: Int? {
    let triesLeft = triesLeft(after: 0)
    return triesLeft >= 1 ? nil : Int(((1 - triesLeft) / Self.rate).rounded(.up))
  }

  func noteWrong() { _ = triesLeft(after: 1) }

  private func triesLeft(after tries: Double) -> Double {
    let now = now()
    return state.withLock { state in
      state.triesLeft = min(Self.burst, state.triesLeft + (now - state.at) * Self.rate) - tries
      state.at = now
      return state.triesLeft
    }
  }
}
