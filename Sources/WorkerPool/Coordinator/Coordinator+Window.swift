import WorkerProtocol

/// Keeping the windows of ready jobs filled.
extension Coordinator {
  /// Remembers jobs that are not ready any more, for the answers that may still say so.
  mutating func noteEnded(_ uris: [ObjectURI]) {
    for kind in windows.keys where windows[kind]?.isFetching == true {
      windows[kind]?.endedDuringFetch.formUnion(uris)
    }
  }

  /// Asks the store for the best ready jobs of a kind, unless it is being asked.
  mutating func refill(_ kind: String) {
    guard let window = windows[kind] else { return }
    if window.isFetching {
      windows[kind]?.mustFetchAgain = true
      return
    }
    guard !isPaused, !pausedKinds.contains(kind) else { return }
    windows[kind]?.isFetching = true
    windows[kind]?.mustFetchAgain = false
    // What is in hand is still ready in the store, and must not crowd out what is not.
    let known = window.count + (inHandByKind[kind] ?? 0) + settling.count
    effects.append(
      .fetchReady(kind: kind, limit: JobWindow.size + known, withoutQueues: pausedQueues))
  }

  /// The store's answer to `fetchReady`: the best ready jobs, and whether these are all.
  mutating func fetched(kind: String, _ jobs: [WindowJob], isComplete: Bool) {
    guard let ended = windows[kind]?.endedDuringFetch else { return }
    windows[kind]?.isFetching = false
    windows[kind]?.isComplete = isComplete
    let new = jobs.filter {
      held[$0.uri] == nil && !settling.contains($0.uri) && !ended.contains($0.uri) && isRunnable($0)
    }
    windows[kind]?.insert(new)
    windows[kind]?.endedDuringFetch.removeAll()
    if windows[kind]?.mustFetchAgain == true { refill(kind) }
    dispatch()
  }

  /// The fetch failed; it is tried again with the next occasion.
  mutating func fetchFailed(kind: String) {
    windows[kind]?.isFetching = false
    windows[kind]?.isComplete = false
  }

  /// These jobs have just become ready.
  mutating func becameReady(_ jobs: [WindowJob]) {
    if jobs.isEmpty { return }
    for (kind, jobs) in Dictionary(grouping: jobs.filter(isRunnable), by: \.kind) {
      guard let window = windows[kind] else { continue }
      let worst = window.jobs.first
      let wanted = jobs.filter { job in
        held[job.uri] == nil && (window.isComplete || worst.map { job.precedes($0) } ?? false)
      }
      windows[kind]?.insert(wanted)
      if window.isFetching { windows[kind]?.mustFetchAgain = true }
    }
    dispatch()
  }

  /// There may be ready jobs in the store that nobody told of.
  mutating func lookForNewJobs() {
    for kind in windows.keys.sorted() { refill(kind) }
  }

  /// Workers of an earlier supervisor still run these jobs.
  mutating func setClaimedElsewhere(_ uris: Set<ObjectURI>) {
    let freed = !claimedElsewhere.subtracting(uris).isEmpty
    claimedElsewhere = uris
    for kind in windows.keys { windows[kind]?.remove { uris.contains($0.uri) } }
    if freed { lookForNewJobs() }
  }
}
