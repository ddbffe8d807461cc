import LinuxSystem
import WorkerProtocol

/// What the supervisor asks and tells.
extension PoolServer: SupervisorDelegate {
  /// Seconds that the store has for its last words when all workers are gone: a disk that hangs must not keep the pool from ending.
  static let finishPatience = 20.0

  func waitingJobs() -> [String: Int] {
    coordinator.now = Clock.now
    return coordinator.startableByKind().reduce(into: [:]) { result, entry in
      for plugin in pluginsByKind[entry.key] ?? [] { result[plugin, default: 0] += entry.value }
    }
  }

  func isBusy(_ id: WorkerID) -> Bool { coordinator.workers[id]?.held.isEmpty == false }

  func work(of id: WorkerID) -> String? {
    guard let begun = coordinator.workers[id]?.begun, let first = begun.first else { return nil }
    let name = coordinator.jobURIs[first].name
    return begun.count == 1 ? name : "\(name) and \(begun.count - 1) more"
  }

  func processStarted(_ id: WorkerID) { workerServer.admitWaiting() }

  func drain(_ id: WorkerID) { coordinator.drain(id) }

  func workerDied(_ id: WorkerID, _ obituary: Obituary) {
    workerServer.finish(id)
    for job in coordinator.workers[id]?.begun ?? [] { endedInTurn[id, default: []].append(job) }
    coordinator.now = Clock.now
    coordinator.workerDied(id, obituary)
    coordinator.ledger?.remove(worker: id.number)
  }

  func pluginsChanged(_ plugins: [Plugin]) {
    let kinds = plugins.flatMap(\.description.kinds)
    pluginsByKind = plugins.reduce(into: [:]) { names, plugin in
      for kind in plugin.description.kinds { names[kind.kind, default: []].append(plugin.name) }
    }
    source.setKinds(kinds)
    tellUnknownOptions()
    coordinator.setKinds(
      Dictionary(
        kinds.map { kind in
          (
            kind.kind,
            KindRules(
              limit: configuration.kindLimits[kind.kind] ?? kind.limit,
              rate: configuration.kindRates[kind.kind] ?? kind.rate)
          )
        }, uniquingKeysWith: { first, _ in first }))
    countUncountedCrashes()
  }

  func supervisorStopped() {
    guard !isFinishing else { return }
    isFinishing = true
    // The last worker may have crashed: that is noted before the end.
    carryOut()
    endMetricsFile()
    source.finish()
    loop.timers.after(Self.finishPatience) { [weak self] in
      guard let self else { return }
      log(
        .trouble,
        "the store has not answered for \(Int(Self.finishPatience)) s; the next pool finds what is to be noted there")
      exitCode = 1
      loop.stop()
    }
  }
}

/// What comes through the workers' sockets.
extension PoolServer: WorkerServerDelegate {
  func admit(
    version: Int, token: String, kinds: [String], peer: PeerCredentials
  ) -> Admission {
    if supervisor.isStarting(token: token) { return .later }
    guard let worker = supervisor.worker(token: token, peer: peer), worker.phase == .starting else {
      if let worker = supervisor.worker(pid: peer.pid), worker.phase == .starting {
        supervisor.refused(worker, because: .refused(.token))
      }
      return .refused(.token)
    }
    guard ProtocolVersion.supported.contains(version) else {
      supervisor.refused(worker, because: .wrongVersion([version]))
      return .refused(.version)
    }
    coordinator.ledger?.add(worker: worker.id.number, ProcessIdentity(of: worker.pid))
    supervisor.cameUp(worker.id)
    return .admitted(worker.id)
  }

  func received(_ message: WorkerMessage, from id: WorkerID) {
    coordinator.now = Clock.now
    switch message {
    case .hello(_, _, let kinds) where coordinator.workers[id] == nil: coordinator.workerCameUp(id, kinds: kinds)
    case .progress:
      coordinator.workerSaid(message, id)
      logWasWritten()
    case .waiting(let reason, let uris):
      coordinator.workerSaid(message, id)
      tellWait(of: uris, reason, id)
    case .done(let uris):
      let jobs = uris.compactMap(coordinator.jobURIs.key)
      history.note(done: jobs, now: coordinator.now)
      ended(jobs, message, id)
    case .failed(let uri):
      history.noteFailure(now: coordinator.now)
      log(.jobFailed, "\(uri) failed; `workerpool jobs show` with it says why", .jobs([uri.description]))
      ended([uri].compactMap(coordinator.jobURIs.key), message, id)
    default: coordinator.workerSaid(message, id)
    }
  }

  private func tellWait(of uris: [ObjectURI], _ reason: StoreWait, _ id: WorkerID) {
    guard let text = StoreWaitText.text(reason), let worker = supervisor.workers[id] else { return }
    let isBegun = uris.compactMap(coordinator.jobURIs.key).contains { coordinator.held[$0]?.begunAt != nil }
    log(
      .storeWaiting,
      "\(uris.map(\.description).joined(separator: " ")) waits to \(isBegun ? "be saved" : "begin"): \(text)",
      .pid(worker.pid), .jobs(uris.map(\.description)), .path(configuration.store))
  }

  private func ended(_ jobs: [JobKey], _ message: WorkerMessage, _ id: WorkerID) {
    endedInTurn[id, default: []] += jobs
    coordinator.workerSaid(message, id)
    publish(ended: jobs)
    logWasWritten()
  }

  func cannotAccept(_ error: SystemCallError) { supervisor.acceptFailure = (Clock.now, error) }

  func disconnected(_ id: WorkerID) {
    coordinator.workerLeft(id)
    supervisor.disconnected(id)
  }
}
