import Dispatch
import Synchronization

/// Calls a function when some work has taken too long, and again every 0.2 seconds until the limit is stopped: work of
/// several statements may begin the next one after one was interrupted.
package final class TimeLimit: Sendable {
  /// The work has taken longer than it may.
  package struct Exceeded: Error {}

  private struct State {
    package var isOver = false
    var isStopped = false
  }

  private let state = Mutex(State())
  /// `nonisolated(unsafe)`: Dispatch's sources may be used from any thread.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer

  /// Seconds between two calls.
  private static let interval = 0.2

  /// - Parameter end: interrupts the work. Called on another thread, and never after ``stop()`` has returned.
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

  /// Whether the time was over before ``stop()``.
  package var isOver: Bool { state.withLock { $0.isOver } }

  package func stop() {
    state.withLock { $0.isStopped = true }
    timer.cancel()
  }
}

extension StoreReader {
  /// Runs `body`, and interrupts its statements when it takes too long: a condition may have to read each job, and a
  /// pattern such as `(a+)+$` may take seconds for one text.
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
