import Foundation
import Glibc
import Jobs
import LinuxSystem
import WorkerProtocol

/// A look at the whole pool: what is known here at once, then what the store says.
extension PoolServer {
  /// What is collected for a status, until the store has answered.
  struct Look {
    var status: PoolStatus
    /// Who had the store locked at the beginning.
    let holders: Set<Int32>
    let timeout: TimerQueue.Token
    let completion: (PoolStatus) -> Void
  }

  /// Seconds that the store gets to answer: a status without what only it knows is better than none.
  static let lookPatience = 5.0
  /// Who holds a lock twice in so many seconds keeps others waiting.
  static let lockInterval = 0.1

  /// Collects a status and hands it over on the loop.
  func look(completion: @escaping (PoolStatus) -> Void) {
    lastTicket += 1
    let ticket = lastTicket
    looks[ticket] = Look(
      status: status(), holders: StoreLocks.holders(store: configuration.store),
      timeout: loop.timers.after(Self.lookPatience) { [weak self] in self?.endLook(ticket) }, completion: completion)
    let running = coordinator.held.values.filter { $0.begunAt != nil }.map(\.job.key)
    source.look(at: history.lastEnded, running: running + survivors.values.flatMap(\.claims).map(\.job)) {
      [mailbox] in mailbox.post(.looked(ticket: ticket, $0))
    }
  }

  private func endLook(_ ticket: Int) {
    guard var look = looks.removeValue(forKey: ticket) else { return }
    loop.timers.cancel(look.timeout)
    let holders = look.holders.isEmpty ? [] : look.holders.intersection(StoreLocks.holders(store: configuration.store))
    look.status.lockHolders = holders.sorted().map { PoolStatus.LockHolder(pid: $0, command: ProcFile.command($0)) }
    look.completion(look.status)
  }

  func looked(_ ticket: Int, _ overview: StoreOverview) {
    guard let look = looks[ticket] else { return }
    looks[ticket]?.status.jobs = overview.jobs
    looks[ticket]?.status.walBytes = overview.log.bytes
    looks[ticket]?.status.walIsHeldByOthers = overview.log.isHeldByOthers
    looks[ticket]?.status.walReaders = overview.log.readers.sorted { $0.value < $1.value }.map { pid, since in
      PoolStatus.WALReader(pid: pid, command: ProcFile.command(pid), age: Clock.now - since)
    }
    looks[ticket]?.status.backlog = overview.backlog
    looks[ticket]?.status.backlogRest = overview.backlogRest
    looks[ticket]?.status.waitingTime = PoolStatus.Spread(overview.times.waiting)
    looks[ticket]?.status.runTime = PoolStatus.Spread(overview.times.running)
    looks[ticket]?.status.rejectedFiles = overview.rejectedFiles
    if look.holders.isEmpty { return endLook(ticket) }
    loop.timers.after(Self.lockInterval) { [weak self] in self?.endLook(ticket) }
  }

  private func status() -> PoolStatus {
    let workers = supervisor.workers.values.sorted { $0.id.number < $1.id.number }.map(status)
    let names = Set(supervisor.plugins.map(\.name)).union(supervisor.failures.keys).sorted()
    let plugins = names.map { name in
      let plugin = supervisor.plugins.first { $0.name == name }
      return PoolStatus.Plugin(
        name: name, version: plugin?.description.version, kinds: plugin?.description.kinds.map(\.kind) ?? [],
        workers: workers.count { $0.plugin == name }, failure: supervisor.failures[name].map { "\($0)" })
    }
    let counters = coordinator.counters
    var status = PoolStatus(
      pid: getpid(), store: URL(fileURLWithPath: configuration.store).path,
      model: URL(fileURLWithPath: configuration.model).path, phase: isStopping ? "stopping" : "running",
      age: Clock.now - startedAt,
      isPaused: coordinator.pauses.all, pausedQueues: coordinator.pauses.queues.sorted(),
      pausedKinds: coordinator.pauses.kinds.sorted(), workerCount: supervisor.configuration.workers, workers: workers,
      plugins: plugins, waiting: coordinator.waitingByKind,
      counters: .init(
        handedOut: counters.handedOut, done: counters.done, failed: counters.failed, returned: counters.returned,
        crashed: counters.crashed, timedOut: counters.timedOut),
      restarts: supervisor.restarts, rates: history.rates(now: Clock.now), problems: problems.all)
    status.storeFailure = storeFailure
    status.survivors = survivors.sorted { $0.key < $1.key }.map { pid, survivor in
      PoolStatus.Survivor(pid: pid, jobs: coordinator.jobURIs.texts(survivor.claims.map(\.job)).sorted())
    }
    return status
  }

  private func status(_ worker: WorkerProcess) -> PoolStatus.Worker {
    let known = coordinator.workers[worker.id]
    let progress = known?.begun.first.flatMap { coordinator.held[$0]?.progress }
    let begunAt = known?.begun.compactMap { coordinator.held[$0]?.begunAt }.min()
    let wait = known?.held.compactMap { coordinator.held[$0]?.storeWait }.first
    return PoolStatus.Worker(
      id: worker.id.number, plugin: worker.plugin.name, pid: worker.pid, phase: worker.phase.rawValue,
      age: Clock.now - worker.startedAt, credit: known?.credit ?? 0, holding: known?.held.count ?? 0,
      running: coordinator.jobURIs.texts(known?.begun ?? []).sorted(), progressDone: progress?.done,
      progressTotal: progress?.total, busy: begunAt.map { Clock.now - $0 }, jobsDone: worker.jobsDone,
      memory: ProcessUsage.residentBytes(of: worker.pid),
      processorTime: ProcessUsage.processorSeconds(of: worker.pid), isRetiring: worker.isRetiring,
      path: worker.plugin.path, lastLines: worker.lastLines, waitsForStore: wait?.rawValue)
  }

  // MARK: What is told without being asked

  /// Puts a worker's death into the log as what it means for its jobs.
  func tell(_ jobs: [JobKey], _ settlement: Settlement) {
    let uris = coordinator.jobURIs.texts(jobs)
    let names = uris.joined(separator: " ")
    switch settlement {
    case .crashed(let obituary):
      log(.jobCrashed, "\(names) crashed: process \(obituary.pid) \(obituary.reason)", .pid(obituary.pid), .jobs(uris))
    case .timedOut(let obituary, let seconds):
      log(.jobTimedOut, "\(names) took longer than \(seconds) seconds", .pid(obituary.pid), .jobs(uris))
    case .cancelled:
      log(.jobCancelled, "\(names) did not stop when it was cancelled, and ended with its process", .jobs(uris))
    }
  }

  /// Seconds between two writings of the metrics file.
  static let metricsInterval = 15.0

  /// Keeps the file of the node exporter's textfile collector up to date, if there is to be one.
  func keepMetricsFile() {
    guard let path = configuration.metricsFile, !isStopping else { return }
    look { [weak self] status in
      // At the end there is a last one, which this must not replace.
      guard let self, !isFinishing else { return }
      write(status, to: path)
      metricsTimer = loop.timers.after(Self.metricsInterval) { [weak self] in self?.keepMetricsFile() }
    }
  }

  /// Says in the metrics file that the pool does not run any more.
  func endMetricsFile() {
    if let path = configuration.metricsFile { write(status(), to: path) }
  }

  private func write(_ status: PoolStatus, to path: String) {
    do {
      try PrometheusText.write(status, to: path)
    } catch {
      log(.trouble, "the metrics file cannot be written: \(error)", .path(path))
    }
  }
}
