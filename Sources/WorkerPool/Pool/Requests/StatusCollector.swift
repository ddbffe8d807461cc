import Foundation
import Glibc
import Jobs
import LinuxSystem
import WorkerProtocol

/// Collects a status of the whole pool: first what this process knows, then what the store says and what the kernel
/// does.
final class StatusCollector {
  /// What is collected for a status, until the store has answered.
  private struct Collection {
    var status: PoolStatus
    /// The store has answered, or its time is over.
    var isStoreRead = false
    /// What the kernel says of the processes.
    var sample: ProcessSample?
    let timeout: TimerQueue.Token
    let completion: (PoolStatus) -> Void
  }

  /// What the kernel says of processes. A thousand workers have thousands of files under `/proc`.
  fileprivate struct ProcessSample: Sendable {
    var memory: [Int32: Int] = [:]
    var processorTime: [Int32: Double] = [:]
    /// Those that a signal or a debugger has stopped.
    var stopped: Set<Int32> = []
    /// Who has the store locked.
    var lockHolders: Set<Int32> = []

    init(of workers: [Int32], store: String) {
      for pid in workers {
        memory[pid] = ProcessUsage.residentBytes(of: pid)
        processorTime[pid] = ProcessUsage.processorSeconds(of: pid)
        if ProcFile.isStopped(pid) { stopped.insert(pid) }
      }
      lockHolders = StoreLocks.holders(store: store)
    }
  }

  /// Seconds that the store has to answer where only numbers of now are of use.
  private static let storeTimeout = 5.0
  /// Seconds for which the store's last numbers are shown in place of newer ones.
  private static let mostAge = 60.0
  /// Seconds that the kernel has for the names of those who have the store locked.
  private static let nameTimeout = 0.5
  /// Seconds between two checks of who has the store locked: a process that both checks find keeps others waiting.
  static let lockInterval = 0.1

  private let core: PoolCore
  private let supervisor: Supervisor
  private let survivors: Survivors
  private let storeFiles: StoreFileWatch
  private let problems: RecentProblems
  private let mailbox: Mailbox<JobSourceEvent>
  private let startedAt = Clock.now
  private var collections = Tickets<Collection>()
  /// The store's last numbers, and when they came.
  private var last: (overview: StoreOverview, at: Double)?
  /// How often jobs end, and which ended last.
  var history = PoolHistory(now: Clock.now)

  /// - Parameter mailbox: where the store's answer comes to the loop.
  init(
    _ core: PoolCore, _ supervisor: Supervisor, survivors: Survivors, storeFiles: StoreFileWatch,
    problems: RecentProblems, mailbox: Mailbox<JobSourceEvent>
  ) {
    self.core = core
    self.supervisor = supervisor
    self.survivors = survivors
    self.storeFiles = storeFiles
    self.problems = problems
    self.mailbox = mailbox
  }

  /// Collects a status for those who ask, and hands it over on the loop. If the store does not answer in time, the
  /// status has its last numbers and their age, unless they are old.
  ///
  /// - Parameters:
  ///   - others: jobs that other pools of the store run; their rows say that they are available.
  ///   - seconds: the time that the store has.
  func collectForReaders(
    alsoRunning others: [JobKey] = [], within seconds: Double = StatusRequest.patience,
    completion: @escaping (PoolStatus) -> Void
  ) {
    collect(alsoRunning: others, within: seconds) { [self] in
      var status = $0
      addLastNumbers(to: &status)
      completion(status)
    }
  }

