import Jobs
import WorkerProtocol

/// What people ask for: pausing, resuming and cancelling.
extension Coordinator {
  /// Hands out no more jobs: of all, of a queue, or of a kind. Jobs that have begun go on; others come back.
  mutating func pause(_ scope: PauseScope) {
    switch scope {
    case .everything: pauses.all = true
    case .queue(let queue): pauses.queues.insert(queue)
    case .kind(let kind):
      pauses.kinds.insert(kind)
      refresh(kind)
    }
    for (id, worker) in workers where worker.notBegun > 0 && !worker.isDraining {
      let notBegun = worker.held.subtracting(worker.begun)
      if notBegun.contains(where: isPaused) { recall(worker.notBegun, from: id) }
    }
    giveBackUnwanted()
    effects.append(.demandChanged)
  }

  private func isPaused(_ key: JobKey) -> Bool {
    guard let job = held[key]?.job else { return false }
    return pauses.all || pauses.kinds.contains(job.kind) || pauses.queues.contains(job.queue)
  }

  /// Takes a pause back. Queues and kinds that are paused by themselves stay so when the pause of everything ends.
  mutating func resume(_ scope: PauseScope) {
    let before = pauses
    switch scope {
    case .everything: pauses.all = false
    case .queue(let queue): pauses.queues.remove(queue)
    case .kind(let kind): pauses.kinds.remove(kind)
    }
    for kind in before.kinds { refresh(kind) }
    for queue in before.queues.subtracting(pauses.queues) { reopen(queue: queue) }
    refetchAll()
    dispatch()
  }

  /// Hands out no more jobs, since the pool ends. Unlike a pause it cannot be taken back.
  mutating func close() {
    isClosed = true
    giveBack(Set(windows.keys.map(\.kind)))
    effects.append(.demandChanged)
  }

  /// Cancels a job. A job in a window is taken out of it, and its row is written. One in a hand is asked to stop; if it
  /// has begun and does not stop, its process is killed.
  mutating func cancel(_ job: JobKey) {
    if let entry = held[job] {
      held[job]?.isCancelled = true
      ledger?.cancel(job)
      effects.append(.send(.cancel(jobURIs[job]), to: entry.worker))
      if entry.begunAt != nil {
        held[job]?.deadline = min(entry.deadline ?? .infinity, now + Self.stopGrace)
        setDeadline(entry.worker)
      }
    } else {
      forget([job])
      cancelStored(job)
    }
  }

  /// Takes jobs out of the windows, because their rows are about to change.
  mutating func forget(_ jobs: [JobKey]) {
    forgetReady(jobs)
    let suspects = suspectKeys.intersection(jobs)
    if !suspects.isEmpty {
      suspectKeys.subtract(suspects)
      for kind in activeKinds { kinds[kind]?.suspects.removeAll { suspects.contains($0.key) } }
    }
    survivors.suspects.subtract(jobs)
    ledger?.forget(jobs)
    noteEnded(jobs)
  }
}

/// What a pause is about.
public enum PauseScope: Hashable, Sendable {
  /// All jobs.
  case everything
  /// The jobs of the queue with that name.
  case queue(String)
  /// The jobs of this kind.
  case kind(String)
}
