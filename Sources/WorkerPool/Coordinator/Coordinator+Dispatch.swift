import WorkerProtocol

/// Handing out jobs.
extension Coordinator {
  /// Whether the job may be handed out as things are.
  func isRunnable(_ job: WindowJob) -> Bool {
    !isPaused && !pausedKinds.contains(job.kind) && !pausedQueues.contains(job.queue)
      && !claimedElsewhere.contains(job.uri)
  }

  /// Gives ready jobs to workers that have credit: kinds with the best job first, the idlest worker first, and of many jobs each
  /// worker its share.
  mutating func dispatch() {
    guard !isPaused else { return }
    let kinds = windows.filter { $0.value.count > 0 && !pausedKinds.contains($0.key) }
      .sorted { one, other in
        guard let first = one.value.best, let second = other.value.best else { return one.value.best != nil }
        return first.precedes(second)
      }
    for (kind, _) in kinds { dispatch(kind) }
    for kind in windows.keys.sorted() {
      if windows[kind].map({ $0.jobs.count < JobWindow.low && !$0.isComplete }) == true { refill(kind) }
    }
    recallForIdleWorkers()
    effects.append(.demandChanged)
  }

  private mutating func dispatch(_ kind: String) {
    var room = limits[kind].map { max(0, $0 - (inHandByKind[kind] ?? 0)) } ?? .max
    let reserved = dispatchSuspects(kind, &room)
    let eligible = workers.filter { $0.value.freeCredit > 0 && $0.value.kinds.contains(kind) && $0.key != reserved }
      .sorted { ($0.value.held.count, $0.key.number) < ($1.value.held.count, $1.key.number) }
    var workersLeft = eligible.count
    var heldByThem = eligible.reduce(0) { $0 + $1.value.held.count }
    for (id, worker) in eligible {
      guard let ready = windows[kind]?.jobs.count, ready > 0, room > 0 else { return }
      // All shall hold equally many in the end, as far as their credit goes.
      let level = (min(ready, room) + heldByThem + workersLeft - 1) / workersLeft
      let jobs = windows[kind]?.take(min(worker.freeCredit, max(0, level - worker.held.count), room)) ?? []
      room -= jobs.count
      workersLeft -= 1
      heldByThem -= worker.held.count
      hand(jobs, to: id)
    }
  }

  /// Gives a job that may have killed a worker to an idle one, alone. While none is idle the one with the least in hand is kept
  /// from getting more, and returned.
  private mutating func dispatchSuspects(_ kind: String, _ room: inout Int) -> WorkerID? {
    while room > 0, windows[kind]?.suspects.isEmpty == false {
      let candidates = workers.filter { $0.value.credit > 0 && !$0.value.isDraining && $0.value.kinds.contains(kind) }
      guard
        let idlest = candidates.min(by: {
          ($0.value.held.count, $0.key.number) < ($1.value.held.count, $1.key.number)
        })
      else { return nil }
      guard idlest.value.held.isEmpty, let job = windows[kind]?.takeSuspect() else { return idlest.key }
      hand([job], to: idlest.key)
      workers[idlest.key]?.isAlone = true
      room -= 1
    }
    return nil
  }

  private mutating func hand(_ jobs: [WindowJob], to id: WorkerID) {
    guard !jobs.isEmpty else { return }
    for job in jobs {
      held[job.uri] = HeldJob(job: job, worker: id)
      workers[id]?.held.insert(job.uri)
      inHandByKind[job.kind, default: 0] += 1
    }
    counters.handedOut += jobs.count
    effects.append(.send(.run(jobs.map(\.uri)), to: id))
  }

  /// Asks a worker that holds jobs it has not begun for half of them, when another one of that kind has nothing to do.
  private mutating func recallForIdleWorkers() {
    for (id, idle) in workers where idle.held.isEmpty && idle.freeCredit > 0 {
      guard idle.kinds.allSatisfy({ windows[$0]?.jobs.isEmpty != false }) else { continue }
      let hoarder = workers.filter { other in
        other.key != id && !other.value.isRecalling && !other.value.begun.isEmpty && !other.value.isDraining
          && other.value.held.count > other.value.begun.count && !other.value.kinds.isDisjoint(with: idle.kinds)
      }
      .max { $0.value.held.count - $0.value.begun.count < $1.value.held.count - $1.value.begun.count }
      guard let hoarder else { continue }
      let notBegun = hoarder.value.held.count - hoarder.value.begun.count
      workers[hoarder.key]?.isRecalling = true
      effects.append(.send(.recall((notBegun + 1) / 2), to: hoarder.key))
    }
  }
}
