import Jobs

/// How many jobs there are to do, for the supervisor and for a status.
extension Coordinator {
  /// Jobs of each kind that have not begun and are not paused, in the windows and in the workers' hands: `waiting` in a
  /// status.
  var notBegunByKind: [String: Int] {
    var counts = kinds.states.filter { $0.value.inHand > 0 }.mapValues(\.notBegun)
    for kind in kinds.active where isOpen(kind) { counts[kind, default: 0] += kinds[kind]?.suspects.count ?? 0 }
    for (key, window) in windows.all where isOpen(key.kind) && window.count > 0 {
      let paused = window.parked.reduce(0) { $0 + (isPaused($1.key) ? $1.value.count : 0) }
      counts[key.kind, default: 0] += window.count - paused
    }
    return counts
  }

  /// The demand: jobs of each kind that would begin now if there were a process for each, as far as limits and rates
  /// let them. Kinds that are not named have none.
  ///
  /// - Complexity: the number of kinds that have jobs, however many kinds there are.
  mutating func demandByKind() -> [String: Int] {
    var demand: [String: Int] = [:]
    for kind in kinds.active {
      guard let state = kinds[kind] else { continue }
      var count = 0
      if isOpen(kind) {
        for lane in weights.lanes {
          let key = WindowKey(kind: kind, lane: lane)
          parkBlockedHead(of: key)
          count += windows[key]?.reach ?? 0
        }
        count += state.suspects.count { blockingGroup(of: $0) == nil }
      }
      // Places are taken when a worker wants jobs.
      let room = retryTime(of: kind) == nil ? kinds.room(kind, now: now) : 0
      demand[kind] = min(count, room) + state.notBegun
    }
    return demand
  }
}
