import CSystem
import Foundation
import Glibc
import Jobs
import LinuxSystem
import WorkerProtocol

/// A running pool: puts its parts together on one loop, carries the store's answers to them, and does what the
/// coordinator wants.
///
/// Each part owns its state and refers only to parts that are made before it, so that no cycle keeps them alive.
final class PoolServer {
  /// The signals that a pool takes: those that it obeys, and all others whose default is to end a process, but for
  /// those of its own faults. People and programs send them by mistake, or to a whole group.
  static let signals: [Int32] =
    [SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGTTIN, SIGTTOU, SIGCHLD] + SignalName.meaningless
  /// Seconds that the store has to finish its work when all workers are gone: a disk that hangs must not keep the pool
  /// from ending.
  static let finishTimeout = 20.0
  let core: PoolCore
  private let mailbox: Mailbox<JobSourceEvent>
  private let ready: ReadyJobs
  private let schedule: JobSchedule
  private let upkeep: StoreUpkeep
  private let incoming: IncomingFiles
  private let survivors: Survivors
  private let supervisor: Supervisor
  private let sockets: WorkerServer
  private let status: StatusService
  private let history: HistoryKeeper
  private let stalls: StallWatch
  private let workers: WorkerService
  private let runtime: RuntimeDirectoryWatch
  private let reexec: Reexec
  private let serviceManager: ServiceManager?
  private let signals: SignalSource?
  /// Whether the service manager knows that the pool ends.
  private var hasToldEnd = false
  /// Signals without a meaning that have come.
  private var ignoredSignals: Set<Int32> = []
  /// How often a signal has asked for the end.
  private var stopRequests = 0
  /// Whether the demand has changed since the end of the last turn.
  private var demandHasChanged = false
  private var deadlineTimer: (at: Double, token: TimerQueue.Token)?

  /// - Parameter signals: a source of ``signals``; `nil` when the process has other uses for them.
  init(
    _ configuration: PoolConfiguration, source: any JobSource, signals: SignalSource? = nil,
    manager: ServiceManager? = nil
  ) throws {
    let problems = RecentProblems()
    let output = WorkerOutputQueue()
    let log = Log.records { [log = configuration.log] record in
      problems.note(record)
      if !output.keeps(record) { log(record) }
    }
    self.signals = signals
    core = PoolCore(configuration, loop: try EventLoop(), log: log, source: source)
    mailbox = try Mailbox()
    ready = ReadyJobs(core)
    schedule = JobSchedule(core, ready)
    upkeep = StoreUpkeep(core, ready)
    incoming = IncomingFiles(core, ready: ready, schedule: schedule, upkeep: upkeep)
    survivors = Survivors(core, ready)
    let recorder = try configuration.recording.map { path in try ConversationRecorder(path: path) }
    sockets = WorkerServer(loop: core.loop, log: log, recorder: recorder)
    serviceManager = manager
    supervisor = try Supervisor(loop: core.loop, log: log, configuration: .init(configuration))
    if configuration.handlesSignals {
      supervisor.orphans = OrphanedProcesses(
        loop: core.loop, log: log, pool: configuration.identity,
        hasOtherChildren: configuration.handover?.hasOtherChildren)
      supervisor.findMemoryGroups(pool: configuration.identity ?? "")
    }
    let collector = StatusCollector(
      core, supervisor, survivors: survivors, storeFiles: upkeep.files, problems: problems, mailbox: mailbox)
    status = StatusService(
      core, supervisor, ready: ready, survivors: survivors, checkpoints: upkeep.checkpoints, collector: collector)
    history = HistoryKeeper(core, collector, upkeep.commits)
    stalls = StallWatch(core, collector)
    workers = WorkerService(
      core, supervisor, sockets: sockets, status: status, survivors: survivors, checkpoints: upkeep.checkpoints,
      output: output)
    runtime = RuntimeDirectoryWatch(core, status)
    reexec = Reexec(core, supervisor, workers, manager)
    try connect()
  }

