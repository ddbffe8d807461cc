import Jobs
import WorkerProtocol

/// Keeping the windows of ready jobs filled.
extension Coordinator {
  /// How many jobs each window should hold.
  var windowSize: Int { max(JobWindow.smallest, min(JobWindow.size, JobWindow.sizeOfAll / max(1, windows.count))) }

  /// Whether jobs of a kind may be handed out as things are.
  func isOpen(_ kind: String) -> Bool { !pauses.all && !pauses.kinds.contains(kind) }

  // MARK: Occasions

  /// Remembers jobs that are not ready any more, for the answers that may still say so.
  mutating func noteEnded(_ jobs: some Collection<JobKey>) {
    for key in fetching { windows[key]?.endedDuringFetch.formUnion(jobs) }
  }

  /// There may be ready jobs in the store that nobody told of.
  mutating func lookForNewJobs() {
    for kind in kinds.keys.sorted() { lookForNewJobs(kind) }
    refill()
  }

  private mutating func lookForNewJobs(_ kind: String) {
    for lane in weights.lanes { look(WindowKey(kind: kind, lane: lane)) }
  }

  /// Has a window ask for the best jobs, whatever it knows.
  mutating func look(_ key: WindowKey) {
    windows[key]?.mustLook = true
    list(key)
  }

  /// Makes an empty window, which is filled from the store.
  mutating func open(_ key: WindowKey) {
    guard windows[key] == nil else { return }
    windows[key] = JobWindow()
    look(key)
  }

  /// Forgets a kind that no plugin runs any more.
  mutating func remove(_ kind: String) {
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
      add(jobs.filter { held[$0.key] == nil && !claimedElsewhere.contains($0.key) }, to: key)
    }
    dispatch()
  }

  /// These jobs had begun together when their worker and its pool died: each is to run alone when it is found in the store.
  mutating func inherit(suspects: Set<JobKey>) { inheritedSuspects = suspects }

  /// Whether processes live that may run any job.
  mutating func setWaitsForStrangers(_ waits: Bool) {
    guard waits != waitsForStrangers else { return }
    waitsForStrangers = waits
    if waits { return }
    // Their jobs may have ended meanwhile: nothing is known of the store any more.
    for (key, window) in windows {
      window.removeAll()
      changed(key)
    }
    lookForNewJobs()
    dispatch()
  }

  /// Puts jobs that are ready into their window, if every job before them is known: the store keeps the others.
  mutating func add(_ jobs: [WindowJob], to key: WindowKey) {
    guard let window = windows[key] else { return }
    var wanted: [WindowJob] = []
    for job in jobs where !window.contains(job.key) && !suspectKeys.contains(job.key) {
      if window.isCut(job) {
        for group in job.groups { window.noteLow(group) }
      } else if window.covers(job.position) {
        wanted.append(job)
      } else if window.query != nil {
        if window.missed.count < JobWindow.mostMissed { window.missed.append(job) } else { window.mustLook = true }
      }
    }
    place(wanted, in: key)
  }

  /// Workers of an earlier supervisor still run these jobs.
  mutating func setClaimedElsewhere(_ claims: [JobSourceClaim]) {
    let jobs = Set(claims.map(\.job))
    let freed = !claimedElsewhere.subtracting(jobs).isEmpty
    let groups = Set(elsewhereByGroup.keys)
    claimedElsewhere = jobs
    elsewhereByKind = claims.reduce(into: [:]) { counts, claim in claim.kind.map { counts[$0, default: 0] += 1 } }
    elsewhereByGroup = claims.reduce(into: [:]) { counts, claim in
      if let queue = claim.queue { counts[.queue(queue), default: 0] += 1 }
      if let key = claim.limitKey { counts[.key(key), default: 0] += 1 }
    }
    for kind in kinds.keys {
      kinds[kind]?.elsewhere = elsewhereByKind[kind] ?? 0
      refresh(kind)
    }
    forgetReady(jobs)
    for group in groups { wake(group) }
    guard freed else { return }
    lookForNewJobs()
    dispatch()
  }

  /// Takes jobs out of the windows. What was parked behind them is let go.
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
