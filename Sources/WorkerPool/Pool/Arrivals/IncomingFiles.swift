import Jobs
import LinuxSystem

/// Job files: has those taken that come, scans for others now and then, and handles what was taken.
///
/// Each rescan looks at the times of the directory and of the store's log, which costs a few system calls. Only what
/// has changed since the last scan is scanned, by threads of their own, and once a minute everything.
final class IncomingFiles {
  /// Seconds between two rescans.
  static let rescanInterval = 10.0
  /// The leeway of timers that run with a rescan.
  static let leeway = 1.2 * rescanInterval

  private let core: PoolCore
  private let ready: ReadyJobs
  private let schedule: JobSchedule
  private let upkeep: StoreUpkeep
  private var listener: IncomingListener?
  private var rescanTimer: TimerQueue.Token?
  /// The store's log and the directory at the last rescan. Nil where the next one has to look into them.
  private var lastLog: WALMoment?
  private var lastQueue: QueueMoment?
  /// Rescans since everything was scanned, whatever the times say.
  private var rescansSinceAll = 0
  /// Failures of the queue directory that were logged, so that each is not logged with every scan.
  private var repeated = RepeatedTrouble()

  init(_ core: PoolCore, ready: ReadyJobs, schedule: JobSchedule, upkeep: StoreUpkeep) {
    self.core = core
    self.ready = ready
    self.schedule = schedule
    self.upkeep = upkeep
  }

  func start() {
    watchDirectory()
    lastLog = walMoment
    lastQueue = queueMoment
    core.source.takeFiles(nil)
    scheduleRescan(Self.rescanInterval)
  }

  func stop() {
    core.loop.timers.cancel(rescanTimer)
    listener?.end()
    listener = nil
  }

  // MARK: The directory

  private func watchDirectory() {
    let path = core.configuration.incomingDirectory
    listener?.end()
    do {
      listener = try IncomingListener(path) { [source = core.source] names in source.takeFilesHere(names) }
    } catch {
      listener = nil
      core.log(.trouble, "\(path) cannot be watched and is scanned every \(Clock.text(Self.rescanInterval)): \(error)")
    }
  }

  /// Uses other directories that have taken the place of those that were watched.
  func replaced(_ parts: [QueuePart]) {
    guard !core.isStopping else { return }
    for part in parts {
      let path = core.configuration.queue + "/" + part.rawValue
      core.log(.queueReplaced, "\(path) is another directory now; the pool goes on with that one", .path(path))
    }
    if parts.contains(.incoming) {
      watchDirectory()
      // Takes files that came before the directory was watched.
      core.source.takeFiles(nil)
    }
    if parts.contains(.periodic) { schedule.watchEntries() }
  }

  // MARK: Scanning

  private func scheduleRescan(_ seconds: Double) {
    guard !core.isStopping else { return }
    core.loop.timers.cancel(rescanTimer)
    rescanTimer = core.loop.timers.after(seconds) { [weak self] in self?.rescan() }
  }

  /// Finds files and jobs that no event announced. If the store's files are gone, no more files are taken.
  func rescan() {
    upkeep.files.check()
    guard !core.isStopping else { return }
    rescansSinceAll += 1
    let scansAll = rescansSinceAll >= Self.mostRescansWithoutAll
    if scansAll { rescansSinceAll = 0 }
    if mayHaveNewFiles() || scansAll { core.source.takeFiles(nil) }
    upkeep.commits.start()
    if mayHaveNewJobs() || scansAll { core.refetchJobs() }
    scheduleRescan(Self.rescanInterval)
  }

  /// The number of rescans of which one scans everything.
  private static let mostRescansWithoutAll = 6

  /// Whether a name has come into the directory, or another directory has taken its place, since the last rescan.
  ///
  /// Files that a scan has postponed stay under their names: `took` has the next rescan scan them.
  private func mayHaveNewFiles() -> Bool {
    let queue = queueMoment
    defer { lastQueue = queue }
    return queue == nil || queue != lastQueue
  }

  private var queueMoment: QueueMoment? {
    let moment = QueueMoment(QueueLayout(root: core.configuration.queue))
    return moment?.isOld == true ? moment : nil
  }

  /// Whether the store may have jobs that no event announced: an idle pool does not ask it each time.
  private func mayHaveNewJobs() -> Bool {
    let log = walMoment
    defer { lastLog = log }
    return log.map { $0 != lastLog || !$0.isOld } ?? true
  }

  private var walMoment: WALMoment? {
    core.configuration.place.isServer ? nil : WALMoment(ofStore: core.configuration.store)
  }

  // MARK: What was taken

  /// Job files were taken: `count` jobs are new, and `jobs` of them may run now. `postponed` files have to be scanned
  /// again.
  func took(_ count: Int, ready jobs: [WindowJob], someWait: Bool, postponed: Int, _ messages: [LogRecord]) {
    for message in messages where repeated.isNews(message, now: Clock.now) { core.log(message) }
    core.becameReady(jobs)
    if jobs.count < count {
      core.coordinator.refetchAll()
      ready.promoteDueJobs()
    }
    if someWait { core.coordinator.checkDependents() }
    if count > 0 { upkeep.checkpoints.walWasWritten() }
    if postponed > 0 {
      lastQueue = nil
      scheduleRescan(PoolCore.retryDelay)
    }
  }
}
