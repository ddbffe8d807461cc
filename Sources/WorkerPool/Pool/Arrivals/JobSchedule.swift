import Jobs

/// What comes with time alone: periodic jobs, and the end of old ones.
extension PoolServer {
  /// Seconds between two looks for finished jobs that need not be kept any longer.
  static let pruneInterval = 60.0
  /// Seconds after which the clock is asked again in any case how long it is to a due time: not every kernel tells when it is set.
  static let longestDueTimer = 3600.0

  func watchClock() {
    do {
      let watch = try ClockWatch()
      try loop.watch(watch.descriptor, for: .readable) { [weak self, unowned watch] in
        if watch.collect() { self?.clockWasSet() }
      }
      clockWatch = watch
    } catch {
      log(.trouble, "it is not noticed at once when the system's clock is set: \(error)")
    }
  }

  /// How long it is to the times at which jobs are due has changed.
  func clockWasSet() {
    guard !isStopping else { return }
    log(.clockSet, "the system's clock was set: what is due is worked out anew")
    lookForDueJobs()
    submitPeriodic()
  }

  func watchPeriodicEntries() {
    let path = QueueLayout(root: configuration.queue).periodic
    if let watch = periodicWatch { loop.unwatch(watch.descriptor) }
    periodicWatch = nil
    do {
      let watch = try DirectoryWatch(path)
      try loop.watch(watch.descriptor, for: .readable) { [weak self, unowned watch] in
        if watch.collect().needsScan { self?.source.takeFiles(nil) }
        self?.submitPeriodic()
      }
      periodicWatch = watch
    } catch {
      log(.trouble, "\(path) cannot be watched; what changes there is seen when the pool starts again: \(error)")
    }
    submitPeriodic()
  }

  /// Submits what is due; while that is under way, the next look waits for it.
  private func submitPeriodic() {
    guard !isStopping else { return }
    if periodicFlight.request() { source.submitPeriodic() }
  }

  func submittedPeriodic(_ jobs: [WindowJob], _ next: Double?, _ messages: [String]) {
    let mustSubmitAgain = periodicFlight.ended()
    for message in messages where !periodicMessages.contains(message) { log(.trouble, message) }
    periodicMessages = Set(messages)
    coordinator.becameReady(notWithheld(jobs))
    loop.timers.cancel(periodicTimer)
    periodicTimer = next.map { seconds in
      loop.timers.after(min(seconds, Self.longestDueTimer)) { [weak self] in self?.submitPeriodic() }
    }
    if mustSubmitAgain { submitPeriodic() }
  }

  func prune() {
    guard !isStopping else { return }
    source.prune()
    loop.timers.after(Self.pruneInterval) { [weak self] in self?.prune() }
  }
}
