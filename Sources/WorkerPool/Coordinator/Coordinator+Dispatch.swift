import WorkerProtocol

/// Handing out jobs.
extension Coordinator {
  /// Whether jobs of that window may be handed out as things are.
  func isOpen(_ key: WindowKey) -> Bool {
    !pauses.all && !pauses.kinds.contains(key.kind) && !pauses.queues.contains(key.queue)
  }

  /// Gives ready jobs to workers that have credit: the best job of all kinds and queues first, each to the worker that holds least.
  mutating func dispatch() {
    nextRateTime = nil
    guard !pauses.all, !isClosed, !waitsForStrangers else { return }
    var takers = workers.compactMap { id, worker in worker.freeCredit > 0 ? Taker(id, worker) : nil }
    takers.sort { ($0.held, $0.id.number) < ($1.held, $1.id.number) }
    dispatchSuspects(&takers)
    if !takers.isEmpty { handOut(to: &takers) }
    // What a rate has kept back now is handed out when its time comes.
    for key in windows.keys where kinds[key.kind]?.pastStarts != nil && best(in: key) != nil { _ = room(key.kind) }
    refillLowWindows()
    recallForIdleWorkers()
    effects.append(.demandChanged)
  }

  /// A worker with credit, while jobs are being shared out.
  private struct Taker {
    let id: WorkerID
    let kinds: Set<String>
    var held: Int
    var free: Int
    /// A kind whose suspect waits for this worker to be idle.
    var reservedFrom: String?
    var jobs: [WindowJob] = []

    init(_ id: WorkerID, _ worker: Worker) {
      self.id = id
      kinds = worker.kinds
      held = worker.held.count
      free = worker.freeCredit
    }

    func takes(_ kind: String) -> Bool { free > 0 && reservedFrom != kind && kinds.contains(kind) }
  }

  /// A window that has something to give.
  private struct Source {
    let key: WindowKey
    let lane: String
    var room: Int
    var best: WindowJob
    var index: Int
  }

  private mutating func handOut(to takers: inout [Taker]) {
    var sources: [Source] = []
    for (key, window) in windows where window.count > 0 && isOpen(key) && takers.contains(where: { $0.takes(key.kind) })
    {
      let room = room(key.kind)
      guard room > 0, let index = best(in: key) else { continue }
      sources.append(
        Source(key: key, lane: weights.lane(of: key.queue), room: room, best: window.jobs[index], index: index))
    }
    while true {
      // A pick is counted against its queue's weight, so only what somebody takes may be picked.
      sources.removeAll { source in !takers.contains { $0.takes(source.key.kind) } }
      guard let chosen = choose(among: sources) else { break }
      let source = sources[chosen]
      let kind = source.key.kind
      guard let taker = idlest(takers, for: kind), let job = windows[source.key]?.take(at: source.index) else { break }
      hold(job, by: takers[taker].id)
      takers[taker].jobs.append(job)
      takers[taker].held += 1
      takers[taker].free -= 1
      for index in sources.indices where sources[index].key.kind == kind { sources[index].room -= 1 }
      update(&sources, after: job)
    }
    for taker in takers where !taker.jobs.isEmpty {
      counters.handedOut += taker.jobs.count
      effects.append(.send(.run(taker.jobs.map(\.uri)), to: taker.id))
    }
  }

  /// Drops sources that have nothing more to give, and looks what is best in those that the job concerns.
  private func update(_ sources: inout [Source], after job: WindowJob) {
    var position = 0
    while position < sources.count {
      let source = sources[position]
      // A limit key may be one of several windows.
      if source.room > 0, source.key == job.window || (job.limitKey != nil && source.best.limitKey == job.limitKey) {
        if let index = best(in: source.key), let best = windows[source.key]?.jobs[index] {
          sources[position].index = index
          sources[position].best = best
        } else {
          sources.remove(at: position)
          continue
        }
      } else if source.room <= 0 {
        sources.remove(at: position)
        continue
      }
      position += 1
    }
  }

