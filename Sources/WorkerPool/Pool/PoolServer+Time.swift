import Jobs

/// What comes with time alone: periodic jobs, and the end of old ones.
extension PoolServer {
  /// Seconds between two looks for finished jobs that need not be kept any longer.
  static let pruneInterval = 60.0

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
    guard !isSubmittingPeriodic else {
      mustSubmitPeriodic = true
      return
    }
    isSubmittingPeriodic = true
    mustSubmitPeriodic = false
    source.submitPeriodic()
  }

  func submittedPeriodic(_ jobs: [WindowJob], _ next: Double?, _ messages: [String]) {
    isSubmittingPeriodic = false
    for message in messages where !periodicMessages.contains(message) { log(.trouble, message) }
    periodicMessages = Set(messages)
    coordinator.becameReady(notWithheld(jobs))
    loop.timers.cancel(periodicTimer)
    periodicTimer = next.map { seconds in
      loop.timers.after(min(seconds, 3600)) { [weak self] in self?.submitPeriodic() }
    }
    if mustSubmitPeriodic { submitPeriodic() }
  }

  func prune() {
    guard !isStopping else { return }
    source.prune()
    loop.timers.after(Self.pruneInterval) { [weak self] in self?.prune() }
  }
}
