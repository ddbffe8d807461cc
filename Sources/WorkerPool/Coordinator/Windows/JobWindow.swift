import Jobs
import WorkerProtocol

/// What the coordinator knows of a ready job: enough to pick it and to hand it out.
struct WindowJob: Codable, Equatable, Sendable {
  /// Its key. A lower one is older, and runs first among jobs of one priority.
  let key: JobKey
  let kind: String
  let queue: String
  /// Higher runs first.
  let priority: Int
  /// The number of its next attempt.
  var attempt = 1
  /// Seconds that one attempt may take.
  var timeout: Double?
  /// Jobs of the same key run at most `limit` at a time.
  var limitKey: String?
  var limit = 1
  /// Since when it could begin, in seconds since the reference date; nil where it is not known.
  var readyAt: Double?

  var position: JobPosition { JobPosition(priority: priority, key: key) }

  /// Whether this one runs before `other`.
  func precedes(_ other: WindowJob) -> Bool { position < other.position }

  /// The groups that the job belongs to.
  var groups: [JobGroup] { [.queue(queue)] + (limitKey.map { [.key($0)] } ?? []) }
}

/// The ready jobs of one kind in one lane that are held in memory: the best ones of a backlog that may be far longer.
///
/// A queue with a weight has a lane of its own, and all other queues share one. However many queues and limit keys
/// there are, the window is filled from the head of one index. `frontier` says how far into the store's order it knows
/// every job: a job behind that is not handed out, since a better one may lie in between.
///
/// A job whose queue or key is full is parked with its group until the group has room. Of each group a few are parked.
/// The store keeps the others of such a *cut* group, and the window asks for them by the group's own index.
///
/// A class, so that reading one number copies nothing; ``JobWindows`` owns it.
final class JobWindow {
  /// How far into the order of the store all jobs are known.
  enum Frontier: Equatable, Sendable {
    /// Nothing is known yet.
    case start
    case behind(JobPosition)
    /// No job in the store is unknown.
    case end
  }

  /// How many jobs a window holds after a refill, and how many all windows hold together.
  static let size = 1000
  static let sizeOfAll = 65_536
  /// Each window holds at least this many, however many windows there are.
  static let smallest = 16
  /// How many jobs of a full group are parked, and the number below which the window asks for more.
  static let mostOfGroup = 64
  static let lowOfGroup = 16
  /// How many jobs that became ready during a fetch are kept until its answer.
  static let mostMissed = 500

  /// Jobs that might run when they were put here.
  private(set) var runnable = SortedJobs()
  private(set) var parked: [JobGroup: SortedJobs] = [:]
  private(set) var parkedCount = 0
  private(set) var frontier = Frontier.start
  /// Groups with further jobs in the store.
  private(set) var cut: Set<JobGroup> = []
  /// Cut groups that have few jobs left here.
  private var lowGroups: Set<JobGroup> = []
  /// The fetch under way, and the cut group that it is for.
  private(set) var query: ReadyQuery?
  private(set) var queriedGroup: JobGroup?
  /// The store may have better jobs that no event announced.
  private(set) var mustRefetch = false
  /// The earliest time of the next refetch, set when the last one took the store long.
  private(set) var nextRefetch: Double?
  /// Jobs that ended while a fetch was under way, whose answer may still show them as ready.
  private(set) var endedDuringFetch: Set<JobKey> = []
  /// Jobs that became ready behind the frontier while a fetch was under way. The fetch may move the frontier.
  private(set) var missed: [WindowJob] = []
  /// Whether the window is listed for `refill`.
  var isListed = false
  /// The position of the window among the heads.
  var head: JobPosition?
  /// How many of its runnable jobs its kind has counted.
  private var counted = 0
  private var members: Set<JobKey> = []

  /// Runnable and parked jobs.
  var count: Int { runnable.count + parkedCount }

  func contains(_ key: JobKey) -> Bool { members.contains(key) }

  /// Whether every job at a position is known.
  func covers(_ position: JobPosition) -> Bool {
    switch frontier {
    case .start: false
    case .behind(let last): position <= last
    case .end: true
    }
  }

  /// The job to run next.
  var next: WindowJob? { runnable.first.flatMap { covers($0.position) ? $0 : nil } }

  /// How many jobs can be handed out before the next fetch.
  var reach: Int {
    switch frontier {
    case .start: 0
    case .behind(let last): runnable.count(upTo: last)
    case .end: runnable.count
    }
  }

  func isCut(_ job: WindowJob) -> Bool { !cut.isEmpty && job.groups.contains(where: cut.contains) }

  // MARK: Changing it

  /// Adds jobs that may run and are not yet here.
  ///
  /// - Parameter size: how many jobs this window should hold.
  func insert(_ new: [WindowJob], size: Int) {
    runnable.insert(contentsOf: new.filter { members.insert($0.key).inserted })
    guard runnable.count > 3 * size else { return }
    while runnable.count > 2 * size, let job = runnable.removeLast() { members.remove(job.key) }
    guard let last = runnable.last?.position, covers(last) else { return }
    frontier = .behind(last)
  }

