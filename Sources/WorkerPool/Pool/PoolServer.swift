import CSystem
import Foundation
import Glibc
import WorkerProtocol

/// Puts the parts together on one loop: the supervisor with its processes, the coordinator with its workers' sockets, the store's
/// answers, job files, the status socket and signals.
final class PoolServer {
  let loop: EventLoop
  let log: Log
  let configuration: PoolConfiguration
  let source: any JobSource
  let supervisor: Supervisor
  let workerServer: WorkerServer
  var statusServer: StatusServer?
  var coordinator = Coordinator()
  let startedAt = Clock.now

  private let mailbox: Mailbox<JobSourceEvent>
  private let signals: SignalSource?
  private var directoryWatch: DirectoryWatch?
  private var dueTimer: TimerQueue.Token?
  private var claimTimer: TimerQueue.Token?
  private var deadlineTimer: (at: Double, token: TimerQueue.Token)?
  private var rescanTimer: TimerQueue.Token?
  private var checkpointTimer: TimerQueue.Token?
  private var isLookingForDueJobs = false
  private var mustLookForDueJobs = false
  private var demandHasChanged = false
  /// Requests that wait for the store.
  var tickets: [Int: (StatusServer.Client, PoolStatus?)] = [:]
  var lastTicket = 0
  var progress: [ObjectURI: (done: Int, total: Int)] = [:]
  /// Workers of an earlier pool that are still alive, by pid.
  private var survivors: [Int32: (pidfd: Int32, jobs: Set<ObjectURI>)] = [:]
  private(set) var isStopping = false
  private var isFinishing = false
  private(set) var exitCode: Int32 = 0

  /// Seconds between two looks at the whole queue directory, and after files that could not be taken.
  static let rescanInterval = 10.0
  static let retryInterval = 1.0
  /// Seconds between two checkpoints while jobs are being done.
  static let checkpointInterval = 1.0

  /// The signals that a pool takes.
  static let signals = [SIGTERM, SIGINT, SIGHUP, SIGTTIN, SIGTTOU]

  /// - Parameter signals: a source of ``signals``; `nil` when the process has other uses for them.
  init(_ configuration: PoolConfiguration, source: any JobSource, signals: SignalSource? = nil) throws {
    self.configuration = configuration
    self.source = source
    self.signals = signals
    log = configuration.log
    loop = try EventLoop()
    mailbox = try Mailbox()
    let runtime = RuntimeDirectory(queue: configuration.queue)
    let recorder = try configuration.recording.map { path in try ConversationRecorder(path: path) }
    workerServer = try WorkerServer(path: runtime.workerSocket, loop: loop, log: log, recorder: recorder)
    supervisor = Supervisor(
      loop: loop, log: log,
      configuration: .init(
        pluginDirectories: configuration.pluginDirectories, workers: configuration.workers,
        fixedWorkers: configuration.fixedWorkers,
        environment: configuration.workerEnvironment(socket: runtime.workerSocket)))
    supervisor.delegate = self
    workerServer.delegate = self
    if let signals {
      loop.watch(signals.descriptor, for: .readable) { [weak self, unowned signals] in
        for signal in signals.collect() { self?.handle(signal: signal) }
      }
    }
    loop.deliver(from: mailbox) { [weak self] event in self?.handle(event) }
    loop.atEndOfTurn { [weak self] in self?.endTurn() }
  }

  /// Runs until the pool has been stopped. Returns the exit code.
  func run() -> Int32 {
    source.start { [mailbox] event in mailbox.post(event) }
    loop.run()
    return exitCode
  }

  // MARK: The store

