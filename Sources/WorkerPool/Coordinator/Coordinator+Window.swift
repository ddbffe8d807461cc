import Jobs
import WorkerProtocol

/// Keeping the windows of ready jobs filled.
extension Coordinator {
  /// Remembers jobs that are not ready any more, for the answers that may still say so.
  mutating func noteEnded(_ uris: [ObjectURI]) {
    for (key, window) in windows where window.isFetching { windows[key]?.endedDuringFetch.formUnion(uris) }
  }

  /// There may be ready jobs in the store that nobody told of.
  mutating func lookForNewJobs() {
    for kind in kinds.keys.sorted() { findQueues(kind) }
  }

  /// Asks the store in which queues jobs of the kind are ready, unless it is being asked.
  mutating func findQueues(_ kind: String) {
    guard let state = kinds[kind] else { return }
    guard !state.isFindingQueues else {
      kinds[kind]?.mustFindAgain = true
      return
    }
    kinds[kind]?.isFindingQueues = true
    kinds[kind]?.mustFindAgain = false
    effects.append(.findQueues(kind: kind))
  }

  /// The store's answer to `findQueues`; nil when it could not answer.
  mutating func foundQueues(kind: String, _ queues: [String]?) {
    guard kinds[kind]?.isFindingQueues == true else { return }
    kinds[kind]?.isFindingQueues = false
    for queue in queues ?? [] { refill(open(WindowKey(kind: kind, queue: queue))) }
    if kinds[kind]?.mustFindAgain == true { findQueues(kind) }
  }

  /// Makes a window if there is none.
  @discardableResult
  mutating func open(_ key: WindowKey) -> WindowKey {
    if windows[key] == nil {
      windows[key] = JobWindow()
      kinds[key.kind]?.queues.insert(key.queue)
    }
    return key
  }

  /// Asks the store for the best ready jobs of a window, unless it is being asked.
  ///
  /// - Parameter limitKey: only for jobs of this key, of which more are in the store than here.
  private mutating func refill(_ key: WindowKey, limitKey: String? = nil) {
    guard let window = windows[key] else { return }
    if window.isFetching {
      windows[key]?.mustFetchAgain = true
      return
    }
    guard isOpen(key), !isClosed, let state = kinds[key.kind] else { return }
    windows[key]?.isFetching = true
    windows[key]?.mustFetchAgain = false
    // What is in somebody's hand, or shall run alone, is still ready in the store, and must not crowd out what is not.
    let known = window.count + state.inHand + state.suspects.count + settling.count + claimedElsewhere.count
    let query = ReadyQuery(
      kind: key.kind, queue: key.queue, limitKey: limitKey, withoutKeys: limitKey == nil ? window.cutKeys : [],
      limit: known + (limitKey == nil ? state.windowSize : JobWindow.mostOfKey))
    effects.append(.fetchReady(query))
  }

  /// Asks for more where little is left.
  mutating func refillLowWindows() {
    for (key, window) in windows where !window.isFetching && isOpen(key) {
      if !window.isComplete, window.count < (kinds[key.kind]?.windowSize ?? 0) / 2 {
        refill(key)
      } else if !window.isComplete, let full = keysInTheWay(of: key) {
        windows[key]?.cutKeys.formUnion(full)
        refill(key)
      } else if !window.cutKeys.isEmpty, let limitKey = window.lowKey {
        refill(key, limitKey: limitKey)
      }
    }
  }

  /// The limit keys of the jobs in a window of which none may run for now; nil if one may. Those behind them in the store must not
  /// wait for them.
  private func keysInTheWay(of key: WindowKey) -> Set<String>? {
    guard let window = windows[key], window.hasLimitKeys, best(in: key) == nil else { return nil }
    return Set(window.jobs.compactMap(\.limitKey)).subtracting(window.cutKeys).nonEmpty
  }

