import Jobs
import WorkerProtocol

/// Keeping the windows of ready jobs filled.
extension Coordinator {
  /// How many jobs each window should hold.
  var windowSize: Int {
    let size = max(JobWindow.smallest, min(JobWindow.size, JobWindow.sizeOfAll / max(1, windows.all.count)))
    return claimSize.map { min(size, $0) } ?? size
  }

  /// Whether jobs of a kind may be handed out as things are.
  func isOpen(_ kind: String) -> Bool { !pauses.all && !pauses.kinds.contains(kind) }

  // MARK: Occasions

  /// Sets the number of worker processes for which the pool claims jobs in a shared store.
  mutating func workersWanted(_ count: Int) {
    guard claims?.setWorkers(count) == true else { return }
    giveBackUnwanted()
    refetchAll()
  }

  /// The store may have better jobs that no event announced.
  mutating func refetchAll() {
    for kind in kinds.states.keys.sorted() {
      for lane in weights.lanes { windows.refetch(WindowKey(kind: kind, lane: lane)) }
    }
    refill()
  }

  /// Makes an empty window, which is filled from the store.
  mutating func open(_ key: WindowKey) {
    if windows.open(key) { windows.refetch(key) }
  }

  /// These jobs have just become ready. Those whose settlement is being written meanwhile, a cancellation for one, are
  /// not: if they still run afterwards, the store announces them again.
  mutating func becameReady(_ jobs: [WindowJob]) {
    if jobs.isEmpty { return }
    let ready = jobs.filter {
      hands.jobs[$0.key] == nil && !settling.contains($0.key) && !survivors.keys.contains($0.key)
    }
    for (key, jobs) in Dictionary(grouping: ready, by: { window(of: $0) }) { add(jobs, to: key) }
    dispatch()
  }

  /// Puts ready jobs into their window, if it knows every job before them. The store keeps the others.
  mutating func add(_ jobs: [WindowJob], to key: WindowKey) {
    guard let window = windows[key] else { return }
    var covered: [WindowJob] = []
    for job in jobs where !window.contains(job.key) && !kinds.suspectKeys.contains(job.key) {
      if window.isCut(job) {
        for group in job.groups { window.noteLow(group) }
      } else if window.covers(job.position) {
        covered.append(job)
      } else {
        window.noteMissed(job)
      }
    }
    insert(covered, into: key)
  }

  /// Takes jobs out of the windows, and releases what was parked behind them.
  mutating func forgetReady(_ jobs: some Collection<JobKey>) {
    if jobs.isEmpty { return }
    for key in windows.all.keys where windows[key]?.count ?? 0 > 0 {
      for job in jobs {
        guard let job = windows.remove(job, from: key) else { continue }
        changed(key)
        for group in groups.limited(of: job) { wake(group) }
      }
    }
  }
}
