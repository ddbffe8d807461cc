import Jobs
import WorkerProtocol

/// Workers that leave the rows of their jobs to the pool: these get a sheet with each job, and answer with `SETTLE`.
extension WorkerService {
  private func leavesRows(_ id: WorkerID) -> Bool { leavingRows[id] != nil }

  // MARK: What they get

  /// Sends a message of the coordinator. `RUN` waits until the sheets of its jobs are written.
  func send(_ message: CoordinatorMessage, to id: WorkerID) {
    if case .run(let uris) = message, leavesRows(id) {
      sheeted.keep(run: uris, to: id)
      var runs: [JobKey: Int] = [:]
      for uri in uris { runs[uri.key] = core.coordinator.hands.jobs[uri.key]?.run }
      core.source.writeSheets(runs, for: id)
    } else if !sheeted.keeps(message, to: id) {
      sockets.send(message, to: id)
    }
  }

  /// The sheets of the worker's next `RUN` are written. Jobs that do not run any more, or cannot, are answered as a
  /// worker would answer that finds the row so.
  func wroteSheets(for id: WorkerID, ended: [JobKey], failed: [JobKey], _ reason: String?) {
    guard let (uris, messages) = sheeted.release(id) else { return }
    let (endedJobs, failedJobs) = (Set(ended), Set(failed))
    if let reason {
      core.log(.trouble, "jobs cannot be described to worker \(id) yet: \(reason)")
      core.coordinator.workerSaid(.returned(uris), id)
    } else {
      let run = uris.filter { !endedJobs.contains($0.key) && !failedJobs.contains($0.key) }
      if !run.isEmpty { sockets.send(.run(run), to: id) }
      if !ended.isEmpty { core.coordinator.workerSaid(.done(uris.filter { endedJobs.contains($0.key) }), id) }
      for uri in uris where failedJobs.contains(uri.key) { received(.failed(uri), from: id) }
    }
    for message in messages { sockets.send(message, to: id) }
  }

  // MARK: What they answer

  /// A job has ended, and the pool writes how.
  func settle(_ outcome: JobOutcome, _ uri: ObjectURI, run: Int, _ id: WorkerID) {
    guard leavesRows(id) else {
      brokeProtocol(.notSettledByPool, id)
      return sockets.dismiss(id, .message)
    }
    let jobs = core.coordinator.inHand([uri], of: id).filter { core.coordinator.hands.jobs[$0]?.run == run }
    guard !jobs.isEmpty else { return }
    switch outcome {
    case .succeeded: status.collector.history.note(done: jobs, now: core.coordinator.now)
    case .failed:
      status.collector.history.noteFailure(now: core.coordinator.now)
      failing.formUnion(jobs)
    }
    endedInTurn[id, default: []] += jobs
    usage.ended(jobs, by: id)
    core.coordinator.workerSaid(.settle(outcome, uri, run: run), id)
  }

  /// The settlement with the process of the worker that told it.
  func withProcess(_ settlement: Settlement) -> Settlement {
    guard case .told(var end) = settlement else { return settlement }
    end.pid = leavingRows[end.worker] ?? 0
    return .told(end)
  }

  /// The rows of these jobs are written.
  func settled(_ jobs: [JobKey]) {
    checkpoints.walWasWritten()
    for job in jobs where failing.remove(job) != nil { failures.failed(job) }
  }

  /// The jobs leave the worker's hand by another answer, or with its process: their sheets are not needed any more.
  func leave(_ jobs: some Collection<JobKey>, _ id: WorkerID) {
    if !jobs.isEmpty, leavesRows(id) { core.source.removeSheets(Array(jobs)) }
  }
}
