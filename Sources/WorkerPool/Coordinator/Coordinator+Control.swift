import WorkerProtocol

/// What people ask for: pausing and cancelling; and what passes with time: claims and deadlines.
extension Coordinator {
  /// Hands out nothing more: of all, or of a queue, or of a kind. Jobs in hand go on.
  mutating func pause(_ scope: PauseScope) {
    switch scope {
    case .everything: isPaused = true
    case .queue(let queue): pausedQueues.insert(queue)
    case .kind(let kind): pausedKinds.insert(kind)
    }
    for (kind, var window) in windows where window.count > 0 {
      let before = window.count
      window.remove { !isRunnable($0) }
      if window.count != before { window.isComplete = false }
      windows[kind] = window
    }
    effects.append(.demandChanged)
  }

  /// Takes a pause back. Resuming everything takes back the pauses of queues and kinds too.
  mutating func resume(_ scope: PauseScope) {
    switch scope {
    case .everything:
      isPaused = false
      pausedQueues = []
      pausedKinds = []
    case .queue(let queue): pausedQueues.remove(queue)
    case .kind(let kind): pausedKinds.remove(kind)
    }
    lookForNewJobs()
  }

  /// Stops a job: it is taken out of the window, or out of its worker's hand, or asked to stop; its row says the rest.
  mutating func cancel(_ uri: ObjectURI) {
    if let entry = held[uri] {
      held[uri]?.isCancelled = true
      effects.append(.send(.cancel(uri), to: entry.worker))
    } else {
      forget([uri])
      effects.append(.cancelStored(uri))
    }
  }

  /// Takes jobs out of the window, because their rows are about to be changed.
  mutating func forget(_ uris: [ObjectURI]) {
    let gone = Set(uris)
    for (kind, var window) in windows where gone.contains(where: window.contains) {
      window.remove { gone.contains($0.uri) }
      windows[kind] = window
    }
    noteEnded(uris)
  }

  /// When the first job in hand has to be over.
  var nextDeadline: Double? { workers.values.compactMap(\.deadline).min() }

  /// Kills the workers whose jobs should have been over by now.
  mutating func deadlinePassed() {
    for (id, worker) in workers where worker.deadline.map({ $0 <= now }) == true {
      workers[id]?.deadline = nil
      effects.append(.killTimedOut(id))
    }
  }

  /// Whether there will be claims to write or to remove.
  var hasClaimChanges: Bool { !unclaimedBegun.isEmpty || !endedClaims.isEmpty }

  /// Takes the claims to write, of jobs that have been running for a while, and those to remove.
  mutating func takeClaimChanges() -> ClaimChanges {
    var changes = ClaimChanges()
    for uri in unclaimedBegun {
      guard let entry = held[uri], let begunAt = entry.begunAt else {
        unclaimedBegun.remove(uri)
        continue
      }
      guard begunAt + Self.claimDelay <= now else { continue }
      unclaimedBegun.remove(uri)
      claimed.insert(uri)
      changes.added.append(ClaimChanges.Claim(job: uri, worker: entry.worker))
    }
    changes.removed = Array(endedClaims)
    endedClaims.removeAll()
    return changes
  }

  /// Jobs of each kind that nobody has begun, in the window and in workers' hands.
  var waitingByKind: [String: Int] {
    var waiting = windows.mapValues(\.count)
    for kind in windows.keys {
      waiting[kind, default: 0] += (inHandByKind[kind] ?? 0)
    }
    for worker in workers.values {
      for uri in worker.begun {
        if let kind = held[uri]?.job.kind { waiting[kind, default: 1] -= 1 }
      }
    }
    return waiting
  }
}

/// What a pause is about.
public enum PauseScope: Hashable, Sendable {
  case everything
  case queue(String)
  case kind(String)
}