  /// The store's answer to `fetchReady`: the best ready jobs, and whether these are all.
  mutating func fetched(_ query: ReadyQuery, _ jobs: [WindowJob], isComplete: Bool) {
    let key = WindowKey(kind: query.kind, queue: query.queue)
    guard let window = windows[key], window.isFetching else { return }
    windows[key]?.isFetching = false
    if let limitKey = query.limitKey {
      if isComplete { windows[key]?.cutKeys.remove(limitKey) }
    } else {
      windows[key]?.isComplete = isComplete
    }
    let new = jobs.filter {
      held[$0.uri] == nil && !settling.contains($0.uri) && !window.endedDuringFetch.contains($0.uri)
        && !claimedElsewhere.contains($0.uri) && !suspectURIs.contains($0.uri)
    }
    let ready = inheritedSuspects.isEmpty ? new : new.filter { !takeSuspect($0) }
    windows[key]?.insert(ready, size: kinds[query.kind]?.windowSize ?? JobWindow.size)
    windows[key]?.endedDuringFetch.removeAll()
    if windows[key]?.mustFetchAgain == true { refill(key) }
    closeIfEmpty(key)
    dispatch()
  }

  /// The fetch failed; it is tried again with the next occasion.
  mutating func fetchFailed(_ query: ReadyQuery) {
    let key = WindowKey(kind: query.kind, queue: query.queue)
    windows[key]?.isFetching = false
    windows[key]?.isComplete = false
  }

  /// So many empty windows of a kind are kept: their queues will most likely be used again.
  private static let emptyWindows = 64

  private mutating func closeIfEmpty(_ key: WindowKey) {
    guard let window = windows[key], window.count == 0, window.isComplete, !window.isFetching, window.cutKeys.isEmpty,
      let queues = kinds[key.kind]?.queues, queues.count > Self.emptyWindows
    else { return }
    windows[key] = nil
    kinds[key.kind]?.queues.remove(key.queue)
  }

  /// These jobs have just become ready.
  mutating func becameReady(_ jobs: [WindowJob]) {
    if jobs.isEmpty { return }
    for (key, jobs) in Dictionary(grouping: jobs, by: \.window) where kinds[key.kind] != nil {
      // A new window is incomplete: it is filled from the store.
      guard let window = windows[open(key)] else { continue }
      let worst = window.jobs.first
      let wanted = jobs.filter { job in
        held[job.uri] == nil && !claimedElsewhere.contains(job.uri)
          && (job.limitKey.map { !window.cutKeys.contains($0) } ?? true)
          && (window.isComplete || worst.map { job.precedes($0) } ?? false)
      }
      windows[key]?.insert(wanted, size: kinds[key.kind]?.windowSize ?? JobWindow.size)
      if window.isFetching { windows[key]?.mustFetchAgain = true }
    }
    dispatch()
  }

  /// These jobs had begun together when their worker and its pool died: each is to run alone when it is found in the store.
  mutating func inherit(suspects: Set<ObjectURI>) { inheritedSuspects = suspects }

  private mutating func takeSuspect(_ job: WindowJob) -> Bool {
    guard inheritedSuspects.remove(job.uri) != nil else { return false }
    kinds[job.kind]?.suspects.append(job)
    return true
  }

  /// Whether processes live that may run any job.
  mutating func setWaitsForStrangers(_ waits: Bool) {
    guard waits != waitsForStrangers else { return }
    waitsForStrangers = waits
    if waits { return }
    // Their jobs may have ended meanwhile.
    for key in windows.keys { windows[key]?.remove { _ in true } }
    for key in windows.keys { windows[key]?.isComplete = false }
    lookForNewJobs()
    dispatch()
  }

  /// Workers of an earlier supervisor still run these jobs.
  mutating func setClaimedElsewhere(_ claims: [JobSourceClaim]) {
    let uris = Set(claims.map(\.job))
    let freed = !claimedElsewhere.subtracting(uris).isEmpty
    claimedElsewhere = uris
    elsewhereByKind = claims.reduce(into: [:]) { counts, claim in claim.kind.map { counts[$0, default: 0] += 1 } }
    elsewhereByKey = claims.reduce(into: [:]) { counts, claim in claim.limitKey.map { counts[$0, default: 0] += 1 } }
    for kind in kinds.keys { kinds[kind]?.elsewhere = elsewhereByKind[kind] ?? 0 }
    for key in windows.keys { windows[key]?.remove { uris.contains($0.uri) } }
    guard freed else { return }
    lookForNewJobs()
    dispatch()
  }

  /// Jobs that are to run alone; they are in no window.
  var suspectURIs: Set<ObjectURI> {
    kinds.values.reduce(into: []) { set, kind in set.formUnion(kind.suspects.map(\.uri)) }
  }
}

extension Set {
  /// The set, or nil if nothing is in it.
  fileprivate var nonEmpty: Self? { isEmpty ? nil : self }
}