  private func handle(_ event: JobSourceEvent) {
    coordinator.now = Clock.now
    switch event {
    case .started(let pausedQueues, let elsewhere): started(pausedQueues, elsewhere)
    case .fetched(let kind, let jobs, let isComplete): coordinator.fetched(kind: kind, jobs, isComplete: isComplete)
    case .fetchFailed(let kind, let reason):
      log("ready jobs of kind \(kind) cannot be fetched: \(reason)")
      coordinator.fetchFailed(kind: kind)
      loop.timers.after(Self.retryInterval) { [weak self] in self?.coordinator.lookForNewJobs() }
    case .settled(let jobs, let reason):
      if let reason { log("the end of a job could not be noted: \(reason)") }
      coordinator.settled(jobs)
      statusServer?.publish(ended: jobs)
    case .promoted(let count, let next):
      isLookingForDueJobs = false
      loop.timers.cancel(dueTimer)
      dueTimer = next.map { seconds in
        loop.timers.after(seconds) { [weak self] in self?.lookForDueJobs() }
      }
      if mustLookForDueJobs { lookForDueJobs() }
      if count > 0 { coordinator.lookForNewJobs() }
    case .took(let jobs, let postponed, let messages):
      for message in messages { log(message) }
      if jobs > 0 {
        coordinator.lookForNewJobs()
        lookForDueJobs()
        scheduleCheckpoint()
      }
      if postponed > 0 { scheduleRescan(Self.retryInterval) }
    case .replied(let ticket, let count, let error):
      coordinator.lookForNewJobs()
      lookForDueJobs()
      tickets.removeValue(forKey: ticket)?.0.reply(StatusReply(ok: error == nil, error: error, count: count))
    case .counted(let ticket, let jobs, let walBytes):
      guard let (client, status) = tickets.removeValue(forKey: ticket), var status else { return }
      status.jobs = jobs
      status.walBytes = walBytes
      client.reply(StatusReply(status: status))
    case .trouble(let text): log(text)
    case .finished: loop.stop()
    }
  }

  private func started(_ pausedQueues: Set<String>, _ elsewhere: [JobSourceClaim]) {
    coordinator.pausedQueues = pausedQueues
    for claim in elsewhere { watchSurvivor(claim) }
    coordinator.setClaimedElsewhere(Set(elsewhere.map(\.job)))
    listenForRequests()
    if isStopping { return }
    supervisor.reload()
    lookForDueJobs()
    watchQueueDirectory()
    scheduleCheckpoint()
    log("running on \(configuration.queue), \(configuration.workers) workers")
  }

  /// Requests are taken when it is known what they refer to.
  private func listenForRequests() {
    do {
      let path = RuntimeDirectory(queue: configuration.queue).statusSocket
      statusServer = try StatusServer(path: path, loop: loop) { [weak self] request, client in
        self?.answer(request, client)
      }
    } catch {
      log("there is no status socket, so nobody could stop the pool: \(error)")
      exitCode = 1
      stop(deadline: 0)
    }
  }

  /// A worker that outlived its supervisor finishes its job: nobody else gets it until then.
  private func watchSurvivor(_ claim: JobSourceClaim) {
    if survivors[claim.pid] == nil {
      let pidfd = csystem_pidfd_open(claim.pid)
      guard pidfd >= 0 else { return }
      survivors[claim.pid] = (pidfd, [])
      loop.watch(pidfd, for: .readable) { [weak self] in
        guard let self, let ended = survivors.removeValue(forKey: claim.pid) else { return }
        loop.unwatch(ended.pidfd)
        close(ended.pidfd)
        source.write(claims: [], endedClaims: Array(ended.jobs))
        coordinator.setClaimedElsewhere(Set(survivors.values.flatMap(\.jobs)))
      }
    }
    survivors[claim.pid]?.jobs.insert(claim.job)
  }

  private func watchQueueDirectory() {
    do {
      let watch = try DirectoryWatch(configuration.incomingDirectory)
      directoryWatch = watch
      loop.watch(watch.descriptor, for: .readable) { [weak self, unowned watch] in
        let changes = watch.collect()
        self?.source.takeFiles(changes.needsScan ? nil : changes.names)
      }
    } catch {
      log(
        "\(configuration.incomingDirectory) cannot be watched and is looked at every \(Self.rescanInterval) s: \(error)"
      )
    }
    source.takeFiles(nil)
    scheduleRescan(Self.rescanInterval)
  }

