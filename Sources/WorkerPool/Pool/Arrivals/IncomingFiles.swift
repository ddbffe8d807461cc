import CSystem
import Glibc
import Jobs
import LinuxSystem
import WorkerProtocol

/// What comes from the store and from the queue directory.
extension PoolServer {
  /// Seconds between two looks at the whole queue directory, and after files that could not be taken.
  static let rescanInterval = 10.0
  static let retryInterval = 1.0

  func handle(_ event: JobSourceEvent) {
    coordinator.now = Clock.now
    switch event {
    case .started(let start): started(start)
    case .fetched(let query, let jobs, let isComplete, let seconds):
      coordinator.fetched(query, jobs, isComplete: isComplete, seconds: seconds, besides: withheld)
    case .fetchFailed(let query, let reason):
      coordinator.fetchFailed(query)
      lookAgainSoon("ready jobs of kind \(query.kind) cannot be fetched: \(reason)")
    case .released(let jobs, let remain, let reason):
      coordinator.released(notWithheld(jobs), remain: remain)
      lookForDueJobs()
      if let reason { lookAgainSoon("jobs that wait for others cannot be looked at: \(reason)") }
    case .periodic(let jobs, let next, let messages): submittedPeriodic(jobs, next, messages)
    case .settled(let jobs, let reason):
      if let reason { log(.trouble, "the end of a job could not be noted: \(reason)") }
      coordinator.settled(jobs)
      publish(ended: jobs)
    case .cancelled(let jobs):
      coordinator.noteOver(jobs)
      publish(ended: jobs)
    case .deleted(let ticket, let asked, let deleted, let awaited, let reason):
      self.deleted(ticket, asked: asked, deleted: deleted, awaited: awaited, reason)
    case .foundNames(let ticket, let names): foundNames(ticket, names)
    case .submissions(let found): foundSubmissions(found)
    case .promoted(let jobs, let areMore, let next):
      loop.timers.cancel(dueTimer)
      dueTimer = next.map { seconds in
        loop.timers.after(min(seconds, Self.longestDueTimer)) { [weak self] in self?.lookForDueJobs() }
      }
      if dueFlight.ended() { lookForDueJobs() }
      coordinator.becameReady(notWithheld(jobs))
      if areMore { coordinator.lookForNewJobs() }
    case .took(let jobs, let ready, let someWait, let postponed, let messages):
      for message in messages where repeated.isNews(message, now: Clock.now) { log(message) }
      coordinator.becameReady(notWithheld(ready))
      if ready.count < jobs {
        coordinator.lookForNewJobs()
        lookForDueJobs()
      }
      if someWait { coordinator.lookForWaitingJobs() }
      if jobs > 0 {
        logWasWritten()
        findSubmissions()
      }
      if postponed > 0 { scheduleRescan(Self.retryInterval) }
    case .replaced(let parts): replaced(parts)
    case .replied(let ticket, let count, let error):
      coordinator.lookForNewJobs()
      lookForDueJobs()
      guard let asked = tickets.removeValue(forKey: ticket) else { break }
      let isSome = error == nil || asked.count > 0
      asked.client.reply(StatusReply(ok: isSome, error: isSome ? nil : error, count: asked.count + count))
    case .checkpointed(let isDone): checkpointed(isDone: isDone)
    case .looked(let ticket, let overview): looked(ticket, overview)
    case .newest(let key): foundNewest(key)
    case .logged(let record): log(record)
    case .trouble(let text): log(.trouble, text)
    case .said(let record): log(record)
    case .finished: loop.stop()
    }
  }