  private func connect() throws {
    core.stop = { [weak self] deadline in self?.stop(deadline: deadline) }
    core.loop.blocking.whenShort = { [log = core.log] error in
      log(.trouble, "no thread can be started for work that may block: \(error.explained); it is tried again")
    }
    status.reexec = { [weak self] request, client in self?.reexec.begin(request, for: client) }
    workers.whenGone = { [weak self] in self?.finish() }
    if let signals {
      try core.loop.watch(signals.descriptor, for: .readable) { [weak self, unowned signals] in
        for signal in signals.collect() { self?.handle(signal: signal) }
      }
    }
    try core.loop.deliver(from: mailbox) { [weak self] event in self?.handle(event) }
    core.loop.atEndOfTurn { [weak self] in self?.endTurn() }
  }

  /// Runs until the pool has been stopped. Returns the exit code.
  func run() -> Int32 {
    serviceManager?.watch(core.loop)
    core.source.start { [mailbox] event in mailbox.post(event) }
    core.loop.run()
    workers.writeOutput()
    return core.ending.rawValue
  }

  private func started(_ start: JobSourceStart) {
    core.coordinator.jobURIs = start.jobURIs
    core.coordinator.pauses = start.pauses
    if start.isShared { core.coordinator.claims = Claims() }
    core.coordinator.keepsRatePlaces = start.files != nil
    core.coordinator.ledger = start.ledger
    survivors.takeOver(start, but: core.configuration.handover.map(workers.adopt) ?? [])
    status.start()
    runtime.start()
    if let files = start.files { upkeep.files.start(files) }
    if core.isStopping { return }
    supervisor.childEnded()
    supervisor.reload()
    ready.promoteDueJobs()
    core.coordinator.checkDependents()
    incoming.start()
    upkeep.commits.start()
    schedule.start()
    upkeep.prune()
    upkeep.checkpoints.walWasWritten()
    status.metrics.start()
    history.start()
    stalls.start()
    serviceManager?.ready()
    let configuration = core.configuration
    core.log(
      .poolStarted,
      "running on \(configuration.queue), \(configuration.workers) worker\(configuration.workers == 1 ? "" : "s")",
      .pid(getpid()),
      .path(configuration.queue),
      .version(Release.text))
  }

  // MARK: What comes from the store and from the queue directory

  private func handle(_ event: JobSourceEvent) {
    core.coordinator.now = Clock.now
    switch event {
    case .started(let start): started(start)
    case .fetched(let query, let jobs, let isComplete, let seconds):
      ready.fetched(query, jobs, isComplete: isComplete, seconds: seconds)
    case .fetchFailed(let query, let reason): ready.fetchFailed(query, reason)
    case .released(let jobs, let remain, let reason): ready.released(jobs, remain: remain, reason)
    case .promoted(let jobs, let areMore, let next): ready.promoted(jobs, areMore: areMore, next: next)
    case .periodic(let jobs, let next, let messages, let kinds):
      schedule.submitted(jobs, next: next, messages)
      status.names.checkPeriodic(kinds)
    case .took(let count, let keys, let jobs, let someWait, let postponed, let messages):
      if let keys { upkeep.commits.tookJobs(keys) }
      incoming.took(count, ready: jobs, someWait: someWait, postponed: postponed, messages)
      if count > 0 { status.submissions.find() }
    case .replaced(let parts): incoming.replaced(parts)
    case .tookPlaces(let kind, let count, let seconds):
      core.coordinator.tookPlaces(count, of: kind, retryAfter: seconds)
    case .settled(let jobs):
      core.coordinator.settled(jobs)
      workers.settled(jobs)
      status.publish(ended: jobs)
    case .settlementFailed(let jobs, let settlement, let reason):
      core.log(.trouble, "the end of a job cannot be written into the store yet: \(reason)")
      settleLater(jobs, settlement)
    case .wroteSheets(let worker, let ended, let failed, let reason):
      workers.wroteSheets(for: worker, ended: ended, failed: failed, reason)
    case .cancelled(let jobs):
      core.coordinator.releaseDependents(of: jobs)
      status.publish(ended: jobs)
    case .deleted(let ticket, let asked, let deleted, let awaited, let elsewhere, let reason):
      status.publish(ended: deleted)
      status.deletions.deleted(
        ticket, asked: asked, deleted: deleted, awaited: awaited, elsewhere: elsewhere, reason)
    case .replied(let ticket, let count, let error):
      core.coordinator.refetchAll()
      ready.promoteDueJobs()
      status.replied(ticket, count: count, error)
    case .foundNames(let ticket, let names): status.names.found(ticket, unknown: names)
    case .submissions(let submissions): status.submissions.found(submissions)
    case .ready(let ticket, let job): status.explanations.read(ticket, job)
    case .failures(let failures): workers.failures.read(failures)
    case .overview(let ticket, let overview): status.collector.storeAnswered(ticket, overview)
    case .checkpointed(let state): upkeep.checkpoints.checkpointed(state)
    case .newest(let key): upkeep.commits.foundNewest(key)
    case .jobsCame:
      guard !core.isStopping else { return }
      core.refetchJobs()
      ready.promoteDueJobs()
      status.submissions.find()
    case .leads: lead()
    case .cutOff(let reason): cutOff(reason)
    case .pauses(let pauses): core.coordinator.setPauses(pauses)
    case .heldBack(let kind): core.coordinator.claims?.holdBack(kind)
    case .roomMayBe(let kind): core.coordinator.claimAgain(kind)
    case .members(let members, let ownIdentity): status.changed(members, ownIdentity: ownIdentity)
    case .notices(let notices): status.others.handle(notices)
    case .sent: status.others.sent()
    case .logged(let record): core.log(record)
    case .trouble(let text): core.log(.trouble, text)
    case .finished: core.loop.stop()
    }
  }

