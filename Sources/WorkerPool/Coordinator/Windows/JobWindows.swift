import Jobs
import WorkerProtocol

/// All windows of ready jobs, and what follows from them: their heads in order, which of them may need the store, which
/// are asking it, and in which of them jobs of a group are parked.
///
/// Jobs come into a window and leave it through this type. After such changes ``update(_:isOffered:)`` brings the rest
/// up to date.
struct JobWindows {
  private(set) var all: [WindowKey: JobWindow] = [:]
  /// Windows whose query the store has not answered.
  private(set) var fetching: Set<WindowKey> = []
  /// The best job of each window.
  private(set) var heads = JobHeads()
  /// Windows that may need a fetch, each once.
  private var listed: ArraySlice<WindowKey> = []
  /// Windows whose refetch has to wait for its time.
  private var delayed: Set<WindowKey> = []
  /// The windows that have parked jobs of a group, or left some of them in the store.
  private(set) var parkedIn: [JobGroup: Set<WindowKey>] = [:]

  subscript(_ key: WindowKey) -> JobWindow? { all[key] }

  /// Makes an empty window, which is filled from the store. False where there is one.
  mutating func open(_ key: WindowKey) -> Bool {
    guard all[key] == nil else { return false }
    all[key] = JobWindow()
    return true
  }

  mutating func close(_ key: WindowKey) {
    guard let window = all.removeValue(forKey: key) else { return }
    heads.move(key, from: window.head, to: nil)
    for group in window.parked.keys { parkedIn[group]?.remove(key) }
    fetching.remove(key)
    delayed.remove(key)
  }

  // MARK: Jobs come and go

  /// Adds jobs that may run.
  ///
  /// - Parameter size: how many jobs a window should hold.
  func insert(_ jobs: [WindowJob], into key: WindowKey, size: Int) { all[key]?.insert(jobs, size: size) }

  /// Parks a job with its group, which is full.
  mutating func park(_ job: WindowJob, in group: JobGroup, of key: WindowKey) {
    all[key]?.park(job, in: group)
    parkedIn[group, default: []].insert(key)
  }

  /// Takes out a parked job, which the caller puts elsewhere.
  func unpark(_ job: WindowJob, from group: JobGroup, of key: WindowKey) { all[key]?.unpark(job, from: group) }

  /// Takes a window off the list of a group, unless the window has parked jobs of it, or the store has more of them.
  mutating func forget(_ group: JobGroup, in key: WindowKey) {
    if let window = all[key], window.parked[group] != nil || window.cut.contains(group) { return }
    parkedIn[group]?.remove(key)
    if parkedIn[group]?.isEmpty == true { parkedIn[group] = nil }
  }

  /// Takes the job to run next.
  func takeNext(from key: WindowKey) -> WindowJob? { all[key]?.takeNext() }

  /// Takes out a job, if the window has it.
  func remove(_ job: JobKey, from key: WindowKey) -> WindowJob? { all[key]?.remove(job) }

  /// Forgets the jobs of a window. An answer of the store that is under way does not count any more.
  mutating func empty(_ key: WindowKey) {
    guard let window = all[key] else { return }
    window.removeAll()
    window.forgetFetch()
    window.askAgain()
    fetching.remove(key)
  }

  /// The store has jobs of a group again that the windows left there: these windows know nothing of the store any more.
  func forgetCuts(_ group: JobGroup) -> [WindowKey] {
    all.compactMap { key, window in
      guard window.cut.contains(group) else { return nil }
      window.forgetCut(group)
      return key
    }
  }

  // MARK: What follows from the jobs

  /// Updates the head of a window after a change of its jobs, and lists it. Returns how many runnable jobs it has more
  /// than at the last update.
  mutating func update(_ key: WindowKey, isOffered: Bool) -> Int {
    guard let window = all[key] else { return 0 }
    moveHead(of: key, isOffered: isOffered)
    list(key)
    return window.countNewRunnable()
  }

  /// - Parameter isOffered: whether jobs of the window's kind may be picked.
  mutating func moveHead(of key: WindowKey, isOffered: Bool) {
    guard let window = all[key] else { return }
    let head = isOffered ? window.next?.position : nil
    guard head != window.head else { return }
    heads.move(key, from: window.head, to: head)
    window.head = head
  }

  // MARK: Asking the store

  /// The window may need a fetch.
  mutating func list(_ key: WindowKey) {
    guard let window = all[key], !window.isListed else { return }
    window.isListed = true
    listed.append(key)
  }

  /// Makes a window ask for the best jobs again.
  mutating func refetch(_ key: WindowKey) {
    all[key]?.askAgain()
    list(key)
  }

  /// The next listed window that has no fetch under way.
  mutating func takeListed() -> WindowKey? {
    while let key = listed.popFirst() {
      guard let window = all[key] else { continue }
      window.isListed = false
      if listed.isEmpty { listed = [] }
      if window.query == nil { return key }
    }
    return nil
  }

  /// Whether the time of a window's next refetch has come; otherwise it is refetched then.
  mutating func mayRefetch(_ key: WindowKey, now: Double) -> Bool {
    guard let time = all[key]?.nextRefetch, time > now else { return true }
    delayed.insert(key)
    return false
  }

  /// When the first delayed window may refetch.
  var nextRefetch: Double { delayed.reduce(.infinity) { min($0, all[$1]?.nextRefetch ?? .infinity) } }

  /// Makes delayed windows refetch whose time has come.
  mutating func refetchDelayed(now: Double) {
    for key in delayed where all[key]?.nextRefetch ?? 0 <= now {
      delayed.remove(key)
      refetch(key)
    }
  }

  /// The store is asked for a window: for more jobs of a group, or for the next ones in order.
  mutating func beginFetch(_ query: ReadyQuery, for key: WindowKey, group: JobGroup?) {
    all[key]?.beginFetch(query, group: group)
    fetching.insert(key)
  }

  /// The window that asked the query; nil where its answer does not count any more.
  mutating func endFetch(_ query: ReadyQuery, of key: WindowKey) -> JobWindow? {
    guard let window = all[key], window.query == query else { return nil }
    fetching.remove(key)
    return window
  }

  /// Remembers jobs that are no longer ready: answers under way may still list them.
  func noteEnded(_ jobs: some Collection<JobKey>) {
    for key in fetching { all[key]?.noteEnded(jobs) }
  }

  /// A job that had left is ready again.
  func noteReady(_ job: JobKey, in key: WindowKey) { all[key]?.noteReady(job) }

  /// Whether the store is asked for the first jobs of some window: they may be better than the known ones, or belong to
  /// a queue with a weight.
  var isLearning: Bool { fetching.contains { all[$0]?.frontier == .start } }
}
