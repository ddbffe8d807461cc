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

  /// Whether this one runs before `other`.
  func precedes(_ other: WindowJob) -> Bool {
    priority != other.priority ? priority > other.priority : order < other.order
  }
}

/// The ready jobs of one kind that are held in memory: the best ones of a backlog that may be far longer.
struct JobWindow {
  /// How many jobs a refill brings, and below how many it is asked for.
  static let size = 1000
  static let low = 500

  /// The best job is last, where it is taken.
  private(set) var jobs: [WindowJob] = []
  /// Jobs that may have killed a worker together with others: each is to run alone.
  var suspects: [WindowJob] = []
  /// Whether all ready jobs of the kind that are in the store are here or in a worker's hand.
  var isComplete = false
  var isFetching = false
  /// Jobs that ended while a fetch was under way, whose answer may still show them as ready.
  var endedDuringFetch: Set<ObjectURI> = []
  /// Something changed while a fetch was under way: its answer may lack jobs.
  var mustFetchAgain = false
  private var members: Set<ObjectURI> = []

  var count: Int { jobs.count + suspects.count }
  var best: WindowJob? { jobs.last }

  func contains(_ uri: ObjectURI) -> Bool { members.contains(uri) }

  /// Adds jobs that are not yet here, each in its place.
  mutating func insert(_ new: [WindowJob]) {
    let fresh = new.filter { members.insert($0.uri).inserted }
    if fresh.count == 1, let job = fresh.first {
      jobs.insert(job, at: placeOf(job))
    } else if !fresh.isEmpty {
      jobs.append(contentsOf: fresh)
      jobs.sort { $1.precedes($0) }
    }
    if jobs.count > 3 * Self.size {
      for job in jobs.prefix(jobs.count - 2 * Self.size) { members.remove(job.uri) }
      jobs.removeFirst(jobs.count - 2 * Self.size)
      isComplete = false
    }
  }

  /// Adds a job that must run alone.
  mutating func insertSuspect(_ job: WindowJob) {
    if members.insert(job.uri).inserted { suspects.append(job) }
  }

  /// Takes up to `count` of the best jobs, in the order in which they shall run.
  mutating func take(_ count: Int) -> [WindowJob] {
    let taken = Array(jobs.suffix(count).reversed())
    jobs.removeLast(taken.count)
    for job in taken { members.remove(job.uri) }
    return taken
  }

  mutating func takeSuspect() -> WindowJob? {
    guard !suspects.isEmpty else { return nil }
    let job = suspects.removeFirst()
    members.remove(job.uri)
    return job
  }

  mutating func remove(where matches: (WindowJob) -> Bool) {
    jobs.removeAll(where: matches)
    suspects.removeAll(where: matches)
    members = Set(jobs.map(\.uri) + suspects.map(\.uri))
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
