import LinuxSystem
import WorkerProtocol

/// Connects the worker processes with the coordinator: checks their hellos, hands on what they say, and tells the
/// supervisor what their jobs need.
final class WorkerService {
  let core: PoolCore
  let supervisor: Supervisor
  let sockets: WorkerServer
  let status: StatusService
  private let survivors: Survivors
  let checkpoints: WALCheckpoints
  private let output: WorkerOutputQueue
  private let heartbeat: HeartbeatTimer
  var sheeted = SheetedMessages()
  /// The processes of workers that leave the rows of their jobs to the pool. Their last lines are read when the
  /// supervisor has forgotten them.
  var leavingRows: [WorkerID: Int32] = [:]
  /// Failed jobs whose rows the pool writes now.
  var failing: Set<JobKey> = []
  let failures: FailureLog
  let usage: UsageMeter
  /// Jobs whose attempt has ended in this turn, by worker.
  var endedInTurn: [WorkerID: [JobKey]] = [:]
  /// The kinds of those jobs, which the coordinator has forgotten; empty where no slow statements are counted.
  private var kindsInTurn: [WorkerID: String] = [:]
  /// The names of the plugins that run a kind.
  private var pluginsByKind: [String: [String]] = [:]
  /// Called when the last worker of a pool that stops is gone.
  var whenGone: () -> Void = {}

  init(
    _ core: PoolCore, _ supervisor: Supervisor, sockets: WorkerServer, status: StatusService,
    survivors: Survivors, checkpoints: WALCheckpoints, output: WorkerOutputQueue
  ) {
    self.core = core
    self.supervisor = supervisor
    self.sockets = sockets
    self.status = status
    self.survivors = survivors
    self.checkpoints = checkpoints
    self.output = output
    failures = FailureLog(core)
    usage = UsageMeter(core, supervisor)
    heartbeat = HeartbeatTimer(core, supervisor, sockets)
    supervisor.delegate = self
    sockets.delegate = self
    status.explanations.use = { [usage] in usage.use(of: $0) }
  }

  /// Ends a turn of the loop: sets timers and writes to the sockets.
  func endTurn() {
    heartbeat.schedule()
    sockets.flush()
  }

  // MARK: The log

  /// Logs the output of workers in this turn, with the jobs that they ran.
  func writeOutput() {
    for var record in output.takeAll() {
      for case .worker(let number) in record.fields where record.event == .workerOutput {
        let id = WorkerID(number: number)
        let jobs = Set(endedInTurn[id] ?? []).union(core.coordinator.hands.workers[id]?.begun ?? [])
        if !jobs.isEmpty { record.fields.append(.jobs(core.coordinator.jobURIs.texts(jobs).sorted())) }
      }
      core.configuration.log(record)
    }
    if !endedInTurn.isEmpty { (endedInTurn, kindsInTurn) = ([:], [:]) }
  }

  /// Logs what a worker's death means for its jobs.
  func tell(_ jobs: [JobKey], _ settlement: Settlement) {
    let uris = core.coordinator.jobURIs.texts(jobs)
    let names = uris.joined(separator: " ")
    switch settlement {
    case .crashed(let obituary):
      core.log(
        .jobCrashed, "\(names) crashed: process \(obituary.pid) \(obituary.reason)", .pid(obituary.pid), .jobs(uris))
    case .timedOut(let obituary, let seconds):
      var reason = "took longer than \(Clock.text(seconds))"
      if case .usedTooMuch(let limit) = obituary.cause {
        reason = "used more than \(Clock.text(limit)) of processor time"
      }
      core.log(.jobTimedOut, "\(names) \(reason)", .pid(obituary.pid), .jobs(uris))
    case .cancelled:
      core.log(.jobCancelled, "\(names) did not stop when it was cancelled, and ended with its process", .jobs(uris))
    case .told: break
    }
  }
}

// MARK: - What the supervisor asks and tells

extension WorkerService: SupervisorDelegate {
  func demand() -> [String: Int] {
    core.coordinator.now = Clock.now
    return core.coordinator.demandByKind().reduce(into: [:]) { result, entry in
      for plugin in pluginsInNeed(of: entry.key) { result[plugin, default: 0] += entry.value }
    }
  }