  private mutating func choose(among sources: [Source]) -> Int? {
    guard sources.count > 1 else { return sources.isEmpty ? nil : 0 }
    guard let lane = weights.pick(among: Set(sources.map(\.lane))) else { return nil }
    var chosen: Int?
    for (index, source) in sources.enumerated() where source.lane == lane {
      if chosen.map({ source.best.precedes(sources[$0].best) }) ?? true { chosen = index }
    }
    return chosen
  }

  private func idlest(_ takers: [Taker], for kind: String) -> Int? {
    var idlest: Int?
    for (index, taker) in takers.enumerated() where taker.takes(kind) {
      if idlest.map({ (taker.held, taker.id.number) < (takers[$0].held, takers[$0].id.number) }) ?? true {
        idlest = index
      }
    }
    return idlest
  }

  /// Where the best job of a window is that its limit key lets run.
  func best(in key: WindowKey) -> Int? { windows[key]?.best(isFree: isFree) }

  /// How many more jobs of a kind may be handed out now; notes when that changes with time alone.
  private mutating func room(_ kind: String) -> Int {
    guard let room = kinds[kind]?.room(now: now) else { return 0 }
    if room <= 0, let time = kinds[kind]?.pastStarts?.nextTime, time > now {
      nextRateTime = min(nextRateTime ?? time, time)
    }
    return room
  }

  /// Gives jobs that may have killed a worker to idle ones, each alone. While none is idle the one with the least in hand is kept
  /// from getting more of that kind.
  private mutating func dispatchSuspects(_ takers: inout [Taker]) {
    for (kind, state) in kinds where !state.suspects.isEmpty && !pauses.kinds.contains(kind) {
      while room(kind) > 0, let next = kinds[kind]?.suspects.firstIndex(where: { isOpen($0.window) && isFree($0) }) {
        let candidates = workers.filter { $0.value.credit > 0 && !$0.value.isDraining && $0.value.kinds.contains(kind) }
        let idlest = candidates.min { ($0.value.held.count, $0.key.number) < ($1.value.held.count, $1.key.number) }
        guard let idlest else { break }
        let position = takers.firstIndex { $0.id == idlest.key }
        guard idlest.value.held.isEmpty, let job = kinds[kind]?.suspects.remove(at: next) else {
          if let position { takers[position].reservedFrom = kind }
          break
        }
        hold(job, by: idlest.key)
        workers[idlest.key]?.isAlone = true
        counters.handedOut += 1
        effects.append(.send(.run([job.uri]), to: idlest.key))
        if let position { takers.remove(at: position) }
      }
    }
  }

  private func isFree(_ job: WindowJob) -> Bool {
    job.limitKey.map { inHandByKey[$0, default: 0] + elsewhereByKey[$0, default: 0] < job.limit } ?? true
  }

  /// Notes that a worker gets the job.
  private mutating func hold(_ job: WindowJob, by id: WorkerID) {
    let slot = ledger?.handOut(job.uri, key: job.order, to: id.number)
    held[job.uri] = HeldJob(job: job, worker: id, handedOutAt: now, slot: slot)
    workers[id]?.held.insert(job.uri)
    kinds[job.kind]?.inHand += 1
    kinds[job.kind]?.pastStarts?.take(now: now)
    if let key = job.limitKey { inHandByKey[key, default: 0] += 1 }
  }

  /// Asks a worker that holds jobs it has not begun for half of them, when another one of that kind has nothing to do.
  private mutating func recallForIdleWorkers() {
    for (id, idle) in workers where idle.held.isEmpty && idle.freeCredit > 0 {
      let hasOther = windows.keys.contains { key in
        idle.kinds.contains(key.kind) && isOpen(key) && kinds[key.kind]?.isBelowLimit == true && best(in: key) != nil
      }
      if hasOther { continue }
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
