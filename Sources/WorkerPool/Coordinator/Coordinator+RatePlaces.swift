import Jobs
import WorkerProtocol

/// Where jobs are not claimed, each job of a kind with a rate begins in a place that the store keeps for this pool. So
/// the next pool knows of it, no matter how this one ends.
///
/// Places are taken a moment before jobs get them: as many as workers want jobs, or a twentieth of the rate. Those that
/// no job has begun in are lost for a period when the pool is killed.
extension Coordinator {
  /// The part of a rate that is taken ahead.
  private static let partsAhead = 20

  /// A kind has got a rate, or another one: finds out whether the store has room.
  mutating func openPlaces(of kind: String) {
    guard keepsRatePlaces, let rate = kinds[kind]?.rules.rate else { return }
    guard let places = ratePlaces[kind] else {
      ratePlaces[kind] = RatePlaces()
      effects.append(.takePlaces(0, of: kind, rate))
      return
    }
    ratePlaces[kind]?.retryAt = nil
    // What began without a place while it had no rate is not owed.
    if places.count < 0 {
      ratePlaces[kind]?.count = 0
      effects.append(.takePlaces(0, of: kind, rate))
    }
  }

  /// Places that no job in hand has; nil where the kind has no rate, or no places are kept.
  private func freePlaces(of kind: String) -> Int? {
    guard let state = kinds[kind], state.pastStarts != nil, let places = ratePlaces[kind] else { return nil }
    return places.count - state.notBegun
  }

  /// Whether there is a place for one more job of the kind.
  func hasPlace(for kind: String) -> Bool { freePlaces(of: kind).map { $0 > 0 } ?? true }

  /// When the store has room again for jobs of the kind; nil where there are places, or the store may have some.
  func retryTime(of kind: String) -> Double? {
    guard !hasPlace(for: kind), let time = ratePlaces[kind]?.retryAt, time > now else { return nil }
    return time
  }

  /// Asks for places where workers could begin jobs.
  ///
  /// - Parameter reserved: the workers that get no jobs of a kind, since a suspect of that kind waits for them.
  mutating func askForPlaces(besides reserved: [WorkerID: String]) {
    for (kind, places) in ratePlaces where !places.isAsked && places.retryAt.map({ $0 <= now }) ?? true {
      guard kinds.active.contains(kind), let rate = kinds[kind]?.rules.rate, isOpen(kind),
        let free = freePlaces(of: kind), let state = kinds[kind]
      else { continue }
      let room = min(state.runnable + state.suspects.count, kinds.room(kind, now: now))
      let credit = hands.credit(for: kind, upTo: room, now: now) { reserved[$0] != kind }
      let neededPlaces = min(room, max(credit, rate.jobs / Self.partsAhead))
      guard 2 * free < neededPlaces else { continue }
      ratePlaces[kind]?.isAsked = true
      effects.append(.takePlaces(neededPlaces - free, of: kind, rate))
    }
  }

  /// The store has answered ``CoordinatorEffect/takePlaces(_:of:_:)``: it keeps `count` more places for jobs of the
  /// kind. Where `seconds` is not nil, all places are taken, and the store has none before that time is over.
  mutating func tookPlaces(_ count: Int, of kind: String, retryAfter seconds: Double?) {
    ratePlaces[kind]?.isAsked = false
    ratePlaces[kind]?.count += count
    ratePlaces[kind]?.retryAt = seconds.map { now + $0 }
    refresh(kind)
    mustDispatch = true
  }

  // MARK: Beginnings

  /// Whether the store counts what begins of a kind: all pools' rates, and those over a restart.
  private func isCounted(_ kind: String) -> Bool {
    ratePlaces[kind] != nil || claimBringsPlace(kind)
  }

  /// Jobs in hand begin now.
  mutating func noteBeginnings(_ jobs: [JobKey]) {
    guard claims != nil || !ratePlaces.isEmpty else { return }
    let counted = jobs.filter { hands.jobs[$0].map { isCounted($0.job.kind) } ?? false }
    for (kind, jobs) in Dictionary(grouping: counted, by: { hands.jobs[$0]?.job.kind ?? "" }) {
      ratePlaces[kind]?.count -= jobs.count
      effects.append(.noteBeginnings(jobs, of: kind))
    }
  }

  /// Undoes the beginning of a job, at that time, whose transaction with other jobs was rolled back. It begins again,
  /// alone.
  mutating func takeBackBeginning(of job: WindowJob, at time: Double) {
    kinds.giveBackBeginning(time, of: job.kind)
    guard isCounted(job.kind) else { return }
    ratePlaces[job.kind]?.count += 1
    effects.append(.takeBackBeginning(of: job.key, job.kind, at: time))
  }
}
