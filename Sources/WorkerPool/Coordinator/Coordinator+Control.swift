import Jobs
import WorkerProtocol

/// What people ask for: pausing and cancelling; and what passes with time: deadlines.
extension Coordinator {
  /// Hands out nothing more: of all, or of a queue, or of a kind. Jobs in hand go on.
  mutating func pause(_ scope: PauseScope) {
    switch scope {
    case .everything: pauses.all = true
    case .queue(let queue): pauses.queues.insert(queue)
    case .kind(let kind):
      pauses.kinds.insert(kind)
      refresh(kind)
    }
    effects.append(.demandChanged)
  }

  /// Takes a pause back. Resuming everything takes back the pauses of queues and kinds too.
  mutating func resume(_ scope: PauseScope) {
    let before = pauses
    switch scope {
    case .everything: pauses = JobPauses()
    case .queue(let queue): pauses.queues.remove(queue)
    case .kind(let kind): pauses.kinds.remove(kind)
    }
    for kind in before.kinds { refresh(kind) }
    for queue in before.queues.subtracting(pauses.queues) { reopen(queue: queue) }
    lookForNewJobs()
    dispatch()
  }

  /// Hands out nothing more: the pool ends. No pause that a person could take back.
  mutating func close() {
    isClosed = true
    effects.append(.demandChanged)
  }

  /// Stops a job: it is taken out of the window, or out of its worker's hand, or asked to stop; its row says the rest. One that has
  /// begun and does not stop when asked is stopped with its process.
  mutating func cancel(_ job: JobKey) {
    if let entry = held[job] {
      held[job]?.isCancelled = true
      effects.append(.send(.cancel(jobURIs[job]), to: entry.worker))
      if entry.begunAt != nil {
        let deadline = workers[entry.worker]?.deadline ?? .infinity
        workers[entry.worker]?.deadline = min(deadline, now + Self.stopGrace)
      }
    } else {
      forget([job])
      effects.append(.cancelStored(job))
    }
  }

  /// Takes jobs out of the window, because their rows are about to be changed.
  mutating func forget(_ jobs: [JobKey]) {
    forgetReady(jobs)
    let suspects = suspectKeys.intersection(jobs)
    if !suspects.isEmpty {
      suspectKeys.subtract(suspects)
      for kind in activeKinds { kinds[kind]?.suspects.removeAll { suspects.contains($0.key) } }
    }
    inheritedSuspects.subtract(jobs)
    ledger?.forget(jobs)
    noteEnded(jobs)
  }

  /// When something has to be done though nothing happens: a job in hand has to be over, a hand has to be looked at, a rate lets the next
  /// job start, or a window may ask the store again.
  var nextDeadline: Double? {
    var next = handCheck ?? .infinity
    for worker in workers.values { if let deadline = worker.deadline { next = min(next, deadline) } }
    if !pauses.all, !isClosed, !waitsForStrangers {
      for kind in ratedOut { next = min(next, rateTime(kind) ?? .infinity) }
      for key in delayed { next = min(next, windows[key]?.nextLook ?? .infinity) }
    }
    return next < .infinity ? next : nil
  }

  /// When a rate lets the next job start that is kept back for it.
  private func rateTime(_ kind: String) -> Double? {
    guard let state = kinds[kind], state.runnable > 0 || !state.suspects.isEmpty, state.isBelowLimit, isOpen(kind)
    else {
      return nil
    }
    return state.pastStarts?.nextTime
  }

  /// Kills the workers whose jobs should have been over by now, and does what waited for its time.
  mutating func deadlinePassed() {
    for (id, worker) in workers where worker.deadline.map({ $0 <= now }) == true {
      workers[id]?.deadline = nil
      effects.append(.killTimedOut(id))
    }
    for key in delayed where windows[key]?.nextLook ?? 0 <= now {
      delayed.remove(key)
      look(key)
    }
    dispatch()
    // Nothing is handed out now, and nobody need be asked.
    if let time = handCheck, time <= now { handCheck = nil }
  }

  /// Jobs of each kind that nobody has begun and that are not paused, in the window and in workers' hands.
  var waitingByKind: [String: Int] {
    var waiting = kinds.filter { $0.value.inHand > 0 }.mapValues { $0.inHand - $0.begun }
    for kind in activeKinds where isOpen(kind) { waiting[kind, default: 0] += kinds[kind]?.suspects.count ?? 0 }
    for (key, window) in windows where isOpen(key.kind) && window.count > 0 {
      let paused = window.parked.reduce(0) { $0 + (isPaused($1.key) ? $1.value.count : 0) }
      waiting[key.kind, default: 0] += window.count - paused
    }
    return waiting
  }

  private func isPaused(_ group: JobGroup) -> Bool {
    if case .queue(let queue) = group { pauses.queues.contains(queue) } else { false }
  }

  /// Jobs of each kind that would begin now if there were a process for each: those that wait, as far as limits and rates let them. Kinds
  /// that are not named have none.
  ///
  /// - Complexity: the number of kinds that have jobs, however many kinds there are.
  mutating func startableByKind() -> [String: Int] {
    var startable: [String: Int] = [:]
    for kind in activeKinds {
      guard var state = kinds[kind] else { continue }
      var count = 0
      if isOpen(kind) {
        for lane in weights.lanes {
          let key = WindowKey(kind: kind, lane: lane)
          parkBlockedHead(of: key)
          count += windows[key]?.reach ?? 0
        }
        count += state.suspects.count { blockingGroup(of: $0) == nil }
      }
      startable[kind] = min(count, state.room(now: now)) + state.inHand - state.begun
    }
    return startable
  }
}

/// What a pause is about.
public enum PauseScope: Hashable, Sendable {
  case everything
  case queue(String)
  case kind(String)
}