  // MARK: A store that pools share

  /// From now on this pool does what one does for all.
  private func lead() {
    guard !core.isStopping else { return }
    ready.promoteDueJobs()
    core.coordinator.checkDependents()
    schedule.lead()
    core.source.prune()
  }

  /// Other pools may run this pool's jobs already. It ends its workers, whose commits fail, and begins again.
  private func cutOff(_ reason: String) {
    guard !core.isFinishing, core.ending != .cutOff else { return }
    core.log(
      .poolCutOff,
      "the session with the server has ended: \(reason); the workers end, and the pool begins again as a new one",
      .path(core.configuration.store))
    core.fail(.cutOff)
    supervisor.killAll()
  }

  // MARK: The end of a turn

  /// Carries out what the coordinator wants, and sets the timers that follow from its state.
  private func endTurn() {
    core.coordinator.workersWanted(supervisor.configuration.workers)
    carryOut()
    // A job that goes to a worker waits for nothing else.
    sockets.flush()
    if demandHasChanged {
      demandHasChanged = false
      supervisor.rebalance()
      carryOut()
    }
    scheduleDeadline()
    upkeep.watchForDelay()
    workers.endTurn()
    status.flush()
    workers.writeOutput()
    reexec.endTurn()
  }

  /// Does what the coordinator wants, until it wants nothing more.
  private func carryOut() {
    core.coordinator.now = Clock.now
    while true {
      let effects = core.coordinator.takeEffects()
      if effects.isEmpty { return }
      for effect in effects { perform(effect) }
    }
  }

  /// Tries again to write how jobs ended. They do not run before that. What a pool that ends cannot write is left to
  /// the next one.
  private func settleLater(_ jobs: [JobKey], _ settlement: Settlement) {
    core.loop.timers.after(PoolCore.retryDelay) { [weak self] in
      guard let self, !core.isFinishing else { return }
      core.source.settle(jobs, settlement)
    }
  }

