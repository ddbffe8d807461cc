import Jobs
import WorkerProtocol

/// Claims in a store that pools share: a pool has claimed what its workers begin soon, and gives back the rest, so that
/// no job waits here while another host could run it.
extension Coordinator {
  /// How many claimed jobs should wait here; nil in a store that no other pool uses.
  var claimSize: Int? {
    claims.map { claims in
      let slow = workers.values.count { $0.isSlow(now: now) }
      return min(claims.pace.size(slow: slow, now: now), claims.pace.sizeWithHands(slow: slow) ?? .max)
    }
  }

  /// How many further jobs of a window may be claimed; nil in a store that no other pool uses.
  func claimRoom(_ window: JobWindow, _ kind: String) -> Int? {
    claimSize.map { size in
      // While all goes well the hands do not count: they are as large as the workers want.
      guard claims?.pace.sizeWithHands() != nil, let state = kinds[kind] else { return size - window.count }
      return size - window.count - (state.inHand - state.begun)
    }
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
    for (key, window) in windows where window.count > 0 || isNothingWanted && window.query != nil {
      let isUnwanted =
        isNothingWanted || pauses.kinds.contains(key.kind)
        || window.parked.keys.contains {
          if case .queue(let queue) = $0 { pauses.queues.contains(queue) } else { false }
        }
      if isUnwanted { unwanted.insert(key.kind) }
    }
    giveBack(unwanted)
  }

  /// Gives back what is claimed of these kinds and not in a worker's hand. An answer of the store that is under way
  /// does not count any more.
  mutating func giveBack(_ unwanted: Set<String>) {
    guard claims != nil, !unwanted.isEmpty else { return }
    claims?.gaveBack()
    for key in windows.keys where unwanted.contains(key.kind) {
      guard let window = windows[key] else { continue }
      window.removeAll()
      window.forgetFetch()
      window.mustRefetch = true
      fetching.remove(key)
      changed(key)
    }
    let kept = held.keys.filter { held[$0].map { unwanted.contains($0.job.kind) } ?? false }
    effects.append(.releaseClaims(unwanted, keeping: kept + Array(settling) + Array(suspectKeys)))
  }

  /// Gives back jobs that came back from a worker's hand and cannot begin here soon: no window has taken them.
  mutating func giveBackReturned(_ jobs: [WindowJob]) {
    if claims != nil, isNothingWanted { giveBack(Set(jobs.map(\.kind))) }
  }

  /// A worker process may begin a job again: windows ask for more.
  mutating func claimMore() {
    guard claims != nil else { return }
    for (key, window) in windows where window.mustRefetch || window.frontier != .end { list(key) }
    mustDispatch = true
  }

  /// A limit or a rate that kept jobs of the kind from being claimed may have room now.
  mutating func claimAgain(_ kind: String) {
    for lane in weights.lanes { refetch(WindowKey(kind: kind, lane: lane)) }
    refill()
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
}
