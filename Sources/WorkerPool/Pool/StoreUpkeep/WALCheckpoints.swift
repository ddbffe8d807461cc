import Jobs

/// Copies the store's write-ahead log into the store: by its size while processes write, once more in the pause after
/// that, and repeatedly while a reader or writer keeps the log long. An idle pool does nothing.
///
/// While processes write, the pool checks the log's size at short intervals, so that the log stays near its limit.
/// A check of a short log costs a `stat`.
///
/// The pool's process is the only one that checkpoints, so no worker's commit pays for it.
final class WALCheckpoints {
  /// Seconds from a write to a check of the log's size, and between two checks while it is being written. A fast disk
  /// takes 4 MiB in that time.
  static let writingInterval = 0.02
  /// Seconds without a write that are a pause.
  static let pause = 1.0

  private let core: PoolCore
  private var timer: TimerQueue.Token?
  /// Whether the timer waits for a pause, and not for the checkpoint that follows a write.
  private var waitsForPause = false
  private var flight = SingleFlight()
  /// Whether the checkpoint that has to follow the one under way is for a pause.
  private var nextIsInPause = false

  init(_ core: PoolCore) { self.core = core }

  func walWasWritten() {
    guard !core.isFinishing, timer == nil || waitsForPause else { return }
    checkpoint(after: Self.writingInterval, inPause: false)
  }

  private func checkpoint(after seconds: Double, inPause: Bool) {
    core.loop.timers.cancel(timer)
    waitsForPause = inPause
    timer = core.loop.timers.after(seconds) { [weak self] in
      self?.timer = nil
      self?.checkpoint(inPause: inPause)
    }
  }

  private func checkpoint(inPause: Bool) {
    // On a slow disk a checkpoint may take long; the next one waits for its end.
    guard flight.request() else {
      nextIsInPause = inPause
      return
    }
    // A running job may write at any time, and reports that only at its end.
    let hands = core.coordinator.hands.workers
    let mayBeWritten = !inPause || hands.busy.contains { hands[$0]?.begun.isEmpty == false }
    core.source.checkpoint(mayBeWritten ? .whileWriting : .inPause, ticket: nil)
    if mayBeWritten { checkpoint(after: Self.pause, inPause: true) }
  }

  /// A checkpoint has ended, and the log's file was in that state.
  func checkpointed(_ state: WALState) {
    let isNext = flight.ended()
    if state == .written { walWasWritten() }
    guard !core.isFinishing, timer == nil else { return }
    if isNext {
      checkpoint(after: Self.writingInterval, inPause: nextIsInPause)
    } else if state == .held {
      checkpoint(after: Self.pause, inPause: true)
    }
  }
}
