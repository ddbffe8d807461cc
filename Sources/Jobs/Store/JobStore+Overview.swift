import CoreData

/// How many unfinished jobs of a kind stand in a state and a queue.
///
/// ```swift
/// let store = try JobStore(url: url, model: model)
/// for group in try store.backlog(limit: 20, in: context) { print(group.kind, group.queue, group.state, group.count) }
/// ```
public struct JobBacklog: Codable, Equatable, Sendable {
  /// The name of a ``JobState``; in the status of a pool also `running`.
  public var state: String
  /// The jobs' kind.
  public var kind: String
  /// The queue that they stand in.
  public var queue: String
  /// How many they are.
  public var count: Int

  /// A group of unfinished jobs.
  public init(state: String, kind: String, queue: String, count: Int) {
    self.state = state
    self.kind = kind
    self.queue = queue
    self.count = count
  }
}

/// How long jobs waited and ran, in seconds.
public struct JobTimes: Equatable, Sendable {
  /// From when a job could have begun to when it did.
  public var waiting: [Double] = []
  /// From when a job began to when it ended.
  public var running: [Double] = []

  /// No job has ended.
  public init() {}
}

extension JobStore {
  /// How many jobs are in each state; states without jobs are left out.
  ///
  /// ```swift
  /// let store = try JobStore(url: url, model: model)
  /// for (state, count) in try store.counts(in: context) { print(state.name, count) }
  /// ```
  ///
  /// - Complexity: one pass over the index of unfinished jobs and one over that of finished ones, without their rows.
  public func counts(in context: NSManagedObjectContext) throws -> [JobState: Int] {
    var counts: [JobState: Int] = [:]
    for condition in ["finishedAt == nil", "finishedAt != nil"] {
      let request = PoolJob.counts(by: ["state"], where: NSPredicate(format: condition))
      for row in try context.fetch(request) {
        guard let state = Self.state(row), let count = (row["count"] as? NSNumber)?.intValue else { continue }
        counts[state, default: 0] += count
      }
    }
    return counts
  }

  /// The unfinished jobs, counted by state, kind and queue: the largest groups, the largest first.
  ///
  /// ```text
  /// SELECT state, kind, queue, COUNT(state) … WHERE finishedAt IS NULL GROUP BY state, kind, queue
  /// ORDER BY count DESC, state, kind, queue LIMIT 100
  /// ```
  ///
  /// - Complexity: one pass over the index of queues, without the jobs' rows. The result is bounded, no matter how many
  ///   queues there are.
  public func backlog(limit: Int, in context: NSManagedObjectContext) throws -> [JobBacklog] {
    let request = PoolJob.counts(by: ["state", "kind", "queue"], where: JobState.unfinished)
    request.sortDescriptors = [
      NSSortDescriptor(key: "count", ascending: false), NSSortDescriptor(key: "state", ascending: true),
      NSSortDescriptor(key: "kind", ascending: true), NSSortDescriptor(key: "queue", ascending: true),
    ]
    request.fetchLimit = limit
    return try context.fetch(request).compactMap { row in
      guard let state = Self.state(row), let kind = row["kind"] as? String, let queue = row["queue"] as? String,
        let count = (row["count"] as? NSNumber)?.intValue
      else { return nil }
      return JobBacklog(state: state.name, kind: kind, queue: queue, count: count)
    }
  }

  private static func state(_ row: NSDictionary) -> JobState? {
    (row["state"] as? NSNumber).flatMap { JobState(rawValue: $0.int16Value) }
  }

  /// Since when the job has been waiting that waits longest, by kind. Jobs that run are left out.
  ///
  /// - Complexity: reads the first rows of each kind and priority from a stretch of the index, no matter how many jobs
  ///   wait. In each the jobs lie in the order in which they came, so the oldest is among the first; only behind
  ///   100 jobs that came earlier and were put off does one stay unseen.
  public func oldestWaiting(except running: [Int64], in context: NSManagedObjectContext) throws -> [String: Date] {
    let running = Set(running)
    var oldest: [String: Date] = [:]
    var kind = try context.fetch(nextKindRequest(after: nil)).first?.kind
    while let name = kind, oldest.count < Self.mostKinds {
      oldest[name] = try Self.oldestWaiting(kind: name, except: running, in: context)
      kind = try context.fetch(nextKindRequest(after: name)).first?.kind
    }
    return oldest
  }