  /// While the store has something to do, a timer looks whether it takes too long.
  func watchStore() {
    guard source.isBusy else {
      loop.timers.cancel(storeTimer)
      storeTimer = nil
      return
    }
    guard storeTimer == nil else { return }
    storeTimer = loop.timers.after(StoreWatch.patience) { [weak self] in
      guard let self else { return }
      storeTimer = nil
      guard source.takeDelay() else { return }
      let reason = StoreLocks.named(store: configuration.store) ?? "it waits for a lock, or there is much to do"
      log(
        .storeWaiting, "the store has not answered for \(Int(StoreWatch.patience)) s: \(reason)",
        .path(configuration.store))
    }
  }

  private func lookAgainSoon(_ message: String) {
    log(.trouble, message)
    guard lookAgainTimer == nil else { return }
    lookAgainTimer = loop.timers.after(Self.retryInterval) { [weak self] in
      self?.lookAgainTimer = nil
      self?.coordinator.lookForNewJobs()
      self?.coordinator.lookForWaitingJobs()
    }
  }

  private func started(_ start: JobSourceStart) {
    coordinator.jobURIs = start.jobURIs
    coordinator.pauses = start.pauses
    takeOver(start)
    listenForRequests()
    if let files = start.files { watchStoreFiles(files) }
    if isStopping { return }
    supervisor.childEnded()
    supervisor.reload()
    lookForDueJobs()
    coordinator.lookForWaitingJobs()
    watchQueueDirectory()
    watchCommits()
    watchClock()
    watchPeriodicEntries()
    prune()
    logWasWritten()
    keepMetricsFile()
    serviceManager?.ready(loop: loop)
    log(
      .poolStarted, "running on \(configuration.queue), \(configuration.workers) workers", .pid(getpid()),
      .path(configuration.queue))
  }

  /// Requests are taken when it is known what they refer to.
  private func listenForRequests() {
    do {
      let path = QueueLayout(root: configuration.queue).statusSocket
      statusServer = try StatusServer(path: path, loop: loop, log: log) { [weak self] request, client in
        self?.answer(request, client)
      }
    } catch {
      log(.trouble, "there is no status socket, so nobody could stop the pool: \(error)")
      exitCode = 1
      stop(deadline: 0)
    }
  }

  private func watchQueueDirectory() {
    watchIncoming()
    source.takeFiles(nil)
    scheduleRescan(Self.rescanInterval)
  }

  private func watchIncoming() {
    if let watch = directoryWatch { loop.unwatch(watch.descriptor) }
    directoryWatch = nil
    do {
      let watch = try DirectoryWatch(configuration.incomingDirectory)
      try loop.watch(watch.descriptor, for: .readable) { [weak self, unowned watch] in
        let changes = watch.collect()
        self?.source.takeFiles(changes.needsScan ? nil : changes.names)
      }
      directoryWatch = watch
    } catch {
      log(
        .trouble,
        "\(configuration.incomingDirectory) cannot be watched and is looked at every \(Self.rescanInterval) s: \(error)"
      )
    }
  }

  /// Goes on with directories that others have put in the place of those that were watched.
  private func replaced(_ parts: [QueuePart]) {
    guard !isStopping else { return }
    for part in parts {
      let path = configuration.queue + "/" + part.rawValue
      log(.queueReplaced, "\(path) is another directory now; the pool goes on with that one", .path(path))
    }
    if parts.contains(.incoming) {
      watchIncoming()
      // What came before it was watched.
      source.takeFiles(nil)
    }
    if parts.contains(.periodic) { watchPeriodicEntries() }
  }

  private func scheduleRescan(_ seconds: Double) {
    guard !isStopping else { return }
    loop.timers.cancel(rescanTimer)
    rescanTimer = loop.timers.after(seconds) { [weak self] in
      guard let self else { return }
      checkStoreFiles()
      source.takeFiles(nil)
      watchCommits()
      coordinator.lookForNewJobs()
      coordinator.lookForWaitingJobs()
      scheduleRescan(Self.rescanInterval)
    }
  }

  /// Makes jobs available that are due; while one look is under way, the next waits for it.
  func lookForDueJobs() {
    if dueFlight.request() { source.promoteDueJobs() }
  }
}
