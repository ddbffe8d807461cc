import CoreData

/// What the coordinator holds of a job that may run now.
public struct JobSummary: Hashable, Sendable {
  /// The number in the job's URI.
  public let key: Int64
  public let kind: String
  public let queue: String
  public let priority: Int16
  public let timeout: Double?
  /// Jobs of the same key run at most `limit` at a time; nil is the kind's own limit.
  public let limitKey: String?
  public let limit: Int?

  public init(
    key: Int64, kind: String, queue: String = JobRequest.defaultQueue, priority: Int16 = 0, timeout: Double? = nil,
    limitKey: String? = nil, limit: Int? = nil
  ) {
    self.key = key
    self.kind = kind
    self.queue = queue
    self.priority = priority
    self.timeout = timeout
    self.limitKey = limitKey
    self.limit = limit
  }

  /// What a saved job says of itself; nil for one that may not run now.
  public init?(_ job: Job) {
    guard job.state == .available, let key = job.objectID.key else { return nil }
    let limitKey = job.limitKey
    self.init(
      key: key, kind: job.kind, queue: job.queue, priority: job.priority, timeout: job.timeout, limitKey: limitKey,
      limit: limitKey == nil ? nil : job.options.limit)
  }
}

/// Which ready jobs are asked for.
public struct ReadyQuery: Hashable, Sendable {
  public var kind: String
  public var queue: String
  /// Only jobs of this limit key; nil is all.
  public var limitKey: String?
  /// Not jobs of these limit keys.
  public var withoutKeys: Set<String>
  /// At most so many.
  public var limit: Int

  public init(
    kind: String, queue: String = JobRequest.defaultQueue, limitKey: String? = nil, withoutKeys: Set<String> = [],
    limit: Int
  ) {
    self.kind = kind
    self.queue = queue
    self.limitKey = limitKey
    self.withoutKeys = withoutKeys
    self.limit = limit
  }
}

extension JobStore {
  /// The key of the job that was submitted last of those that are there; 0 without any. One row is read.
  public func newestKey(in context: NSManagedObjectContext) throws -> Int64 {
    let request = NSFetchRequest<NSManagedObjectID>(entityName: Job.entityName)
    request.resultType = .managedObjectIDResultType
    request.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: false)]
    request.fetchLimit = 1
    return try context.fetch(request).first?.key ?? 0
  }

  /// The jobs of one kind and queue to run next: highest priority first, then oldest first.
  ///
  /// - Complexity: reads `limit` rows from the head of an index, however many jobs wait; rows of other limit keys on the way
  ///   are passed over.
  public func readyJobs(_ query: ReadyQuery, in context: NSManagedObjectContext) throws -> [JobSummary] {
    let request = Job.fetchRequest()
    var conditions = [
      NSPredicate(
        format: "state == %d AND kind == %@ AND queue == %@", Int(JobState.available.rawValue), query.kind, query.queue)
    ]
    if let key = query.limitKey {
      conditions.append(NSPredicate(format: "limitKey == %@", key))
    } else if !query.withoutKeys.isEmpty {
      conditions.append(NSPredicate(format: "limitKey == nil OR NOT limitKey IN %@", query.withoutKeys.sorted()))
    }
    request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: conditions)
    request.sortDescriptors = [
      NSSortDescriptor(key: "priority", ascending: false), NSSortDescriptor(key: "objectID", ascending: true),
    ]
    request.fetchLimit = query.limit
    request.returnsObjectsAsFaults = false
    return try context.fetch(request).compactMap(JobSummary.init)
  }

  /// The queues in which jobs of that kind may run now.
  ///
  /// - Complexity: a look into an index for each queue, however many jobs wait.
  public func readyQueues(kind: String, in context: NSManagedObjectContext) throws -> [String] {
    var queues: [String] = []
    while true {
      let request = Job.fetchRequest()
      request.predicate = NSPredicate(
        format: "state == %d AND kind == %@ AND queue > %@", Int(JobState.available.rawValue), kind, queues.last ?? "")
      request.sortDescriptors = [NSSortDescriptor(key: "queue", ascending: true)]
      request.fetchLimit = 1
      request.returnsObjectsAsFaults = false
      guard let next = try context.fetch(request).first?.queue else { return queues }
      queues.append(next)
    }
  }

  /// Makes jobs available whose time has come, without saving.
  ///
  /// - Parameter limit: at most so many, oldest first; call again after the save while it returns as many.
  /// - Returns: how many.
  public func promoteDue(
    at now: Date = Date(), limit: Int = 1000, in context: NSManagedObjectContext
  ) throws -> Int {
    let request = Job.fetchRequest()
    request.predicate = NSPredicate(format: "runAt <= %@ AND state IN %@", now as NSDate, Self.timedStates)
    request.sortDescriptors = [NSSortDescriptor(key: "runAt", ascending: true)]
    request.fetchLimit = limit
    request.returnsObjectsAsFaults = false
    let jobs = try context.fetch(request)
    for job in jobs { try job.markDue() }
    return jobs.count
  }

  /// Jobs that wait for others keep their time for afterwards.
  private static let timedStates = [JobState.scheduled, .retryable].map { NSNumber(value: $0.rawValue) }

  /// The first time that a scheduled or retryable job waits for; nil when none waits.
  public func nextDue(in context: NSManagedObjectContext) throws -> Date? {
    let request = Job.fetchRequest()
    request.predicate = NSPredicate(format: "runAt != nil AND state IN %@", Self.timedStates)
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