  private func scheduleRescan(_ seconds: Double) {
    guard !isStopping else { return }
    loop.timers.cancel(rescanTimer)
    rescanTimer = loop.timers.after(seconds) { [weak self] in
      guard let self else { return }
      source.takeFiles(nil)
      coordinator.lookForNewJobs()
      scheduleRescan(Self.rescanInterval)
    }
  }

  /// The coordinator's is the only checkpointer, so that no worker's commit pays for it. Called when something was written.
  private func scheduleCheckpoint() {
    guard checkpointTimer == nil, !isStopping else { return }
    checkpointTimer = loop.timers.after(Self.checkpointInterval) { [weak self] in
      self?.checkpointTimer = nil
      self?.source.checkpoint()
    }
  }

  /// Makes jobs available that are due; while one look is under way, the next waits for it.
  func lookForDueJobs() {
    mustLookForDueJobs = true
    guard !isLookingForDueJobs else { return }
    mustLookForDueJobs = false
    isLookingForDueJobs = true
    source.promoteDueJobs()
  }

  // MARK: The end of a turn

  /// Carries out what the coordinator wants, and sets the timers that follow from its state.
  private func endTurn() {
    coordinator.now = Clock.now
    while !coordinator.effects.isEmpty {
      for effect in coordinator.takeEffects() { perform(effect) }
    }
    if demandHasChanged {
      demandHasChanged = false
      supervisor.rebalance()
    }
    if coordinator.hasClaimChanges, claimTimer == nil {
      claimTimer = loop.timers.after(Coordinator.claimDelay) { [weak self] in self?.writeClaims() }
    }
    scheduleDeadline()
    workerServer.flush()
    statusServer?.flush()
  }

  private func perform(_ effect: CoordinatorEffect) {
    switch effect {
    case .send(let message, let id): workerServer.send(message, to: id)
    case .fetchReady(let kind, let limit, let withoutQueues):
      source.fetchReady(kind: kind, limit: limit, withoutQueues: withoutQueues)
    case .settle(let jobs, let settlement): source.settle(jobs, settlement)
    case .cancelStored(let job): source.cancel([job], ticket: nil)
    case .lookForDueJobs: lookForDueJobs()
    case .killTimedOut(let id): supervisor.timedOut(id)
    case .worked(let id): supervisor.worked(id)
    case .dismiss(let id, let refusal): workerServer.dismiss(id, refusal)
    case .saved(let change, let objects): statusServer?.publish(change, objects)
    case .demandChanged: demandHasChanged = true
    }
  }

  private func writeClaims() {
    claimTimer = nil
    coordinator.now = Clock.now
    let changes = coordinator.takeClaimChanges()
    guard !changes.isEmpty else { return }
    let claims = changes.added.compactMap { claim in
      supervisor.workers[claim.worker].map { JobSourceClaim(job: claim.job, pid: $0.pid) }
    }
    source.write(claims: claims, endedClaims: changes.removed)
  }

  private func scheduleDeadline() {
    let next = coordinator.nextDeadline
    guard next != deadlineTimer?.at else { return }
    loop.timers.cancel(deadlineTimer?.token)
    deadlineTimer = next.map { deadline in
      let token = loop.timers.after(deadline - Clock.now) { [weak self] in
        guard let self else { return }
        deadlineTimer = nil
        coordinator.now = Clock.now
        coordinator.deadlinePassed()
      }
      return (deadline, token)
    }
  }

  // MARK: Signals and the end