  /// Collects a status and hands it over on the loop: without the store's part, if that does not answer in time.
  ///
  /// - Parameters:
  ///   - others: jobs that other pools of the store run; their rows say that they are available.
  ///   - seconds: the time that the store has.
  func collect(
    alsoRunning others: [JobKey] = [], within seconds: Double = storeTimeout,
    completion: @escaping (PoolStatus) -> Void
  ) {
    let ticket = collections.next()
    let timeout = core.loop.timers.after(seconds) { [weak self] in self?.timeIsOver(ticket) }
    let status = status()
    collections[ticket] = Collection(status: status, timeout: timeout, completion: completion)
    lookAtProcesses(of: status) { [weak self] sample in
      self?.collections[ticket]?.sample = sample
      self?.completeIfComplete(ticket)
    }
    let running = core.coordinator.hands.jobs.values.filter { $0.begunAt != nil }.map(\.job.key)
    core.source.readOverview(at: history.lastEnded, running: running + survivors.jobs + others) { [mailbox] in
      mailbox.post(.overview(ticket: ticket, $0))
    }
  }

  /// Adds the store's last numbers and their age to a status that has none, unless they are old.
  private func addLastNumbers(to status: inout PoolStatus) {
    guard status.jobs == nil, let last, Clock.now - last.at <= Self.mostAge else { return }
    // What the kernel says is of now.
    let (holders, readers) = (status.lockHolders, status.walReaders)
    status.take(last.overview)
    (status.lockHolders, status.walReaders) = (holders, readers)
    status.storeAge = Clock.now - last.at
  }

  /// Collects a status without what the store says, and hands it over on the loop.
  func collectHere(completion: @escaping (PoolStatus) -> Void) {
    var status = status()
    lookAtProcesses(of: status) { sample in
      status.take(sample)
      completion(status)
    }
  }

  private func lookAtProcesses(of status: PoolStatus, completion: @escaping (ProcessSample) -> Void) {
    let pids = status.workers.compactMap(\.pid)
    core.loop.blocking.run(
      on: Self.processes, { [store = core.configuration.store] in ProcessSample(of: pids, store: store) },
      then: completion)
  }

  /// The store has answered.
  func storeAnswered(_ ticket: Int, _ overview: StoreOverview) {
    if overview.jobs != nil { last = (overview, Clock.now) }
    collections[ticket]?.status.take(overview)
    collections[ticket]?.isStoreRead = true
    completeIfComplete(ticket)
  }

  /// The store has not answered in time. What keeps it is told all the same.
  private func timeIsOver(_ ticket: Int) {
    guard collections[ticket]?.sample != nil else { return complete(ticket) }
    collections[ticket]?.isStoreRead = true
    core.loop.timers.after(Self.nameTimeout) { [weak self] in self?.complete(ticket) }
    completeIfComplete(ticket)
  }

  private func completeIfComplete(_ ticket: Int) {
    guard let collection = collections[ticket], collection.isStoreRead, let sample = collection.sample else { return }
    let readers = collection.status.walReaders ?? []
    if sample.lockHolders.isEmpty, readers.isEmpty { return complete(ticket) }
    core.loop.timers.after(sample.lockHolders.isEmpty ? 0 : Self.lockInterval) { [weak self] in
      guard let self else { return }
      let (store, holders) = (core.configuration.store, sample.lockHolders)
      core.loop.blocking.run(on: Self.processes) {
        let lasting = holders.isEmpty ? holders : holders.intersection(StoreLocks.holders(store: store))
        let named = lasting.union(readers.map(\.pid)).map { ($0, ProcFile.command($0)) }
        return (lasting, Dictionary(uniqueKeysWithValues: named))
      } then: { [weak self] (holders: Set<Int32>, names: [Int32: String]) in
        self?.collections[ticket]?.status.name(holders, names)
        self?.complete(ticket)
      }
    }
  }

  private static let processes = "the list of processes"

  /// Hands a status over, also one that lacks what did not answer in time.
  private func complete(_ ticket: Int) {
    guard var collection = collections.redeem(ticket) else { return }
    core.loop.timers.cancel(collection.timeout)
    if let sample = collection.sample { collection.status.take(sample) }
    collection.completion(collection.status)
  }

  // MARK: What is known without the store

