import Jobs
import WorkerProtocol

/// What people ask for: pausing and cancelling; and what passes with time: deadlines.
extension Coordinator {
  /// Hands out nothing more: of all, or of a queue, or of a kind. Jobs in hand go on.
  mutating func pause(_ scope: PauseScope) {
    switch scope {
    case .everything: pauses.all = true
    case .queue(let queue): pauses.queues.insert(queue)
    case .kind(let kind): pauses.kinds.insert(kind)
    }
    effects.append(.demandChanged)
  }

  /// Takes a pause back. Resuming everything takes back the pauses of queues and kinds too.
  mutating func resume(_ scope: PauseScope) {
    switch scope {
    case .everything: pauses = JobPauses()
    case .queue(let queue): pauses.queues.remove(queue)
    case .kind(let kind): pauses.kinds.remove(kind)
    }
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
  mutating func cancel(_ uri: ObjectURI) {
    if let entry = held[uri] {
      held[uri]?.isCancelled = true
      effects.append(.send(.cancel(uri), to: entry.worker))
      if entry.begunAt != nil {
        let deadline = workers[entry.worker]?.deadline ?? .infinity
        workers[entry.worker]?.deadline = min(deadline, now + Self.stopGrace)
      }
    } else {
      forget([uri])
      effects.append(.cancelStored(uri))
    }
  }

  /// Takes jobs out of the window, because their rows are about to be changed.
  mutating func forget(_ uris: [ObjectURI]) {
    let gone = Set(uris)
    for (key, window) in windows where gone.contains(where: window.contains) {
      windows[key]?.remove { gone.contains($0.uri) }
    }
    for kind in kinds.keys { kinds[kind]?.suspects.removeAll { gone.contains($0.uri) } }
    inheritedSuspects.subtract(gone)
    ledger?.forget(uris)
    noteEnded(uris)
  }

  /// When something is to be done though nothing happens: a job in hand has to be over, or a rate lets the next one start.
  var nextDeadline: Double? {
    let deadline = workers.values.compactMap(\.deadline).min()
    guard let nextRateTime else { return deadline }
    return min(deadline ?? nextRateTime, nextRateTime)
  }

  /// Kills the workers whose jobs should have been over by now, and hands out what a rate kept back.
  mutating func deadlinePassed() {
    for (id, worker) in workers where worker.deadline.map({ $0 <= now }) == true {
      workers[id]?.deadline = nil
      effects.append(.killTimedOut(id))
    }
    if let nextRateTime, nextRateTime <= now { dispatch() }
  }

  /// Jobs of each kind that nobody has begun and that are not paused, in the window and in workers' hands.
  var waitingByKind: [String: Int] {
    var waiting = notBegunByKind
    for (kind, state) in kinds { waiting[kind, default: 0] += state.suspects.count { isOpen($0.window) } }
    for (key, window) in windows where isOpen(key) { waiting[key.kind, default: 0] += window.count }
    return waiting
  }

  /// Jobs of each kind that would begin now if there were a process for each: those that wait, as far as limits and rates let them.
  var startableByKind: [String: Int] {
    var startable: [String: Int] = [:]
    for (kind, state) in kinds { startable[kind] = state.suspects.count { isOpen($0.window) } }
    for (key, window) in windows where isOpen(key) && best(in: key) != nil {
      startable[key.kind, default: 0] += window.count
    }
    for (kind, count) in startable where count > 0 {
      guard var state = kinds[kind] else { continue }
      startable[kind] = min(count, state.room(now: now))
    }
    return startable.merging(notBegunByKind, uniquingKeysWith: +)
  }

  /// Jobs of each kind that workers have in hand and have not begun.
  private var notBegunByKind: [String: Int] {
    var counts = kinds.mapValues(\.inHand)
    for worker in workers.values {
      for uri in worker.begun {
        if let kind = held[uri]?.job.kind { counts[kind, default: 1] -= 1 }
      }
    }
    return counts
  }
}

/// What a pause is about.
public enum PauseScope: Hashable, Sendable {
  case everything
  case queue(String)
  case kind(String)
}
