/// When the store's write-ahead log is looked at: often while something is written, once more in the pause after that, and again and
/// again while somebody keeps it long. An idle pool does not look.
struct LogWatch {
  /// Seconds from a write to the look at the log: it may not become too long in that time.
  static let writingInterval = 0.1
  /// Seconds without a write that are a pause.
  static let pause = 1.0

  var timer: TimerQueue.Token?
  /// Whether the timer waits for a pause, and not for the look that follows a write.
  var waitsForPause = false
  /// Whether a checkpoint is under way.
  var isLooking = false
}

extension PoolServer {
  /// The pool's process is the only one that checkpoints, so that no worker's commit pays for it. Called when something was written.
  func logWasWritten() {
    guard !isFinishing, logWatch.timer == nil || logWatch.waitsForPause else { return }
    lookAtLog(after: LogWatch.writingInterval, isPause: false)
  }

  private func lookAtLog(after seconds: Double, isPause: Bool) {
    loop.timers.cancel(logWatch.timer)
    logWatch.waitsForPause = isPause
    logWatch.timer = loop.timers.after(seconds) { [weak self] in
      self?.logWatch.timer = nil
      self?.lookAtLog(inPause: isPause)
    }
  }

  private func lookAtLog(inPause: Bool) {
    // On a slow disk one checkpoint may take long; the next one is no use before its end.
    if logWatch.isLooking { return lookAtLog(after: LogWatch.writingInterval, isPause: inPause) }
    logWatch.isLooking = true
    // A job says nothing of what it writes until it ends.
    let mayBeWritten = !inPause || coordinator.workers.values.contains { !$0.begun.isEmpty }
    source.checkpoint(mayBeWritten ? .whileWriting : .inPause, ticket: nil)
    if mayBeWritten { lookAtLog(after: LogWatch.pause, isPause: true) }
  }

  func checkpointed(isDone: Bool) {
    logWatch.isLooking = false
    if !isDone, logWatch.timer == nil, !isFinishing { lookAtLog(after: LogWatch.pause, isPause: true) }
  }
}