  /// Parks a new job until its group has room.
  func park(_ job: WindowJob, in group: JobGroup) {
    guard members.insert(job.key).inserted else { return }
    parked[group, default: SortedJobs()].insert(job)
    parkedCount += 1
    guard parked[group, default: SortedJobs()].count > Self.mostOfGroup, let worst = parked[group]?.removeLast() else {
      return
    }
    members.remove(worst.key)
    parkedCount -= 1
    cut.insert(group)
  }

  /// Takes out a parked job, which the caller puts elsewhere.
  func unpark(_ job: WindowJob, from group: JobGroup) {
    guard parked[group]?.remove(at: job.position) != nil else { return }
    members.remove(job.key)
    parkedCount -= 1
    if parked[group]?.isEmpty == true { parked[group] = nil }
    noteLow(group)
  }

  /// Takes the job to run next.
  func takeNext() -> WindowJob? {
    guard next != nil, let job = runnable.removeFirst() else { return nil }
    members.remove(job.key)
    return job
  }

  /// Takes out the job with this key, if it is here.
  func remove(_ key: JobKey) -> WindowJob? {
    guard members.remove(key) != nil else { return nil }
    if let job = runnable.remove(key) { return job }
    for group in parked.keys {
      guard let job = parked[group]?.remove(key) else { continue }
      parkedCount -= 1
      if parked[group]?.isEmpty == true { parked[group] = nil }
      noteLow(group)
      return job
    }
    return nil
  }

  /// Forgets all jobs, and what was known of the store.
  func removeAll() {
    runnable = SortedJobs()
    parked = [:]
    parkedCount = 0
    members = []
    cut = []
    lowGroups = []
    frontier = .start
  }

  /// How many runnable jobs there are more than at the last call.
  func countNewRunnable() -> Int {
    defer { counted = runnable.count }
    return runnable.count - counted
  }

  /// The store has no further jobs of the group.
  func complete(_ group: JobGroup) { cut.remove(group) }

  /// All jobs of this window in the store belong to a full group.
  func noteAllCut() {
    frontier = .end
    mustRefetch = false
  }

  /// The store has jobs of the group in order with all others again: nothing is known of it any more.
  func forgetCut(_ group: JobGroup) {
    complete(group)
    frontier = .start
  }

  // MARK: Asking the store

  /// The store may have better jobs that no event announced.
  func askAgain() { mustRefetch = true }

  /// A refetch is about to begin.
  func noteRefetch() { mustRefetch = false }

  /// The next refetch has to wait until then.
  func delayRefetch(until time: Double) { nextRefetch = time }

  /// A cut group that has few jobs left here and for which `isWanted` holds; each once.
  func takeLowGroup(where isWanted: (JobGroup) -> Bool) -> JobGroup? {
    while let group = lowGroups.popFirst() {
      if isWanted(group) { return group }
    }
    return nil
  }

  /// The store is asked: for more jobs of a cut group, or for the next ones in order.
  func beginFetch(_ new: ReadyQuery, group: JobGroup?) {
    query = new
    queriedGroup = group
  }

  /// A job behind the frontier has become ready: the answer under way may move the frontier.
  func noteMissed(_ job: WindowJob) {
    if query == nil { return }
    if missed.count < Self.mostMissed { missed.append(job) } else { mustRefetch = true }
  }

  /// These jobs are no longer ready: the answer under way may still list them.
  func noteEnded(_ jobs: some Collection<JobKey>) { endedDuringFetch.formUnion(jobs) }

  /// A job that had ended is ready again.
  func noteReady(_ job: JobKey) { endedDuringFetch.remove(job) }

  /// The store has answered: ready jobs up to one in its order, or all that there are.
  func noteAnswer(upTo last: WindowJob?, isComplete: Bool) {
    if let queriedGroup {
      if isComplete { complete(queriedGroup) }
    } else {
      frontier = isComplete ? .end : last.map { .behind($0.position) } ?? .end
    }
    forgetFetch()
  }

  /// The store has answered, or failed.
  func forgetFetch() {
    query = nil
    queriedGroup = nil
    endedDuringFetch.removeAll()
    missed.removeAll()
  }

  /// Remembers to ask for more of a cut group when few are left.
  func noteLow(_ group: JobGroup) {
    guard cut.contains(group), parked[group]?.count ?? 0 < Self.lowOfGroup else { return }
    lowGroups.insert(group)
  }
}

/// Which window a job is in.
struct WindowKey: Hashable, Sendable {
  let kind: String
  /// A queue with a weight, or ``QueueWeights/unweighted`` for all others.
  let lane: String
}