  private func perform(_ effect: CoordinatorEffect) {
    switch effect {
    case .send(let message, let id): workers.send(message, to: id)
    case .fetchReady(let query): core.source.fetchReady(query)
    case .releaseClaims(let kinds, let kept): core.source.releaseClaims(kinds, keeping: kept)
    case .noteBeginnings(let jobs, let kind): core.source.noteBeginnings(jobs, of: kind)
    case .takeBackBeginning(let job, let kind, let time):
      core.source.takeBackBeginning(of: job, kind, at: time)
    case .takePlaces(let count, let kind, let rate): core.source.takePlaces(count, of: kind, rate)
    case .release(let ended): core.source.release(after: ended)
    case .settle(let jobs, let settlement):
      workers.tell(jobs, settlement)
      core.source.settle(jobs, workers.withProcess(settlement))
    case .cancelStored(let job): core.source.settle([job], .cancelled)
    case .promoteDueJobs: ready.promoteDueJobs()
    case .killTimedOut(let id): supervisor.timedOut(id)
    case .replaceHesitant(let id, let jobs):
      supervisor.hesitates(id, jobs: jobs, seconds: core.coordinator.hands.beginTimeout)
    case .killHesitant(let id): supervisor.hung(id, seconds: 2 * core.coordinator.hands.beginTimeout)
    case .worked(let id, let jobs): supervisor.worked(id, jobs: jobs)
    case .emptied(let id): supervisor.becameIdle(id)
    case .dismiss(let id, let refusal): sockets.dismiss(id, refusal)
    case .saved(let change, let objects): status.publish(change, objects)
    case .demandChanged: demandHasChanged = true
    }
  }

  private func scheduleDeadline() {
    let next = core.coordinator.nextDeadline
    guard next != deadlineTimer?.at else { return }
    core.loop.timers.cancel(deadlineTimer?.token)
    deadlineTimer = next.map { deadline in
      let token = core.loop.timers.after(deadline - Clock.now) { [weak self] in
        guard let self else { return }
        deadlineTimer = nil
        core.coordinator.now = Clock.now
        core.coordinator.deadlinePassed()
      }
      return (deadline, token)
    }
  }

  // MARK: Signals and the end

  /// TERM and INT drain; a second one ends running jobs at once, a third kills the processes, as QUIT does. HUP
  /// reloads, TTIN and TTOU scale.
  private func handle(signal: Int32) {
    switch signal {
    case SIGQUIT:
      stop(deadline: 0)
      supervisor.killAll()
    case SIGHUP: supervisor.reload()
    case SIGCHLD: supervisor.childEnded()
    case SIGTTIN: scale(by: 1)
    case SIGTTOU: scale(by: -1)
    case _ where SignalName.meaningless.contains(signal):
      if ignoredSignals.insert(signal).inserted { core.log(.note, SignalName.ignored(signal)) }
    default:
      // A pool that was cut off does not begin again.
      if core.ending == .cutOff { core.ending = .stopped }
      stopRequests += 1
      switch stopRequests {
      case 1: stop(deadline: core.configuration.stopDeadline)
      case 2: stop(deadline: 0)
      default: supervisor.killAll()
      }
    }
  }

  private func scale(by step: Int) {
    let count = supervisor.configuration.workers + step
    guard (0...PoolLimit.workers).contains(count) else {
      return core.log(.trouble, "a signal asks for \(count) workers; a pool has 0 to \(PoolLimit.workers)")
    }
    supervisor.scale(to: count)
  }

  /// Takes no more files, lets the workers finish for up to `deadline` seconds, then ends them, and `run` returns.
  private func stop(deadline: Double) {
    if !core.isStopping {
      core.phase = .stopping
      incoming.stop()
      schedule.stop()
      upkeep.commits.stop()
      core.coordinator.close()
      core.coordinator.ledger?.stop()
    }
    // A pool that was cut off from its server begins again.
    if core.ending != .cutOff, !hasToldEnd {
      hasToldEnd = true
      serviceManager?.stopping(within: deadline + ServiceManager.timeToEnd)
    }
    supervisor.stop(deadline: deadline)
  }

  /// The last worker is gone: the store finishes the work that it was asked for.
  private func finish() {
    guard !core.isFinishing else { return }
    core.phase = .finishing
    // The last worker may have crashed: the store gets that before the pool ends.
    carryOut()
    workers.failures.askForRest()
    status.metrics.end { [core] in core.source.finish() }
    // A pool that begins again must not overtake a transaction of this one.
    if core.ending == .cutOff { return }
    core.loop.timers.after(Self.finishTimeout) { [weak self] in
      guard let self else { return }
      core.log(
        .trouble,
        "the store has not answered for \(Int(Self.finishTimeout)) s; the next pool writes how the last jobs ended, or "
          + "runs them again")
      core.ending = .failed
      core.loop.stop()
    }
  }
}
