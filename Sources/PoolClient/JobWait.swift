import CoreData
import Jobs

/// Why unfinished jobs do not run now, in a word by which a person chooses them.
///
/// No job waits for a unique key: a second job of the same key is not accepted while the first is unfinished.
///
/// ```swift
/// import PoolClient
///
/// let reader = try StoreReader(poolStore: "app.sqlite")
/// var filter = JobFilter()
/// filter.wait = .time
/// for (state, count) in try reader.counts(filter) { print(count, state.name, "jobs wait for a time") }
/// ```
public enum JobWait: String, CaseIterable, Sendable {
  /// For a time: that of the job, or that of the next attempt.
  case time
  /// For other jobs, or for a batch.
  case jobs
  /// The pool, the queue or the kind is paused.
  case paused
  /// As many run as the kind, the queue or the limit key lets.
  case limit
  /// As many have begun as the rate of the kind lets.
  case rate
  /// No plugin or no worker process runs the kind.
  case worker
  /// For its turn: workers are busy with other jobs.
  case turn
  /// For a pool: none runs, or the one that runs hands out nothing.
  case pool
}

extension JobObstacle {
  /// The word for the obstacle.
  public var wait: JobWait {
    switch reason {
    case .poolPaused, .queuePaused, .kindPaused: .paused
    case .kindLimit, .queueLimit, .keyLimit, .sharedLimit: .limit
    case .rate: .rate
    case .noPlugin, .noWorker: .worker
    case .alone, .inHand, .workersBusy: .turn
    case .stopping, .survivors: .pool
    }
  }

  /// The jobs that the obstacle concerns; nil for obstacles of a single job.
  fileprivate var scope: JobWaits.Scope? {
    switch reason {
    case .poolPaused, .stopping, .survivors: .ready
    case .kindPaused, .kindLimit, .rate, .sharedLimit, .noPlugin, .noWorker: name.map(JobWaits.Scope.kind)
    case .queuePaused, .queueLimit: name.map(JobWaits.Scope.queue)
    case .keyLimit: name.map(JobWaits.Scope.limitKey)
    case .alone, .inHand, .workersBusy: nil
    }
  }
}

/// Says of each job of a store why it waits, and finds the jobs that wait for a reason: both from one list of rules.
///
/// ```swift
/// import PoolClient
///
/// let reader = try StoreReader(poolStore: "app.sqlite")
/// reader.note(try StatusClient(queue: "queue/").request(StatusRequest(.explain)).obstacles)
/// var filter = JobFilter()
/// filter.wait = .paused
/// try reader.jobs(filter, limit: 20) { job, run in print(job.kind, reader.waits.text(job, run: run) ?? "") }
/// ```
///
/// A job that a worker holds, and has not begun, counts as one that is not handed out yet.
///
/// It is a picture of the moment at which the pool answered. For lists that stay open, ask the pool again with each
/// refresh. Without ``StoreReader/note(_:_:)``, every ready job counts as one that waits for a pool.
public struct JobWaits: Sendable {
  /// The jobs to which a rule applies.
  enum Scope: Hashable, Sendable {
    case states([JobState])
    /// All that are ready, or those of a kind, of a queue, of a limit key, or of no kind of a list.
    case ready
    case kind(String)
    case queue(String)
    case limitKey(String)
    case otherKinds([String])
  }

  private struct Rule: Sendable {
    let wait: JobWait
    let scope: Scope
    var obstacle: JobObstacle?
  }

  /// The first rule that matches a job applies. For a pool that runs the kinds import and mail and whose queue "mail"
  /// is paused:
  ///
  /// ```text
  /// wait      scope                             matches
  /// time      scheduled, retryable              jobs whose time has not come
  /// jobs      blocked, pending                  jobs that run after others
  /// paused    ready, of the queue mail          jobs for which the pool names an obstacle
  /// worker    ready, neither import nor mail    jobs that no plugin of any pool runs
  /// turn      ready                             all others
  /// ```
  ///
  /// If no pool has answered, the rules are the first two and "pool: ready".
  private let rules: [Rule]

  /// - Parameters:
  ///   - pool: what keeps the jobs of the pool; nil where none has answered.
  ///   - otherKinds: the kinds that other pools of the store run.
  init(_ pool: PoolObstacles?, otherKinds: [String] = []) {
    var rules = [
      Rule(wait: .time, scope: .states([.scheduled, .retryable])),
      Rule(wait: .jobs, scope: .states([.blocked, .pending])),
    ]
    if let pool {
      rules += pool.obstacles.compactMap { obstacle in
        obstacle.scope.map { Rule(wait: obstacle.wait, scope: $0, obstacle: obstacle) }
      }
      rules.append(Rule(wait: .worker, scope: .otherKinds(pool.kinds + otherKinds)))
      rules.append(Rule(wait: .turn, scope: .ready))
    } else {
      rules.append(Rule(wait: .pool, scope: .ready))
    }
    self.rules = rules
  }

  /// Why a job waits; nil for one that runs or is finished. Called on the queue of the job's context.
  public func wait(_ job: Job, run: JobRun?) -> JobWait? { rule(job, run)?.wait }