  /// Since when the job of a kind has been waiting that waits longest; see ``oldestWaiting(except:in:)``.
  ///
  /// - Parameters:
  ///   - queue: only jobs of this queue; nil for all.
  ///   - running: jobs that run, and are left out.
  package static func oldestWaiting(
    kind: String, queue: String? = nil, except running: Set<Int64>, in context: NSManagedObjectContext
  ) throws -> Date? {
    let groups = Set(queue.map { [JobGroup.queue($0)] } ?? [])
    var oldest: Date?
    var lowerPriorities: NSPredicate?
    for _ in 0..<mostPriorities {
      let limit = oldestLookedAt + running.count
      let jobs = try context.fetch(
        readyRequest(ReadyQuery(kind: kind, groups: groups, limit: limit), where: lowerPriorities, limit: limit))
      guard let priority = jobs.first?.priority else { break }
      for job in jobs where job.priority == priority && job.objectID.key.map(running.contains) != true {
        oldest = min(oldest ?? job.couldBeginAt, job.couldBeginAt)
      }
      lowerPriorities = NSPredicate(format: "priority < %d", priority)
    }
    return oldest
  }

  /// An available job of the next kind, in the order of the index. So kinds are found one by one, with an index entry
  /// for each, however many jobs there are: a DISTINCT would read them all.
  func nextKindRequest(after kind: String?) -> NSFetchRequest<PoolJob> {
    Self.firstJob(in: .available, where: kind.map { NSPredicate(format: "kind > %@", $0) })
  }

  /// An unfinished job in this state, the first one by its kind.
  ///
  /// The order makes it an entry of an index. Without it a server with statistics reads the whole table to find that no
  /// job has the state: the number of the state is a parameter, most jobs have the same one, and so it expects that the
  /// first row has it, too.
  ///
  /// ```text
  /// SELECT t0._key, t0."kind" FROM "pool_wp"."PoolJob" t0 WHERE ((t0."state" = $1) AND (t0."finishedAt" IS NULL))
  /// ORDER BY t0."kind" ASC NULLS FIRST LIMIT 1
  /// ```
  static func firstJob(in state: JobState, where condition: NSPredicate? = nil) -> NSFetchRequest<PoolJob> {
    let request = PoolJob.fetchRequest()
    request.predicate = NSCompoundPredicate(
      andPredicateWithSubpredicates: [state.predicate, condition].compactMap(\.self))
    request.sortDescriptors = [NSSortDescriptor(key: "kind", ascending: true)]
    request.fetchLimit = 1
    request.propertiesToFetch = ["kind"]
    request.includesPendingChanges = false
    return request
  }

  /// How many jobs of a kind and a priority are looked at for the one that waits longest.
  static let oldestLookedAt = 100
  /// How many priorities of a kind are, the highest first, and how many kinds.
  private static let mostPriorities = 20
  private static let mostKinds = 200

  /// How long these jobs waited and ran, as far as they have. A job waits from when it came, or from when its time
  /// came, to when it began.
  public func times(of keys: [Int64], in context: NSManagedObjectContext) throws -> JobTimes {
    let ids = keys.compactMap(objectID(job:))
    let request = PoolJob.fetchRequest()
    request.predicate = NSPredicate(format: "self IN %@", ids)
    request.propertiesToFetch = ["createdAt", "runAt", "startedAt", "finishedAt"]
    return try context.fetch(request).reduce(into: JobTimes()) { times, job in
      guard let startedAt = job.startedAt else { return }
      times.waiting.append(max(0, startedAt.timeIntervalSince(job.couldBeginAt)))
      if let finishedAt = job.finishedAt { times.running.append(max(0, finishedAt.timeIntervalSince(startedAt))) }
    }
  }
}
