import Jobs
import WorkerProtocol

/// The kinds that plugins run, and what follows for their windows.
extension Coordinator {
  /// The kinds that plugins run, with their limits.
  mutating func setKinds(_ rules: [String: KindRules]) {
    for kind in kinds.states.keys where rules[kind] == nil { remove(kind) }
    for (kind, rules) in rules.sorted(by: { $0.key < $1.key }) {
      if let state = kinds[kind] {
        kinds.setRules(rules, of: kind)
        if state.rules.rate != rules.rate { openPlaces(of: kind) }
        refresh(kind)
      } else {
        let held = hands.jobs.values.filter { $0.job.kind == kind }
        kinds.add(kind, rules, held: held, survivorJobs: survivors.count(ofKind: kind))
        openPlaces(of: kind)
        refresh(kind)
        for lane in weights.lanes { open(WindowKey(kind: kind, lane: lane)) }
      }
    }
    refill()
  }

  /// Forgets a kind that no plugin runs any more.
  private mutating func remove(_ kind: String) {
    giveBack([kind])
    for lane in weights.lanes { windows.close(WindowKey(kind: kind, lane: lane)) }
    kinds.remove(kind)
  }

  // MARK: What follows for the windows

  /// Updates what a window determines. Called after every change of its jobs.
  mutating func changed(_ key: WindowKey) {
    let change = windows.update(key, isOffered: kinds.isOffered(key.kind))
    if change != 0 { kinds.addRunnable(change, of: key.kind) }
  }

  mutating func moveHead(of key: WindowKey) { windows.moveHead(of: key, isOffered: kinds.isOffered(key.kind)) }

  /// Offers a kind's jobs or takes them back, as its limit, its rate and the pauses say.
  mutating func refresh(_ kind: String) {
    guard let state = kinds[kind] else { return }
    // Most kinds have neither.
    if state.isOffered, state.rules.limit == nil, state.pastStarts == nil, pauses.kinds.isEmpty { return }
    let obstacle = obstacle(ofKind: kind)
    let hasPlace = hasPlace(for: kind)
    var isRatedOut = !hasPlace
    if case .rate = obstacle { isRatedOut = true }
    guard kinds.setOffered(obstacle == nil && hasPlace, isRatedOut: isRatedOut, kind) else { return }
    for lane in weights.lanes { moveHead(of: WindowKey(kind: kind, lane: lane)) }
  }
}