  /// Why a job waits, in a few words: `until 2026-01-01 14:05:07 UTC`, `the queue mail is paused`. Nil for one that
  /// runs or is finished. Called on the queue of the job's context.
  public func text(_ job: Job, run: JobRun?) -> String? {
    guard let rule = rule(job, run) else { return nil }
    let name = rule.obstacle?.name ?? ""
    switch (rule.wait, rule.obstacle?.reason) {
    case (.time, _): return job.runAt.map { "until \(Self.second($0))" } ?? "until a time"
    case (.jobs, _): return job.options.afterBatch.map { "for the batch \($0)" } ?? "for other jobs"
    case (_, .poolPaused): return "the pool is paused"
    case (_, .queuePaused): return "the queue \(name) is paused"
    case (_, .kindPaused): return "the kind \(name) is paused"
    case (_, .kindLimit): return "the limit of the kind \(name)"
    case (_, .sharedLimit): return "a limit or a rate of the kind \(name) over all pools"
    case (_, .queueLimit): return "the limit of the queue \(name)"
    case (_, .keyLimit): return "the limit of the key \(name)"
    case (.rate, _): return "the rate of the kind \(name)"
    case (.worker, .noWorker): return "for a worker process of the kind \(name)"
    case (.worker, _): return "no plugin runs the kind \(job.kind)"
    case (.turn, _): return "for a free worker"
    case (_, .stopping): return "the pool stops"
    case (_, .survivors): return "for processes of a killed pool"
    case (.pool, _): return "no pool runs"
    case (.paused, _), (.limit, _): return rule.wait.rawValue
    }
  }

  /// The rule for a job that is in memory, as in a list.
  private func rule(_ job: Job, _ run: JobRun?) -> Rule? {
    guard run == nil || job.state != .available else { return nil }
    return rules.first { $0.scope.contains(job) }
  }

  private static func second(_ date: Date) -> String {
    Timestamp.text(Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate.rounded(.down)))
      .replacingOccurrences(of: "T", with: " ").replacingOccurrences(of: "Z", with: " UTC")
  }

  /// Matches the jobs that wait for a reason, and jobs that run, whose rows are `available`, too: the filter excludes
  /// those.
  ///
  /// Jobs of earlier rules are excluded, since the first rule applies. For the jobs that wait for their turn:
  ///
  /// ```text
  /// state is available AND queue != "mail" AND kind IN {import, mail}
  /// ```
  func predicate(_ wait: JobWait) -> NSPredicate {
    var parts: [NSPredicate] = []
    var others: [NSPredicate] = []
    for rule in rules {
      if rule.wait == wait {
        parts.append(NSCompoundPredicate(andPredicateWithSubpredicates: [rule.scope.predicate] + others))
      } else if let exclusion = rule.scope.exclusion {
        others.append(exclusion)
      }
    }
    return NSCompoundPredicate(orPredicateWithSubpredicates: parts)
  }
}

extension JobWaits.Scope {
  /// Whether a job is in the scope. A ready job is one in the state `available`.
  fileprivate func contains(_ job: Job) -> Bool {
    if case .states(let states) = self { return states.contains(job.state) }
    guard job.state == .available else { return false }
    switch self {
    case .states: return false
    case .ready: return true
    case .kind(let kind): return job.kind == kind
    case .queue(let queue): return job.queue == queue
    case .limitKey(let key): return job.limitKey == key
    case .otherKinds(let kinds): return !kinds.contains(job.kind)
    }
  }

  fileprivate var predicate: NSPredicate {
    if case .states(let states) = self {
      return NSCompoundPredicate(orPredicateWithSubpredicates: states.map(\.predicate))
    }
    return NSCompoundPredicate(andPredicateWithSubpredicates: [JobState.available.predicate, condition])
  }

  /// The part of the predicate that selects the jobs of the scope among the ready ones.
  private var condition: NSPredicate {
    switch self {
    case .states, .ready: NSPredicate(value: true)
    case .kind(let kind): NSPredicate(format: "kind == %@", kind)
    case .queue(let queue): NSPredicate(format: "queue == %@", queue)
    case .limitKey(let key): NSPredicate(format: "limitKey == %@", key)
    case .otherKinds(let kinds): NSPredicate(format: "NOT kind IN %@", kinds)
    }
  }

  /// Matches the ready jobs that are not in the scope; nil for scopes without ready jobs.
  fileprivate var exclusion: NSPredicate? {
    switch self {
    case .states: nil
    case .ready: NSPredicate(value: false)
    case .kind(let kind): NSPredicate(format: "kind != %@", kind)
    case .queue(let queue): NSPredicate(format: "queue != %@", queue)
    case .limitKey(let key): NSPredicate(format: "limitKey == nil OR limitKey != %@", key)
    case .otherKinds(let kinds): NSPredicate(format: "kind IN %@", kinds)
    }
  }
}

extension StoreReader {
  /// Takes over what keeps jobs from being handed out, as a pool says.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let reader = try StoreReader(poolStore: "app.sqlite")
  /// let client = try StatusClient(queue: "queue/")
  /// reader.note(
  ///   try client.request(StatusRequest(.explain)).obstacles, try client.request(StatusRequest(.status)).status)
  /// ```
  ///
  /// The answer of a pool with another store is ignored, as nil is.
  ///
  /// - Parameters:
  ///   - pool: its answer; nil where none runs, or where the pool is another store's.
  ///   - status: its status, which has the kinds of other pools.
  public func note(_ pool: PoolObstacles?, _ status: PoolStatus? = nil) {
    let others = (status?.others ?? []).flatMap(\.plugins).filter { $0.failure == nil }.flatMap(\.kinds)
    waits = JobWaits(pool?.uriPrefix == jobURIs.prefix ? pool : nil, otherKinds: others)
  }
}
