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
    for id in hands.workers.busy {
      guard let worker = hands.workers[id], worker.notBegun > 0, !worker.isDraining else { continue }
      let notBegun = worker.held.subtracting(worker.begun)
      if notBegun.contains(where: isPaused) { recall(worker.notBegun, from: id) }
    }
    giveBackUnwanted()
    effects.append(.demandChanged)
  }

  private func isPaused(_ key: JobKey) -> Bool {
    guard let job = hands.jobs[key]?.job else { return false }
    return pauses.all || pauses.kinds.contains(job.kind) || pauses.queues.contains(job.queue)
  }

  func isPaused(_ group: JobGroup) -> Bool {
    if case .queue(let queue) = group { pauses.queues.contains(queue) } else { false }
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

  /// Takes over what is paused in the store: people may ask any pool for it.
  mutating func setPauses(_ new: JobPauses) {
    let before = pauses
    guard new != before else { return }
    if new.all, !before.all { pause(.everything) }
    for queue in new.queues.subtracting(before.queues).sorted() { pause(.queue(queue)) }
    for kind in new.kinds.subtracting(before.kinds).sorted() { pause(.kind(kind)) }
    pauses = new
    let (queues, kinds) = (before.queues.subtracting(new.queues), before.kinds.subtracting(new.kinds))
    guard before.all && !new.all || !queues.isEmpty || !kinds.isEmpty else { return }
    for kind in kinds { refresh(kind) }
    for queue in queues { reopen(queue: queue) }
    refetchAll()
    dispatch()
  }

  /// Hands out no more jobs, since the pool ends. Unlike a pause it cannot be taken back.
  mutating func close() {
    isClosed = true
    giveBack(Set(windows.all.keys.map(\.kind)))
    effects.append(.demandChanged)
  }

  /// Cancels a job. A job in a window is taken out of it, and its row is written. One in a hand is asked to stop; if it
  /// has begun and does not stop, its process is killed.
  mutating func cancel(_ job: JobKey) {
    if let worker = hands.cancel(job, now: now) {
      effects.append(.send(.cancel(jobURIs[job]), to: worker))
    } else {
      forget([job])
      cancelStored(job)
    }
  }

  /// Takes jobs out of the windows, because their rows are about to change.
  mutating func forget(_ jobs: [JobKey]) {
    forgetReady(jobs)
    kinds.forgetSuspects(jobs)
    survivors.forgetSuspects(jobs)
    ledger?.forget(jobs)
    windows.noteEnded(jobs)
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
