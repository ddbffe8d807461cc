import CSystem
import Foundation
import Glibc
import Jobs
import LinuxSystem
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
  let problems = RecentProblems()
  let output = WorkerOutputQueue()
  /// Jobs whose attempt has ended in this turn, by worker.
  var endedInTurn: [WorkerID: [JobKey]] = [:]
  var history = PoolHistory(now: Clock.now)
  /// Looks at the whole pool that wait for the store.
  var looks: [Int: Look] = [:]
  var metricsTimer: TimerQueue.Token?
  var serviceManager: ServiceManager?

  let mailbox: Mailbox<JobSourceEvent>
  private let signals: SignalSource?
  /// How often a signal has asked for the end.
  private var stopRequests = 0
  var directoryWatch: DirectoryWatch?
  var periodicWatch: DirectoryWatch?
  /// The store's write-ahead log, when it was looked at, how long it is left alone after that, and the newest job that was seen.
  var commitWatch: FileWatch?
  var lastCommitLook = 0.0
  var commitPause = PoolServer.commitPauses.lowerBound
  var newestJob: Int64 = 0
  var periodicTimer: TimerQueue.Token?
  var clockWatch: ClockWatch?
  /// The names of the plugins that run a kind.
  var pluginsByKind: [String: [String]] = [:]
  /// What is wrong with periodic entries, said once.
  var periodicMessages: Set<String> = []
  var periodicFlight = SingleFlight()
  var dueTimer: TimerQueue.Token?
  private var deadlineTimer: (at: Double, token: TimerQueue.Token)?
  var rescanTimer: TimerQueue.Token?
  var lookAgainTimer: TimerQueue.Token?
  var storeTimer: TimerQueue.Token?
  var logWatch = LogWatch()
  var heartbeat = Heartbeat()
  var heartbeatTimer: TimerQueue.Token?
  var dueFlight = SingleFlight()
  private var demandHasChanged = false
  /// Requests that wait for the store, with how many jobs they have changed already.
  var tickets: [Int: (client: StatusServer.Client, count: Int)] = [:]
  var lastTicket = 0
  var nameAskers: [Int: NameAsker] = [:]
  /// Names in options of which it was said that nobody knows them.
  var toldOptions: Set<String> = []
  /// What the queue directory's troubles were when they were told.
  var repeated = RepeatedTrouble()
  /// Jobs that are being deleted: none of them may begin.
  var withheld: Set<JobKey> = []
  var deletions: [Int: Deletion] = [:]
  /// Senders who wait to hear which jobs came of their submissions.
  var submissionAskers: [Int: SubmissionAsker] = [:]
  var submissionFlight = SingleFlight()
  /// Workers of an earlier pool that are still alive, by pid.
  var survivors: [Int32: Survivor] = [:]
  /// Crashes that no pool has seen, until the plugins are known.
  var uncountedCrashes: [JobSourceClaim] = []
  /// The store's files that are open, and what has happened to them.
  var storeFiles: StoreFiles?
  var storeFilesWatch: FileNameWatch?
  var storeFailure: String?
  private(set) var isStopping = false
  var isFinishing = false
  var exitCode: Int32 = 0

  /// The signals that a pool takes.
  static let signals = [SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGTTIN, SIGTTOU, SIGCHLD]

  /// - Parameter signals: a source of ``signals``; `nil` when the process has other uses for them.
  init(_ configuration: PoolConfiguration, source: any JobSource, signals: SignalSource? = nil) throws {
    self.configuration = configuration
    self.source = source
    self.signals = signals
    log = .records { [problems, output, log = configuration.log] record in
      problems.note(record)
      if !output.keeps(record) { log(record) }
    }
    loop = try EventLoop()
    mailbox = try Mailbox()
    let workerSocket = QueueLayout(root: configuration.queue).workerSocket
    let recorder = try configuration.recording.map { path in try ConversationRecorder(path: path) }
    coordinator.weights = QueueWeights(configuration.queueWeights)
    coordinator.queueLimits = QueueLimits(configuration.queueLimits)
    workerServer = try WorkerServer(path: workerSocket, loop: loop, log: log, recorder: recorder)
    let service = configuration.handlesSignals ? ServiceManager(ProcessInfo.processInfo.environment) : nil
    serviceManager = service
    supervisor = try Supervisor(
      loop: loop, log: log,
      configuration: .init(
        pluginDirectories: configuration.pluginDirectories, workers: configuration.workers,
        fixedWorkers: configuration.fixedWorkers,
        environment: configuration.workerEnvironment(socket: workerSocket), limits: configuration.limits))
    supervisor.delegate = self
    if configuration.handlesSignals {
      supervisor.orphans = OrphanedProcesses(loop: loop, log: log, pool: configuration.identity)
    }
    workerServer.delegate = self
    if let signals {
      try loop.watch(signals.descriptor, for: .readable) { [weak self, unowned signals] in
        for signal in signals.collect() { self?.handle(signal: signal) }
      }
    }
    try loop.deliver(from: mailbox) { [weak self] event in self?.handle(event) }
    loop.atEndOfTurn { [weak self] in self?.endTurn() }
  }

  /// Runs until the pool has been stopped. Returns the exit code.
  func run() -> Int32 {
    source.start { [mailbox] event in mailbox.post(event) }
    loop.run()
    logOutput()
    return exitCode
  }

  // MARK: The end of a turn

  /// Carries out what the coordinator wants, and sets the timers that follow from its state.
  private func endTurn() {
    carryOut()
    if demandHasChanged {
      demandHasChanged = false
      supervisor.rebalance()
      carryOut()
    }
    scheduleDeadline()
    scheduleHeartbeat()
    watchStore()
    workerServer.flush()
    statusServer?.flush()
    logOutput()
  }

  /// Does what the coordinator wants, until it wants nothing more.
  func carryOut() {
    coordinator.now = Clock.now
    while true {
      let effects = coordinator.takeEffects()
      if effects.isEmpty { return }
      for effect in effects { perform(effect) }
    }
  }

  private func perform(_ effect: CoordinatorEffect) {
    switch effect {
    case .send(let message, let id): workerServer.send(message, to: id)
    case .fetchReady(let query): source.fetchReady(query)
    case .release(let ended): source.release(after: ended)
    case .settle(let jobs, let settlement):
      tell(jobs, settlement)
      source.settle(jobs, settlement)
    case .cancelStored(let job): source.cancel([job], ticket: nil)
    case .lookForDueJobs: lookForDueJobs()
    case .killTimedOut(let id): supervisor.timedOut(id)
    case .worked(let id, let jobs): supervisor.worked(id, jobs: jobs)
    case .dismiss(let id, let refusal): workerServer.dismiss(id, refusal)
    case .saved(let change, let objects): statusServer?.publish(change, objects)
    case .demandChanged: demandHasChanged = true
    }
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

  /// TERM and INT drain; a second one ends at once what still runs, a third kills it, as QUIT does. HUP reloads, TTIN and TTOU scale.
  private func handle(signal: Int32) {
    switch signal {
    case SIGQUIT:
      stop(deadline: 0)
      supervisor.killAll()
    case SIGHUP: supervisor.reload()
    case SIGCHLD: supervisor.childEnded()
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

  /// A pool that can start nothing is of no use. Where the model has been replaced by one that does not fit the store any more, no worker
  /// can open it.
  func nothingCanBeStarted() {
    let misfit = StoreFitness.misfit(model: configuration.model, store: configuration.store).map {
      Pool.StartError.modelDoesNotFit(model: configuration.model, store: configuration.store, difference: $0)
    }
    log(.poolStopping, "stopping: no plugin can be started\(misfit.map { "; \($0)" } ?? "")")
    exitCode = misfit == nil ? Self.nothingCanBeStartedCode : Self.storeIsUnfitCode
    stop(deadline: 0)
  }

  /// The exit code of a pool whose store it cannot use as it is: another model, or no right to write.
  static let storeIsUnfitCode: Int32 = 7

  /// The exit code of a pool none of whose plugins can be started.
  static let nothingCanBeStartedCode: Int32 = 4

  /// Takes no more files, lets the workers finish for up to `deadline` seconds, then ends them, and `run` returns.
  func stop(deadline: Double) {
    if !isStopping {
      isStopping = true
      serviceManager?.stopping()
      loop.timers.cancel(rescanTimer)
      if let watch = directoryWatch { loop.unwatch(watch.descriptor) }
      directoryWatch = nil
      if let watch = periodicWatch { loop.unwatch(watch.descriptor) }
      periodicWatch = nil
      loop.timers.cancel(periodicTimer)
      endWatchingCommits()
      coordinator.close()
      coordinator.ledger?.stop()
    }
    supervisor.stop(deadline: deadline)
  }
}