  /// The plugins that need processes for jobs of a kind. Where several plugins offer the kind and one of them has a
  /// process that is up, the others need none: a slot for them would cost a start, and a plugin that hangs would keep
  /// it.
  private func pluginsInNeed(of kind: String) -> [String] {
    let names = pluginsByKind[kind] ?? []
    if names.count < 2 { return names }
    // A number that was set by hand does not grow with the jobs.
    let up = names.filter { supervisor.configuration.fixedWorkers[$0] == nil && supervisor.hasProcessUp(of: $0) }
    return up.isEmpty ? names : up
  }

  var busyWorkers: Set<WorkerID> { core.coordinator.hands.workers.busy }

  func work(of id: WorkerID) -> String? {
    guard let begun = core.coordinator.hands.workers[id]?.begun, let first = begun.first else { return nil }
    let name = core.coordinator.jobURIs[first].name
    return begun.count == 1 ? name : "\(name) and \(begun.count - 1) more"
  }

  func takes(_ line: String, of id: WorkerID) -> Bool {
    core.configuration.slowStatementTable?.take(line, from: id, kind: kind(of: id)) ?? false
  }

  /// The kind of the job that the worker runs, or of the last one that has ended in this turn: lines that it wrote may
  /// be read after its end.
  private func kind(of id: WorkerID) -> String? {
    let job = core.coordinator.hands.workers[id]?.begun.first
    return job.flatMap { core.coordinator.hands.jobs[$0]?.job.kind } ?? kindsInTurn[id]
  }

  func connect(_ id: WorkerID, _ connection: Connection) throws(SystemCallError) {
    try sockets.add(connection, of: id)
  }

  func drain(_ id: WorkerID) { core.coordinator.drain(id) }

  func workerDied(_ id: WorkerID, _ obituary: Obituary) {
    sockets.finish(id)
    sheeted.forget(id)
    leave(core.coordinator.hands.workers[id]?.held ?? [], id)
    for job in core.coordinator.hands.workers[id]?.begun ?? [] { endedInTurn[id, default: []].append(job) }
    core.coordinator.now = Clock.now
    usage.died(id, obituary)
    core.coordinator.workerDied(id, obituary)
    leavingRows[id] = nil
    core.configuration.slowStatementTable?.forget(id)
    core.coordinator.ledger?.remove(worker: id.number)
  }

  func pluginsChanged(_ plugins: [Plugin]) {
    let kinds = plugins.flatMap(\.description.kinds)
    pluginsByKind = plugins.reduce(into: [:]) { names, plugin in
      for kind in plugin.description.kinds { names[kind.kind, default: []].append(plugin.name) }
    }
    core.source.setKinds(kinds, areAll: supervisor.hasAskedAll)
    status.names.tellUnknownOptions()
    let configuration = core.configuration
    core.coordinator.setKinds(
      Dictionary(
        kinds.map { kind in
          (
            kind.kind,
            KindRules(
              limit: configuration.kindLimits[kind.kind] ?? kind.limit,
              rate: configuration.kindRates[kind.kind] ?? kind.rate)
          )
        }, uniquingKeysWith: { first, _ in first }))
    usage.limits = Dictionary(
      kinds.compactMap { kind in
        (configuration.kindProcessorTimes[kind.kind] ?? kind.processorTime).map { (kind.kind, $0) }
      }, uniquingKeysWith: { first, _ in first })
    survivors.countUncountedCrashes(of: supervisor.hasAskedAll ? nil : Set(kinds.map(\.kind)))
  }

  /// A pool that can start nothing ends. If its model was replaced by one that does not fit the store, no worker can
  /// open the store.
  func nothingCanBeStarted() {
    let (model, store) = (core.configuration.model, core.configuration.store)
    let misfit = ModelFit.difference(model: model, store: store).map {
      Pool.StartError.modelDoesNotFit(model: model, store: store, difference: $0)
    }
    core.log(.poolStopping, "stopping: no plugin can be started\(misfit.map { "; \($0)" } ?? "")")
    core.fail(misfit == nil ? .nothingCanBeStarted : .storeIsUnfit)
  }

  func supervisorStopped() { whenGone() }
}

// MARK: - What workers say

