import WorkerProtocol

/// Handing out jobs.
extension Coordinator {
  /// Gives ready jobs to workers that have credit: the best job of all kinds and queues first, each to the worker that
  /// holds least.
  mutating func dispatch() {
    giveBackUnwanted()
    guard poolObstacle == nil else { return }
    for kind in kinds.ratedOut { refresh(kind) }
    let reserved = dispatchSuspects()
    if !windows.isLearning { handOut(besides: reserved) }
    if !ratePlaces.isEmpty { askForPlaces(besides: reserved) }
    refill()
    recallForIdleWorkers()
    recallFromSlowWorkers()
    effects.append(.demandChanged)
  }

  /// - Parameter reserved: the workers that get no jobs of a kind, since a suspect of that kind waits for them.
  private mutating func handOut(besides reserved: [WorkerID: String]) {
    var gifts: [WorkerID: (taker: HandTable.Taker, jobs: [WindowJob])] = [:]
    // Which kinds have a taker; found out again when a taker has enough.
    var served: [String: Bool] = [:]
    while hands.workers.hasTakers, let (key, lanes) = choose(&served, besides: reserved),
      let taker = idlest(for: key.kind, besides: reserved), let job = windows.takeNext(from: key)
    {
      changed(key)
      hold(job, by: taker.id, pickedAmong: lanes)
      gifts[taker.id, default: (taker, [])].jobs.append(job)
      if hands.workers[taker.id]?.freeCredit == 0 { served = [:] }
    }
    for gift in gifts.values.sorted(by: { $0.taker < $1.taker }) {
      statistics.count(\.handedOut, gift.jobs.count)
      effects.append(.send(.run(gift.jobs.map { jobURIs[$0.key] }), to: gift.taker.id))
    }
  }

  /// The window whose best job is next, and the lanes among which its lane was picked. A pick counts against the weight
  /// of its lane, so only a job that some worker takes is picked.
  private mutating func choose(
    _ served: inout [String: Bool], besides reserved: [WorkerID: String]
  ) -> (key: WindowKey, lanes: Set<String>)? {
    if weights.isEmpty { return best(in: QueueWeights.unweighted, &served, besides: reserved).map { ($0, []) } }
    var best: [String: WindowKey] = [:]
    for lane in windows.heads.lanesWithJobs { best[lane] = self.best(in: lane, &served, besides: reserved) }
    let lanes = Set(best.keys)
    return weights.pick(among: lanes).flatMap { lane in best[lane].map { ($0, lanes) } }
  }

  /// The window of a lane with the best job that may run and that some worker takes.
  private mutating func best(
    in lane: String, _ served: inout [String: Bool], besides reserved: [WorkerID: String]
  ) -> WindowKey? {
    while let key = windows.heads.best(in: lane, isWanted: { isServed($0, &served, besides: reserved) }) {
      let head = windows[key]?.head
      parkBlockedHead(of: key)
      if windows[key]?.head == head { return key }
    }
    return nil
  }

  private func isServed(_ kind: String, _ served: inout [String: Bool], besides reserved: [WorkerID: String]) -> Bool {
    if let answer = served[kind] { return answer }
    let answer = idlest(for: kind, besides: reserved) != nil
    served[kind] = answer
    return answer
  }

  private func idlest(for kind: String, besides reserved: [WorkerID: String]) -> HandTable.Taker? {
    hands.idlest(for: kind, now: now) { reserved[$0] != kind }
  }

  /// Gives jobs that may have killed a worker to idle ones, each alone. While none is idle the one with the least in
  /// hand is kept from getting more of this kind: returns those workers, each with its kind.
  private mutating func dispatchSuspects() -> [WorkerID: String] {
    guard !kinds.suspectKeys.isEmpty else { return [:] }
    var reserved: [WorkerID: String] = [:]
    for kind in kinds.active where kinds[kind]?.suspects.isEmpty == false {
      while kinds.isOffered(kind),
        let next = kinds[kind]?.suspects.firstIndex(where: { blockingGroup(of: $0) == nil })
      {
        let candidates = hands.workers.all.filter { $0.value.mayGetSuspect && $0.value.kinds.contains(kind) }
        let idlest = candidates.min { ($0.value.held.count, $0.key.number) < ($1.value.held.count, $1.key.number) }
        guard let idlest else { break }
        guard idlest.value.held.isEmpty, let job = kinds.takeSuspect(kind, at: next) else {
          reserved[idlest.key] = kind
          break
        }
        hold(job, by: idlest.key, alone: true)
        statistics.count(\.handedOut, 1)
        effects.append(.send(.run([jobURIs[job.key]]), to: idlest.key))
      }
    }
    return reserved
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