  /// TERM and INT drain; a second one ends at once what still runs, a third kills it. HUP reloads, TTIN and TTOU scale.
  private func handle(signal: Int32) {
    switch signal {
    case SIGHUP: supervisor.reload()
    case SIGTTIN: supervisor.scale(to: supervisor.configuration.workers + 1)
    case SIGTTOU: supervisor.scale(to: supervisor.configuration.workers - 1)
    default:
      stopRequests += 1
      switch stopRequests {
      case 1: stop(deadline: configuration.stopDeadline)
      case 2: stop(deadline: 0)
      default: supervisor.killAll()
      }
    }
  }

  private var stopRequests = 0

  /// Takes no more files, lets the workers finish for up to `deadline` seconds, then ends them, and `run` returns.
  func stop(deadline: Double) {
    if !isStopping {
      isStopping = true
      loop.timers.cancel(rescanTimer)
      if let watch = directoryWatch { loop.unwatch(watch.descriptor) }
      directoryWatch = nil
      coordinator.pause(.everything)
    }
    supervisor.stop(deadline: deadline)
  }
}

extension PoolServer: SupervisorDelegate {
  func waitingJobs() -> [String: Int] {
    let waiting = coordinator.waitingByKind
    return supervisor.plugins.reduce(into: [:]) { result, plugin in
      result[plugin.name] = plugin.description.kinds.reduce(0) { $0 + (waiting[$1.kind] ?? 0) }
    }
  }

  func isBusy(_ id: WorkerID) -> Bool { coordinator.workers[id]?.held.isEmpty == false }

  func drain(_ id: WorkerID) { coordinator.drain(id) }

  func workerDied(_ id: WorkerID, _ obituary: Obituary) {
    workerServer.finish(id)
    coordinator.now = Clock.now
    coordinator.workerDied(id, obituary)
  }

  func pluginsChanged(_ plugins: [Plugin]) {
    let kinds = plugins.flatMap(\.description.kinds)
    source.setKinds(kinds)
    coordinator.setKinds(Dictionary(kinds.map { ($0.kind, $0.limit) }, uniquingKeysWith: { first, _ in first }))
  }

  func supervisorStopped() {
    guard !isFinishing else { return }
    isFinishing = true
    let changes = coordinator.takeClaimChanges()
    source.write(claims: [], endedClaims: changes.removed + Array(coordinator.claimed))
    source.finish()
  }
}

extension PoolServer: WorkerServerDelegate {
  func admit(
    version: Int, token: String, kinds: [String], peer: PeerCredentials
  ) -> Result<WorkerID, Refusal> {
    guard let worker = supervisor.worker(token: token, peer: peer), worker.phase == .starting else {
      if let worker = supervisor.worker(pid: peer.pid), worker.phase == .starting {
        supervisor.refused(worker, because: .refused(.token))
      }
      return .failure(.token)
    }
    guard ProtocolVersion.supported.contains(version) else {
      supervisor.refused(worker, because: .wrongVersion([version]))
      return .failure(.version)
    }
    supervisor.cameUp(worker.id)
    return .success(worker.id)
  }

  func received(_ message: WorkerMessage, from id: WorkerID) {
    coordinator.now = Clock.now
    switch message {
    case .hello(_, _, let kinds) where coordinator.workers[id] == nil: coordinator.workerCameUp(id, kinds: kinds)
    case .progress(let job, let done, let total):
      progress[job] = (done, total)
      scheduleCheckpoint()
    case .done(let jobs): ended(jobs, message, id)
    case .failed(let job): ended([job], message, id)
    case .returned(let jobs):
      for job in jobs { progress[job] = nil }
      coordinator.workerSaid(message, id)
    default: coordinator.workerSaid(message, id)
    }
  }

  private func ended(_ jobs: [ObjectURI], _ message: WorkerMessage, _ id: WorkerID) {
    if !progress.isEmpty { for job in jobs { progress[job] = nil } }
    coordinator.workerSaid(message, id)
    statusServer?.publish(ended: jobs)
    scheduleCheckpoint()
  }

  func disconnected(_ id: WorkerID) {
    coordinator.workerLeft(id)
    supervisor.disconnected(id)
  }
}