  /// The status without what only the store knows.
  func status() -> PoolStatus {
    let coordinator = core.coordinator
    let workers = supervisor.workers.values.sorted { $0.id.number < $1.id.number }.map(worker)
    let counters = coordinator.statistics.counters
    var status = PoolStatus(
      pid: getpid(), store: core.configuration.place.absolute.text,
      model: URL(fileURLWithPath: core.configuration.model).path, phase: core.isStopping ? "stopping" : "running",
      age: Clock.now - startedAt, isPaused: coordinator.pauses.all, pausedQueues: coordinator.pauses.queues.sorted(),
      pausedKinds: coordinator.pauses.kinds.sorted(), workerCount: supervisor.configuration.workers, workers: workers,
      plugins: plugins(workers), waiting: coordinator.notBegunByKind,
      counters: .init(
        handedOut: counters.handedOut, done: counters.done, failed: counters.failed, returned: counters.returned,
        crashed: counters.crashed, timedOut: counters.timedOut),
      restarts: supervisor.restarts, rates: history.rates(now: Clock.now), problems: problems.all)
    status.kinds = coordinator.statistics.kinds.sorted { $0.key < $1.key }.map { kind, times in
      var kind = PoolStatus.Kind(
        kind: kind, waiting: times.waiting, running: times.running, counters: times.counters)
      kind.use = times.use
      return kind
    }
    for (kind, count) in core.coordinator.demandByKind().sorted(by: { $0.key < $1.key }) where count > 0 {
      status.set(kind: kind, \.couldBegin, to: count)
    }
    let limits = PoolStatus.Limit.all(of: coordinator)
    status.limits = limits.isEmpty ? nil : limits
    status.host = core.configuration.place.isServer ? ProcessInfo.processInfo.hostName : nil
    status.storeFailure = storeFiles.failure
    status.lockHolders = []
    status.longestTurn = core.loop.meter.longestTurn
    status.slowStatements = core.configuration.slowStatementTable?.status
    let hangs = core.loop.blocking.hangs
    status.hangs = hangs.isEmpty ? nil : hangs
    status.survivors = survivors.all.sorted { $0.key < $1.key }.map { pid, survivor in
      PoolStatus.Survivor(pid: pid, jobs: coordinator.jobURIs.texts(survivor.jobs.map(\.key)).sorted())
    }
    return status
  }

  private func plugins(_ workers: [PoolStatus.Worker]) -> [PoolStatus.Plugin] {
    let unknown = supervisor.unknownPlugins
    let names = Set(supervisor.plugins.map(\.name)).union(supervisor.failures.keys).union(unknown.keys)
    return names.sorted().map { name in
      let plugin = supervisor.plugins.first { $0.name == name }
      var status = PoolStatus.Plugin(
        name: name, version: plugin?.description.version, kinds: plugin?.description.kinds.map(\.kind) ?? [],
        workers: workers.count { $0.plugin == name }, failure: supervisor.failures[name].map { "\($0)" })
      if supervisor.discovery?.awaits(name) == true { status.isAsked = true }
      guard let asked = unknown[name] else { return status }
      status.isAsked = true
      let seconds = asked.map {
        "it has been asked for its kinds for \(Clock.text($0.rounded(.up))), and has not answered"
      }
      status.failure = status.failure ?? seconds ?? "it has not been asked for its kinds yet"
      return status
    }
  }

  private func worker(_ worker: WorkerProcess) -> PoolStatus.Worker {
    let coordinator = core.coordinator
    let hand = coordinator.hands.workers[worker.id]
    let progress = hand?.begun.first.flatMap { coordinator.hands.jobs[$0]?.progress }
    let begunAt = hand?.begun.compactMap { coordinator.hands.jobs[$0]?.begunAt }.min()
    let wait = hand?.held.compactMap { coordinator.hands.jobs[$0]?.storeWait }.first
    return PoolStatus.Worker(
      id: worker.id.number, plugin: worker.plugin.name, pid: worker.pid > 0 ? worker.pid : nil,
      phase: worker.life.phase.rawValue,
      age: Clock.now - worker.startedAt, credit: hand?.credit ?? 0, holding: hand?.held.count ?? 0,
      running: coordinator.jobURIs.texts(hand?.begun ?? []).sorted(), progressDone: progress?.done,
      progressTotal: progress?.total, busy: begunAt.map { Clock.now - $0 }, jobsDone: worker.jobsDone,
      isRetiring: worker.life.hasGivenSlotAway,
      path: worker.plugin.path, lastLines: worker.lastLines, waitsForStore: wait?.rawValue)
  }
}

