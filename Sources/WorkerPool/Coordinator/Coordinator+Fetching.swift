import Jobs
import WorkerProtocol

/// Asking the store for ready jobs, and taking its answers.
extension Coordinator {
  /// How many fetches may be under way at a time. The store runs one after the other.
  private static let mostFetches = 8
  /// How many groups a query leaves out; jobs of further groups are dropped from its answer.
  private static let mostLeftOut = 100
  /// Refetches that take the store longer than this, in seconds, get at most a tenth of the time, but are never further
  /// apart than `longestFetchDelay`.
  private static let slowFetch = 0.02
  private static let longestFetchDelay = 5.0

  /// Asks the store for more jobs where windows need them, one window after the other.
  mutating func refill() {
    guard !isClosed, !pauses.all else { return }
    while windows.fetching.count < Self.mostFetches, let key = windows.takeListed() {
      guard let (query, group) = nextQuery(key) else { continue }
      windows.beginFetch(query, for: key, group: group)
      effects.append(.fetchReady(query))
    }
  }

  /// What a window needs from the store now, and the group for whose jobs it asks; nil for nothing.
  private mutating func nextQuery(_ key: WindowKey) -> (query: ReadyQuery, group: JobGroup?)? {
    guard let window = windows[key], !pauses.kinds.contains(key.kind) else { return nil }
    // Other pools run what this one cannot begin soon.
    if let room = claimRoom(window, key.kind), room <= 0 { return nil }
    if window.cut.contains(.queue(key.lane)) {
      // All jobs of this window in the store belong to a full group.
      window.noteAllCut()
      moveHead(of: key)
    } else if window.frontier == .start || window.mustRefetch && windows.mayRefetch(key, now: now) {
      window.noteRefetch()
      return (refetchQuery(window, key), nil)
    } else if case .behind(let last) = window.frontier, window.reach < max(windowSize / 2, claims == nil ? 0 : 1) {
      // What other pools give back may lie anywhere in the order.
      if claims != nil { return (refetchQuery(window, key), nil) }
      var query = query(window, key)
      query.after = last
      return (query, nil)
    }
    return groupQuery(window, key)
  }

  private func query(_ window: JobWindow, _ key: WindowKey) -> ReadyQuery {
    let size = windowSize
    let room = min(size - window.count, claimRoom(window, key.kind) ?? .max)
    var query = ReadyQuery(kind: key.kind, limit: size, claims: max(0, room))
    query.without = window.cut
    if let claims {
      query.round = claims.round
      query.without.formUnion(pauses.queues.map(JobGroup.queue))
    }
    if key.lane == QueueWeights.unweighted {
      query.without.formUnion(weights.queues.map(JobGroup.queue))
    } else {
      query.groups = [.queue(key.lane)]
    }
    if query.without.count > Self.mostLeftOut { query.without = Set(query.without.prefix(Self.mostLeftOut)) }
    return query
  }

  /// From the best job on. Jobs that are in the window or in a hand are still `available` in the store, so the limit
  /// counts them, too.
  private func refetchQuery(_ window: JobWindow, _ key: WindowKey) -> ReadyQuery {
    var query = query(window, key)
    let inHand = (kinds[key.kind]?.inHand ?? 0) + settling.count + survivors.keys.count + kinds.suspectKeys.count
    query.limit += min(window.count + inHand, 4 * JobWindow.size)
    return query
  }

  private func groupQuery(_ window: JobWindow, _ key: WindowKey) -> (ReadyQuery, JobGroup?)? {
    guard let group = window.takeLowGroup(where: { !isPaused($0) }) else { return nil }
    var query = query(window, key)
    query.without.remove(group)
    query.groups.insert(group)
    let inHand = groups.count(in: group) + survivors.count(in: group)
    let parked = window.parked[group]?.count ?? 0
    query.limit = JobWindow.mostOfGroup + inHand + settling.count + kinds.suspectKeys.count + parked
    return (query, group)
  }

  /// The store's answer to `fetchReady`: ready jobs, whether these are all of the query, and how many seconds the store
  /// took.
  ///
  /// - Parameter withheld: jobs that may not be handed out, even if the store lists them.
  mutating func fetched(
    _ query: ReadyQuery, _ jobs: [WindowJob], isComplete: Bool, seconds: Double = 0,
    besides withheld: Set<JobKey> = []
  ) {
    let key = window(of: query)
    guard let window = windows.endFetch(query, of: key) else { return }
    let group = window.queriedGroup
    let missed = window.missed.filter { hands.jobs[$0.key] == nil && !window.endedDuringFetch.contains($0.key) }
    let new = jobs.filter {
      isNew($0, in: window, of: key, besides: group) && !withheld.contains($0.key) && !takeSuspect($0)
    }
    window.noteAnswer(upTo: jobs.last, isComplete: isComplete)
    if query.after == nil, seconds > Self.slowFetch {
      window.delayRefetch(until: now + min(Self.longestFetchDelay, 10 * seconds))
    }
    insert(new, into: key)
    add(missed, to: key)
    // A refetch corrects wrong counts.
    if query.after == nil, group == nil { for group in window.cut.union(window.parked.keys) { wake(group) } }
    changed(key)
    dispatch()
  }

  /// Whether a job of an answer is ready, and not known to the window.
  private func isNew(_ job: WindowJob, in window: JobWindow, of key: WindowKey, besides group: JobGroup?) -> Bool {
    hands.jobs[job.key] == nil && !settling.contains(job.key) && !window.endedDuringFetch.contains(job.key)
      && !survivors.keys.contains(job.key) && !kinds.suspectKeys.contains(job.key) && !window.contains(job.key)
      && self.window(of: job) == key
      && (window.cut.isEmpty || !job.groups.contains { $0 != group && window.cut.contains($0) })
  }

  /// Whether the job may have killed a worker, together with others, and went back to the store.
  private mutating func takeSuspect(_ job: WindowJob) -> Bool {
    guard survivors.takeSuspect(job.key) else { return false }
    kinds.addSuspect(job)
    return true
  }

  /// The fetch failed; the next refill tries it again.
  mutating func fetchFailed(_ query: ReadyQuery) {
    guard let window = windows.endFetch(query, of: window(of: query)) else { return }
    window.forgetFetch()
    window.askAgain()
  }

  private func window(of query: ReadyQuery) -> WindowKey {
    let lane = weights.isEmpty ? nil : weights.queues.first { query.groups.contains(.queue($0)) }
    return WindowKey(kind: query.kind, lane: lane ?? QueueWeights.unweighted)
  }
}
