import WorkerProtocol

/// Handing out jobs.
extension Coordinator {
  /// Gives ready jobs to workers that have credit: the best job of all kinds and queues first, each to the worker that
  /// holds least.
  mutating func dispatch() {
    giveBackUnwanted()
    guard poolObstacle == nil else { return }
    for kind in kinds.ratedOut { refresh(kind) }
    // In no order: sorting a thousand idle workers would cost more than handing out a job.
    var takers = hands.workers.compactMap { id, worker in mayTake(worker) ? Taker(id, worker) : nil }
    dispatchSuspects(&takers)
    if !takers.isEmpty, !windows.isLearning { handOut(to: &takers) }
    if !ratePlaces.isEmpty {
      askForPlaces { kind in takers.reduce(0) { $0 + ($1.takes(kind) ? $1.free : 0) } }
    }
    refill()
    recallForIdleWorkers()
    recallFromSlowWorkers()
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

    init(_ id: WorkerID, _ worker: WorkerHand) {
      self.id = id
      kinds = worker.kinds
      held = worker.held.count
      free = worker.freeCredit
    }

    func takes(_ kind: String) -> Bool { free > 0 && reservedFrom != kind && kinds.contains(kind) }
  }

  private mutating func handOut(to takers: inout [Taker]) {
    // Which kinds have a taker; found out again when a taker has enough.
    var served: [String: Bool] = [:]
    while let (key, lanes) = choose(takers, &served), let taker = idlest(takers, for: key.kind),
      let job = windows.takeNext(from: key)
    {
      changed(key)
      hold(job, by: takers[taker].id, pickedAmong: lanes)
      takers[taker].jobs.append(job)
      takers[taker].held += 1
      takers[taker].free -= 1
      if takers[taker].free == 0 { served = [:] }
    }
    let gifted = takers.filter { !$0.jobs.isEmpty }
      .sorted { ($0.held - $0.jobs.count, $0.id.number) < ($1.held - $1.jobs.count, $1.id.number) }
    for taker in gifted {
      statistics.count(\.handedOut, taker.jobs.count)
      effects.append(.send(.run(taker.jobs.map { jobURIs[$0.key] }), to: taker.id))
    }
  }

  /// The window whose best job is next, and the lanes among which its lane was picked. A pick counts against the weight
  /// of its lane, so only a job that some worker takes is picked.
  private mutating func choose(
    _ takers: [Taker], _ served: inout [String: Bool]
  ) -> (key: WindowKey, lanes: Set<String>)? {
    if weights.isEmpty { return best(in: QueueWeights.unweighted, takers, &served).map { ($0, []) } }
    var best: [String: WindowKey] = [:]
    for lane in windows.heads.lanesWithJobs { best[lane] = self.best(in: lane, takers, &served) }
    let lanes = Set(best.keys)
    return weights.pick(among: lanes).flatMap { lane in best[lane].map { ($0, lanes) } }
  }

  /// The window of a lane with the best job that may run and that some worker takes.
  private mutating func best(in lane: String, _ takers: [Taker], _ served: inout [String: Bool]) -> WindowKey? {
    while let key = windows.heads.best(in: lane, isWanted: { Self.isServed($0, takers, &served) }) {
      let head = windows[key]?.head
      parkBlockedHead(of: key)
      if windows[key]?.head == head { return key }
    }
    return nil
  }

  private static func isServed(_ kind: String, _ takers: [Taker], _ served: inout [String: Bool]) -> Bool {
    if let answer = served[kind] { return answer }
    let answer = takers.contains { $0.takes(kind) }
    served[kind] = answer
    return answer
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

  /// Gives jobs that may have killed a worker to idle ones, each alone. While none is idle the one with the least in
  /// hand is kept from getting more of this kind.
  private mutating func dispatchSuspects(_ takers: inout [Taker]) {
    guard !kinds.suspectKeys.isEmpty else { return }
    for kind in kinds.active where kinds[kind]?.suspects.isEmpty == false {
      while kinds.isOffered(kind),
        let next = kinds[kind]?.suspects.firstIndex(where: { blockingGroup(of: $0) == nil })
      {
        let candidates = hands.workers.filter { $0.value.mayGetSuspect && $0.value.kinds.contains(kind) }
        let idlest = candidates.min { ($0.value.held.count, $0.key.number) < ($1.value.held.count, $1.key.number) }
        guard let idlest else { break }
        let position = takers.firstIndex { $0.id == idlest.key }
        guard idlest.value.held.isEmpty, let job = kinds.takeSuspect(kind, at: next) else {
          if let position { takers[position].reservedFrom = kind }
          break
        }
        hold(job, by: idlest.key, alone: true)
        statistics.count(\.handedOut, 1)
        effects.append(.send(.run([jobURIs[job.key]]), to: idlest.key))
        if let position { takers.remove(at: position) }
      }
    }
  }

  /// Notes that a worker gets the job.
  private mutating func hold(
    _ job: WindowJob, by id: WorkerID, pickedAmong lanes: Set<String> = [], alone: Bool = false
  ) {
    hands.take(job, by: id, pickedAmong: lanes, alone: alone, now: now)
    kinds.take(job)
    groups.take(groups.limited(of: job))
    refresh(job.kind)
  }
}