extension PoolStatus.Limit {
  /// The limits that a coordinator keeps: those of kinds, then those of queues.
  static func all(of coordinator: Coordinator) -> [Self] {
    let kinds = coordinator.kinds.states.sorted { $0.key < $1.key }.compactMap { kind, state -> Self? in
      guard state.rules.limit != nil || state.rules.rate != nil else { return nil }
      return Self(
        kind: kind, limit: state.rules.limit, held: state.inHand + state.survivorJobs, rate: state.rules.rate)
    }
    let limits = coordinator.groups.queues
    let queues = limits.queues.map { queue in
      let group = JobGroup.queue(queue)
      let held = coordinator.groups.count(in: group) + coordinator.survivors.count(in: group)
      return Self(queue: queue, limit: limits.limit(of: queue), held: held)
    }
    return kinds + queues + limits.limitsByPattern.map { Self(queue: $0.pattern, limit: $0.limit, held: nil) }
  }
}

extension PoolStatus {
  /// Takes over what the kernel says of the workers.
  fileprivate mutating func take(_ sample: StatusCollector.ProcessSample) {
    for index in workers.indices {
      guard let pid = workers[index].pid else { continue }
      workers[index].memory = sample.memory[pid]
      workers[index].processorTime = sample.processorTime[pid]
      workers[index].isStopped = sample.stopped.contains(pid)
    }
  }

  /// Takes over who keeps others from writing, and what their programs and those of long readers are called.
  fileprivate mutating func name(_ holders: Set<Int32>, _ names: [Int32: String]) {
    lockHolders = holders.sorted().map { LockHolder(pid: $0, command: names[$0] ?? "") }
    walReaders = walReaders?.map { WALReader(pid: $0.pid, command: names[$0.pid] ?? "", age: $0.age) }
  }

  /// Takes over what the store says of itself and its jobs.
  fileprivate mutating func take(_ overview: StoreOverview) {
    jobs = overview.jobs
    walBytes = overview.wal.bytes
    walIsHeldByOthers = overview.wal.isHeldByOthers
    walReaders = overview.wal.readers.sorted { $0.value < $1.value }.map { pid, since in
      WALReader(pid: pid, command: "", age: Clock.now - since)
    }
    hosts = overview.members?.map {
      Host(
        name: $0.host, pid: $0.pid, queue: $0.queue, age: max(0, -$0.startedAt.timeIntervalSinceNow),
        version: overview.versions[$0.identity])
    }
    backlog = overview.backlog
    backlogRest = overview.backlogRest
    waitingTime = Spread(overview.times.waiting)
    runTime = Spread(overview.times.running)
    rejectedFiles = overview.rejectedFiles
    fullDisks = overview.fullDisks.isEmpty ? nil : overview.fullDisks
    stuck = overview.stuck.isEmpty ? nil : overview.stuck
    for (name, since) in overview.oldestWaiting.sorted(by: { $0.key < $1.key }) {
      set(kind: name, \.oldestWaiting, to: max(0, -since.timeIntervalSinceNow))
    }
  }

  /// Notes something of a kind, which is added if it is not there.
  fileprivate mutating func set<Value>(kind name: String, _ path: WritableKeyPath<Kind, Value?>, to value: Value) {
    var kinds = kinds ?? []
    let index = kinds.firstIndex { $0.kind == name } ?? kinds.endIndex
    if index == kinds.endIndex { kinds.append(Kind(kind: name)) }
    kinds[index][keyPath: path] = value
    self.kinds = kinds
  }
}
