import Dispatch
import Synchronization

/// Ends something that takes too long, again and again until it is stopped: it may begin its next part after each end.
final class TimeLimit: Sendable {
  private struct State {
    var isOver = false
    var isStopped = false
  }

  private let state = Mutex(State())
  /// `nonisolated(unsafe)`: Dispatch's sources may be used from any thread.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer

  /// Seconds between two ends.
  private static let interval = 0.2

  /// - Parameter end: called on another thread, and not any more when ``stop()`` has returned.
  init(_ seconds: Double, end: @escaping @Sendable () -> Void) {
    timer = DispatchSource.makeTimerSource()
    timer.schedule(deadline: .now() + seconds, repeating: Self.interval)
    timer.setEventHandler { [weak self] in
      self?.state.withLock { state in
        guard !state.isStopped else { return }
        state.isOver = true
        end()
      }
    }
    timer.resume()
  }

  deinit { timer.cancel() }

  /// Whether the time is over, or was when it was stopped.
  var isOver: Bool { state.withLock { $0.isOver } }

  func stop() {
    state.withLock { $0.isStopped = true }
    timer.cancel()
  }
}