extension WorkerService: WorkerServerDelegate {
  /// Checks a hello. One that comes while the process is already told to end means nothing.
  private func greet(_ id: WorkerID, version: Int, kinds: [String]) {
    guard let worker = supervisor.workers[id], worker.life.state == .greeting else { return }
    guard ProtocolVersion.supported.contains(version) else {
      supervisor.refused(worker, because: .wrongVersion([version]))
      return sockets.dismiss(id, .version)
    }
    let described = Set(worker.plugin.description.kinds.map(\.kind))
    let foreign = kinds.filter { !described.contains($0) }
    guard foreign.isEmpty else {
      supervisor.refused(worker, because: .foreignKinds(foreign))
      return sockets.dismiss(id, .message)
    }
    core.coordinator.ledger?.add(worker: id.number, ProcessIdentity(of: worker.pid))
    if worker.plugin.description.settledByPool == true { leavingRows[id] = worker.pid }
    supervisor.cameUp(id)
    usage.cameUp(id, pid: worker.pid)
    core.coordinator.workerCameUp(id, kinds: kinds)
  }

  func received(_ message: WorkerMessage, from id: WorkerID) {
    core.coordinator.now = Clock.now
    switch message {
    case .hello(let version, let kinds) where core.coordinator.hands.workers[id] == nil:
      greet(id, version: version, kinds: kinds)
    case .begin(let uris):
      core.coordinator.statistics.wallClock = Date().timeIntervalSinceReferenceDate
      core.coordinator.workerSaid(message, id)
      if !usage.limits.isEmpty { usage.began(core.coordinator.inHand(uris, of: id), by: id) }
    case .progress:
      core.coordinator.workerSaid(message, id)
      checkpoints.walWasWritten()
    case .waiting(let reason, let uris):
      core.coordinator.workerSaid(message, id)
      tellWait(of: core.coordinator.inHand(uris, of: id), reason, id)
    case .done(let uris):
      let jobs = core.coordinator.inHand(uris, of: id)
      guard !jobs.isEmpty else { return }
      status.collector.history.note(done: jobs, now: core.coordinator.now)
      ended(jobs, message, id)
    case .settle(let outcome, let uri, let run): settle(outcome, uri, run: run, id)
    case .returned(let uris):
      let jobs = core.coordinator.inHand(uris, of: id)
      usage.ended(jobs, by: id)
      leave(jobs, id)
      core.coordinator.workerSaid(message, id)
    case .failed(let uri):
      let jobs = core.coordinator.inHand([uri], of: id)
      guard !jobs.isEmpty else { return }
      status.collector.history.noteFailure(now: core.coordinator.now)
      ended(jobs, message, id)
      for job in jobs { failures.failed(job) }
    default: core.coordinator.workerSaid(message, id)
    }
  }

  private func tellWait(of jobs: [JobKey], _ reason: StoreWait, _ id: WorkerID) {
    guard !jobs.isEmpty, let text = StoreWaitText.text(reason), let worker = supervisor.workers[id] else { return }
    let isBegun = jobs.contains { core.coordinator.hands.jobs[$0]?.begunAt != nil }
    let uris = core.coordinator.jobURIs.texts(jobs)
    core.log(
      .storeWaiting, "\(uris.joined(separator: " ")) waits to \(isBegun ? "be saved" : "begin"): \(text)",
      .pid(worker.pid), .jobs(uris), .path(core.configuration.store))
  }

  private func ended(_ jobs: [JobKey], _ message: WorkerMessage, _ id: WorkerID) {
    endedInTurn[id, default: []] += jobs
    if core.configuration.slowStatementTable != nil {
      kindsInTurn[id] = jobs.last.flatMap { core.coordinator.hands.jobs[$0]?.job.kind }
    }
    usage.ended(jobs, by: id)
    leave(jobs, id)
    core.coordinator.workerSaid(message, id)
    status.publish(ended: jobs)
    checkpoints.walWasWritten()
  }

  func brokeProtocol(_ error: MessageError, _ id: WorkerID) {
    if let worker = supervisor.workers[id] { supervisor.brokeProtocol(worker, error) }
  }

  func disconnected(_ id: WorkerID) {
    core.coordinator.workerLeft(id)
    supervisor.disconnected(id)
  }
}
