import WorkerProtocol

/// What the coordinator knows of a job that may run: enough to choose it and to hand it out, and no more.
struct WindowJob: Equatable, Sendable {
  let uri: ObjectURI
  let kind: String
  let queue: String
  /// Higher runs first.
  let priority: Int
  /// Lower is older, and runs first among equals.
  let order: Int64
  /// Seconds that one attempt may take.
  var timeout: Double?
  /// Jobs of the same key run at most `limit` at a time.
  var limitKey: String?
  var limit = 1

  /// Whether this one runs before `other`.
  func precedes(_ other: WindowJob) -> Bool {
    priority != other.priority ? priority > other.priority : order < other.order
  }
}

/// The ready jobs of one kind in one queue that are held in memory: the best ones of a backlog that may be far longer.
struct JobWindow {
  /// How many jobs the windows of a kind hold in all after a refill; each has a share of it.
  static let size = 1000
  /// However many queues there are, a window holds so many.
  static let smallest = 16
  /// How many jobs of one limit key are held, and below how many more are asked for: the rest of the window is for the others.
  static let mostOfKey = 64
  static let lowOfKey = 32

  /// The best job is last, where it is taken.
  private(set) var jobs: [WindowJob] = []
  /// Whether all ready jobs that are in the store are here or in a worker's hand, but for those of `cutKeys`.
  var isComplete = false
  /// Limit keys of which the store has more jobs.
  var cutKeys: Set<String> = []
  var isFetching = false
  /// Jobs that ended while a fetch was under way, whose answer may still show them as ready.
  var endedDuringFetch: Set<ObjectURI> = []
  /// Something changed while a fetch was under way: its answer may lack jobs.
  var mustFetchAgain = false
  private var members: Set<ObjectURI> = []
  private var ofKey: [String: Int] = [:]

  var count: Int { jobs.count }
  var hasLimitKeys: Bool { !ofKey.isEmpty }

  func contains(_ uri: ObjectURI) -> Bool { members.contains(uri) }

  /// Where the best job is that may run, as far as its limit key goes; nil when there is none.
  ///
  /// - Complexity: constant without limit keys, else the number of jobs that may not run before it.
  func best(isFree: (WindowJob) -> Bool) -> Int? {
    if ofKey.isEmpty { return jobs.indices.last }
    return jobs.lastIndex { $0.limitKey == nil || isFree($0) }
  }

  /// A limit key of which there are few jobs here and more in the store.
  var lowKey: String? { cutKeys.first { ofKey[$0, default: 0] < Self.lowOfKey } }

  /// Adds jobs that are not yet here, each in its place.
  ///
  /// - Parameter size: how many jobs this window should hold.
  mutating func insert(_ new: [WindowJob], size: Int = JobWindow.size) {
    let fresh = new.filter { members.insert($0.uri).inserted }
    if fresh.isEmpty { return }
    for key in fresh.lazy.compactMap(\.limitKey) { ofKey[key, default: 0] += 1 }
    if fresh.count == 1, let job = fresh.first {
      jobs.insert(job, at: placeOf(job))
    } else {
      jobs.append(contentsOf: fresh)
      jobs.sort { $1.precedes($0) }
    }
    if !ofKey.isEmpty { cutLongKeys() }
    if jobs.count > 3 * size {
      let surplus = jobs.prefix(jobs.count - 2 * size)
      surplus.forEach { forget($0) }
      jobs.removeFirst(surplus.count)
      isComplete = false
    }
  }

  /// Takes the job at that place.
  mutating func take(at index: Int) -> WindowJob {
    let job = jobs.remove(at: index)
    forget(job)
    return job
  }

  mutating func remove(where matches: (WindowJob) -> Bool) {
    for job in jobs where matches(job) { forget(job) }
    jobs.removeAll { !members.contains($0.uri) }
  }

  /// Keeps the best jobs of each limit key and no more than there should be.
  private mutating func cutLongKeys() {
    guard ofKey.values.contains(where: { $0 > Self.mostOfKey }) else { return }
    var seen: [String: Int] = [:]
    for job in jobs.reversed() {
      guard let key = job.limitKey else { continue }
      seen[key, default: 0] += 1
      guard seen[key, default: 0] > Self.mostOfKey else { continue }
      forget(job)
      cutKeys.insert(key)
    }
    jobs.removeAll { !members.contains($0.uri) }
  }

  private mutating func forget(_ job: WindowJob) {
    members.remove(job.uri)
    guard let key = job.limitKey, let count = ofKey[key] else { return }
    ofKey[key] = count > 1 ? count - 1 : nil
  }

  /// Binary search for the place that keeps the best job last.
  private func placeOf(_ job: WindowJob) -> Int {
    var low = 0
    var high = jobs.count
    while low < high {
      let middle = (low + high) / 2
      if job.precedes(jobs[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// Which window a job is in.
struct WindowKey: Hashable, Comparable, Sendable {
  let kind: String
  let queue: String

  static func < (one: WindowKey, other: WindowKey) -> Bool {
    (one.kind, one.queue) < (other.kind, other.queue)
  }
}

extension WindowJob {
  var window: WindowKey { WindowKey(kind: kind, queue: queue) }
}
