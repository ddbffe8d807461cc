import Dispatch
import Synchronization

/// Ends something that takes too long, again and again until it is stopped: it may begin its next part after each end.
package final class TimeLimit: Sendable {
  /// Something has taken longer than it may.
  package struct Exceeded: Error {}

  private struct State {
    package var isOver = false
    var isStopped = false
  }

  private let state = Mutex(State())
  /// `nonisolated(unsafe)`: Dispatch's sources may be used from any thread.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer

  /// Seconds between two ends.
  private static let interval = 0.2

  /// - Parameter end: called on another thread, and not any more when ``stop()`` has returned.
  package init(_ seconds: Double, end: @escaping @Sendable () -> Void) {
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
  package var isOver: Bool { state.withLock { $0.isOver } }

  package func stop() {
    state.withLock { $0.isStopped = true }
    timer.cancel()
  }
}

extension StoreReader {
  /// Runs `body`, and ends its statements when they take too long: a condition may look at each job, and a pattern such
  /// as `(a+)+$` at each text for seconds.
  ///
  /// - Throws: ``TimeLimit/Exceeded``, and what `body` throws.
  package func within<Result>(_ seconds: Double, _ body: () throws -> Result) throws -> Result {
    let limit = TimeLimit(seconds, end: interruptStatements)
    let before = checkTime
    checkTime = { if limit.isOver { throw TimeLimit.Exceeded() } }
    do {
      defer {
        limit.stop()
        checkTime = before
      }
      return try body()
    } catch {
      throw limit.isOver ? TimeLimit.Exceeded() : error
    }
  }
}
