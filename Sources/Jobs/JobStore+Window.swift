import CoreData

/// What the coordinator holds of a job that may run now.
public struct JobSummary: Hashable, Sendable {
  /// The number in the job's URI.
  public let key: Int64
  public let kind: String
  public let queue: String
  public let priority: Int16
  public let timeout: Double?
  public let crashes: Int

  public init(
    key: Int64, kind: String, queue: String = JobRequest.defaultQueue, priority: Int16 = 0, timeout: Double? = nil,
    crashes: Int = 0
  ) {
    self.key = key
    self.kind = kind
    self.queue = queue
    self.priority = priority
    self.timeout = timeout
    self.crashes = crashes
  }

  /// What a saved job says of itself; nil for one that may not run now.
  public init?(_ job: Job) {
    guard job.state == .available, let key = job.objectID.key else { return nil }
    self.init(
      key: key, kind: job.kind, queue: job.queue, priority: job.priority, timeout: job.timeout, crashes: job.crashes)
  }
}

extension JobStore {
  /// The jobs of one kind to run next: highest priority first, then oldest first.
  ///
  /// - Parameters:
  ///   - limit: at most so many.
  ///   - held: keys of jobs that the coordinator holds already; they are available in the store, too, until they finish.
  ///   - pausedQueues: jobs of these queues are left out.
  /// - Complexity: reads `limit` and `held.count` rows from the head of an index, however many jobs wait; rows of paused
  ///   queues on the way are passed over.
  public func readyJobs(
    kind: String, limit: Int, held: Set<Int64> = [], pausedQueues: Set<String> = [],
    in context: NSManagedObjectContext
  ) throws -> [JobSummary] {
    let request = Job.fetchRequest()
    var conditions = [
      NSPredicate(format: "state == %d AND kind == %@", Int(JobState.available.rawValue), kind)
    ]
    if !pausedQueues.isEmpty { conditions.append(NSPredicate(format: "NOT queue IN %@", pausedQueues.sorted())) }
    request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: conditions)
    request.sortDescriptors = [
      NSSortDescriptor(key: "priority", ascending: false), NSSortDescriptor(key: "objectID", ascending: true),
    ]
    request.fetchLimit = limit + held.count
    request.returnsObjectsAsFaults = false
    var ready: [JobSummary] = []
    for job in try context.fetch(request) {
      guard ready.count < limit, let summary = JobSummary(job), !held.contains(summary.key) else { continue }
      ready.append(summary)
    }
    return ready
  }

  /// Makes jobs available whose time has come, without saving.
  ///
  /// - Parameter limit: at most so many, oldest first; call again after the save while it returns as many.
  /// - Returns: how many.
  public func promoteDue(
    at now: Date = Date(), limit: Int = 1000, in context: NSManagedObjectContext
  ) throws -> Int {
    let request = Job.fetchRequest()
    request.predicate = NSPredicate(format: "runAt <= %@", now as NSDate)
    request.sortDescriptors = [NSSortDescriptor(key: "runAt", ascending: true)]
    request.fetchLimit = limit
    request.returnsObjectsAsFaults = false
    let jobs = try context.fetch(request)
    for job in jobs { try job.markDue() }
    return jobs.count
  }

  /// The first time that a scheduled or retryable job waits for; nil when none waits.
  public func nextDue(in context: NSManagedObjectContext) throws -> Date? {
    let request = Job.fetchRequest()
    request.predicate = NSPredicate(format: "runAt != nil")
    request.sortDescriptors = [NSSortDescriptor(key: "runAt", ascending: true)]
    request.fetchLimit = 1
    return try context.fetch(request).first?.runAt
  }

  /// How many jobs are in each state.
  ///
  /// - Complexity: linear in the number of jobs, by an index.
  public func counts(in context: NSManagedObjectContext) throws -> [JobState: Int] {
    var counts: [JobState: Int] = [:]
    for state in JobState.allCases {
      let request = Job.fetchRequest()
      request.predicate = NSPredicate(format: "state == %d", Int(state.rawValue))
      counts[state] = try context.count(for: request)
    }
    return counts
  }
}
