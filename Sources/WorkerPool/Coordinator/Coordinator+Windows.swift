import Jobs
import WorkerProtocol

/// Keeping the windows of ready jobs filled.
extension Coordinator {
  /// How many jobs each window should hold.
  var windowSize: Int {
    let size = max(JobWindow.smallest, min(JobWindow.size, JobWindow.sizeOfAll / max(1, windows.count)))
    return claimSize.map { min(size, $0) } ?? size
  }

  /// Whether jobs of a kind may be handed out as things are.
  func isOpen(_ kind: String) -> Bool { !pauses.all && !pauses.kinds.contains(kind) }

  // MARK: Occasions

  /// Remembers jobs that are no longer ready: answers under way may still list them.
  mutating func noteEnded(_ jobs: some Collection<JobKey>) {
    for key in fetching { windows[key]?.endedDuringFetch.formUnion(jobs) }
  }

  /// Sets the number of worker processes for which the pool claims jobs in a shared store.
  mutating func workersWanted(_ count: Int) {
    guard claims != nil, claims?.pace.workers != count else { return }
    claims?.pace.workers = count
    giveBackUnwanted()
    refetchAll()
  }

  /// The store may have better jobs that no event announced.
  mutating func refetchAll() {
    for kind in kinds.keys.sorted() { refetchAll(kind) }
    refill()
  }

  private mutating func refetchAll(_ kind: String) {
    for lane in weights.lanes { refetch(WindowKey(kind: kind, lane: lane)) }
  }

  /// Makes a window ask for the best jobs again.
  mutating func refetch(_ key: WindowKey) {
    windows[key]?.mustRefetch = true
    list(key)
  }

  /// Makes an empty window, which is filled from the store.
  mutating func open(_ key: WindowKey) {
    guard windows[key] == nil else { return }
    windows[key] = JobWindow()
    refetch(key)
  }

  /// Forgets a kind that no plugin runs any more.
  mutating func remove(_ kind: String) {
    giveBack([kind])
    for lane in weights.lanes {
      let key = WindowKey(kind: kind, lane: lane)
      guard let window = windows.removeValue(forKey: key) else { continue }
      heads.move(key, from: window.head, to: nil)
      for group in window.parked.keys { parkedIn[group]?.remove(key) }
      fetching.remove(key)
      delayed.remove(key)
    }
    if let state = kinds.removeValue(forKey: kind) { suspectKeys.subtract(state.suspects.map(\.key)) }
    activeKinds.remove(kind)
    ratedOut.remove(kind)
  }

  /// These jobs have just become ready.
  mutating func becameReady(_ jobs: [WindowJob]) {
    if jobs.isEmpty { return }
    for (key, jobs) in Dictionary(grouping: jobs, by: { window(of: $0) }) {
      add(jobs.filter { held[$0.key] == nil && !survivors.keys.contains($0.key) }, to: key)
    }
    dispatch()
  }

  /// Puts ready jobs into their window, if it knows every job before them. The store keeps the others.
  mutating func add(_ jobs: [WindowJob], to key: WindowKey) {
    guard let window = windows[key] else { return }
    var wanted: [WindowJob] = []
    for job in jobs where !window.contains(job.key) && !suspectKeys.contains(job.key) {
      if window.isCut(job) {
        for group in job.groups { window.noteLow(group) }
      } else if window.covers(job.position) {
        wanted.append(job)
      } else if window.query != nil {
        if window.missed.count < JobWindow.mostMissed { window.missed.append(job) } else { window.mustRefetch = true }
      }
    }
    insert(wanted, into: key)
  }

  /// Takes jobs out of the windows, and releases what was parked behind them.
  mutating func forgetReady(_ jobs: some Collection<JobKey>) {
    if jobs.isEmpty { return }
    for key in windows.keys where windows[key]?.count ?? 0 > 0 {
      for job in jobs {
        guard let job = windows[key]?.remove(job) else { continue }
        changed(key)
        for group in limitedGroups(of: job) { wake(group) }
      }
    }
  }
}
