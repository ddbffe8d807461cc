import Jobs
import WorkerProtocol

/// Claims in a store that pools share: a pool has claimed what its workers begin soon, and gives back the rest, so that
/// no job waits here while another host could run it.
extension Coordinator {
  /// How many claimed jobs should wait here; nil in a store that no other pool uses.
  var claimSize: Int? { claims?.size(slow: hands.slowWorkers(now: now), now: now) }

  /// How many further jobs of a window may be claimed; nil in a store that no other pool uses.
  func claimRoom(_ window: JobWindow, _ kind: String) -> Int? {
    guard let claims, let size = claimSize else { return nil }
    return size - window.count - (claims.countsHands ? kinds[kind]?.notBegun ?? 0 : 0)
  }

  /// Whether no claimed job can begin here soon: the pool ends, all is paused, or every worker process is busy with a
  /// job that takes long.
  private var isNothingWanted: Bool { isClosed || pauses.all || claimSize == 0 }

  /// Gives back claimed jobs that cannot begin here soon, or that are paused.
  mutating func giveBackUnwanted() {
    guard claims != nil else { return }
    let isNothingWanted = isNothingWanted
    guard isNothingWanted || !pauses.kinds.isEmpty || !pauses.queues.isEmpty else { return }
    var unwanted: Set<String> = []
    for (key, window) in windows.all where window.count > 0 || isNothingWanted && window.query != nil {
      let isUnwanted =
        isNothingWanted || pauses.kinds.contains(key.kind) || window.parked.keys.contains(where: isPaused)
      if isUnwanted { unwanted.insert(key.kind) }
    }
    giveBack(unwanted)
  }

  /// Gives back what is claimed of these kinds and not in a worker's hand. An answer of the store that is under way
  /// does not count any more.
  mutating func giveBack(_ unwanted: Set<String>) {
    guard claims != nil, !unwanted.isEmpty else { return }
    claims?.gaveBack()
    for key in windows.all.keys where unwanted.contains(key.kind) {
      windows.empty(key)
      changed(key)
    }
    let kept = hands.jobs.values.filter { unwanted.contains($0.job.kind) }.map(\.job.key)
    effects.append(.releaseClaims(unwanted, keeping: kept + Array(settling) + Array(kinds.suspectKeys)))
  }

  /// Gives back jobs that came back from a worker's hand and cannot begin here soon: no window has taken them.
  mutating func giveBackReturned(_ jobs: [WindowJob]) {
    if claims != nil, isNothingWanted { giveBack(Set(jobs.map(\.kind))) }
  }

  /// Gives back jobs that have begun, and that may begin again: a claim brings the place of a rate with it, and the
  /// place of their claim is used.
  mutating func giveBackBegun(_ jobs: [WindowJob]) {
    giveBack(Set(jobs.map(\.kind)).filter(claimBringsPlace))
  }

  /// Whether each claim of a job of the kind has a place of the kind's rate.
  func claimBringsPlace(_ kind: String) -> Bool { claims != nil && kinds[kind]?.pastStarts != nil }

  /// A worker process may begin a job again: windows ask for more.
  mutating func claimMore() {
    guard claims != nil else { return }
    for (key, window) in windows.all where window.mustRefetch || window.frontier != .end { windows.list(key) }
    mustDispatch = true
  }

  /// A limit or a rate that kept jobs of the kind from being claimed may have room now.
  mutating func claimAgain(_ kind: String) {
    for lane in weights.lanes { windows.refetch(WindowKey(kind: kind, lane: lane)) }
    refill()
  }

  /// A job leaves a worker's hand: the pool may claim others.
  mutating func claimAfter(_ entry: HeldJob) {
    guard let claims else { return }
    if self.claims?.endHoldBack(entry.job.kind) == true { claimAgain(entry.job.kind) }
    if claims.countsHands { windows.list(window(of: entry.job)) }
  }
}
