import Jobs

/// Jobs that time brings: periodic entries, and jobs that are due when the system's clock is set.
final class JobSchedule {
  private let core: PoolCore
  private let ready: ReadyJobs
  private var directoryWatch: DirectoryWatch?
  private var clockWatch: ClockWatch?
  private var flight = SingleFlight()
  private var timer: TimerQueue.Token?
  /// Messages about bad entries that were logged, so that each is logged once.
  private var messages: Set<String> = []

  init(_ core: PoolCore, _ ready: ReadyJobs) {
    self.core = core
    self.ready = ready
  }

  func start() {
    watchClock()
    watchEntries()
  }

  func stop() {
    unwatchEntries()
    core.loop.timers.cancel(timer)
  }

  // MARK: The clock

  private func watchClock() {
    do {
      let watch = try ClockWatch()
      try core.loop.watch(watch.descriptor, for: .readable) { [weak self, unowned watch] in
        if watch.collect() { self?.clockWasSet() }
      }
      clockWatch = watch
    } catch {
      core.log(.trouble, "the system's clock cannot be watched, so the pool notices late when it is set: \(error)")
    }
  }

  /// The system's clock was set, so due times are nearer or farther now.
  func clockWasSet() {
    guard !core.isStopping else { return }
    core.log(.clockSet, "the system's clock was set: due times are computed again")
    ready.promoteDueJobs()
    submit()
  }

  // MARK: Periodic entries

  /// Watches the directory of the entries, also another one in its place.
  func watchEntries() {
    let path = QueueLayout(root: core.configuration.queue).periodic
    unwatchEntries()
    do {
      let watch = try DirectoryWatch(path)
      try core.loop.watch(watch.descriptor, for: .readable) { [weak self, unowned watch] in
        if watch.collect().needsScan { self?.core.source.takeFiles(nil) }
        self?.submit()
      }
      directoryWatch = watch
    } catch {
      core.log(.trouble, "\(path) cannot be watched; what changes there is seen when the pool starts again: \(error)")
    }
    submit()
  }

  private func unwatchEntries() {
    if let watch = directoryWatch { core.loop.unwatch(watch.descriptor) }
    directoryWatch = nil
  }

  /// This pool submits the jobs of periodic entries from now on.
  func lead() { submit() }

  private func submit() {
    guard !core.isStopping else { return }
    if flight.request() { core.source.submitPeriodic() }
  }

  /// The store has the jobs of all entries that were due; the next one is due in `next` seconds.
  func submitted(_ jobs: [WindowJob], next: Double?, _ messages: [String]) {
    let mustSubmitAgain = flight.ended()
    for message in messages where !self.messages.contains(message) { core.log(.trouble, message) }
    self.messages = Set(messages)
    core.becameReady(jobs)
    core.loop.timers.cancel(timer)
    timer = next.map { seconds in
      core.loop.timers.after(min(seconds, ReadyJobs.longestTimer)) { [weak self] in self?.submit() }
    }
    if mustSubmitAgain { submit() }
  }
}
