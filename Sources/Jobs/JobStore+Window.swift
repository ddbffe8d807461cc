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
  public init?(_ job: PoolJob) {
    self.init(job, limit: job.limitKey == nil ? nil : job.options.limit)
  }

  init?(_ job: PoolJob, limit: Int?) {
    guard job.state == .available, let key = job.objectID.key else { return nil }
    self.init(
      key: key, kind: job.kind, queue: job.queue, priority: job.priority, timeout: job.timeout, limitKey: job.limitKey,
      limit: limit)
  }
}

/// Where a job stands among the ready ones: a higher priority comes first, then the older job.
public struct JobPosition: Hashable, Comparable, Sendable {
  public let priority: Int
  /// The number in the job's URI.
  public let key: Int64

  public init(priority: Int, key: Int64) {
    self.priority = priority
    self.key = key
  }

  /// Whether a job at `one` runs before a job at `other`.
  public static func < (one: JobPosition, other: JobPosition) -> Bool {
    one.priority != other.priority ? one.priority > other.priority : one.key < other.key
  }
}

/// Jobs of which only some run at a time, whatever their kind.
public enum JobGroup: Hashable, Sendable {
  /// The jobs of a queue.
  case queue(String)
  /// The jobs of a limit key.
  case key(String)

  /// Byte by byte, as the store's indexes tell groups apart.
  public static func == (one: JobGroup, other: JobGroup) -> Bool {
    switch (one, other) {
    case (.queue(let one), .queue(let other)), (.key(let one), .key(let other)): ExactText(one) == ExactText(other)
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .queue(let name): hasher.combine(ExactText(name))
    case .key(let name): hasher.combine(ExactText(name))
    }
  }
}

/// Which ready jobs are asked for.
public struct ReadyQuery: Hashable, Sendable {
  public var kind: String
  /// Only jobs of these groups.
  public var groups: Set<JobGroup>
  /// Not jobs of these groups, which are few.
  public var without: Set<JobGroup>
  /// Only jobs behind this one; nil: from the first on.
  public var after: JobPosition?
  /// How many at most.
  public var limit: Int

  public init(
    kind: String, groups: Set<JobGroup> = [], without: Set<JobGroup> = [], after: JobPosition? = nil, limit: Int
  ) {
    self.kind = kind
    self.groups = groups
    self.without = without
    self.after = after
    self.limit = limit
  }
}

extension JobStore {
  /// The key of the job that was submitted last of those that are there; 0 without any. One row is read.
  public func newestKey(in context: NSManagedObjectContext) throws -> Int64 {
    let request = NSFetchRequest<NSManagedObjectID>(entityName: PoolJob.entityName)
    request.resultType = .managedObjectIDResultType
    request.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: false)]
    request.fetchLimit = 1
    return try context.fetch(request).first?.key ?? 0
  }

  /// The jobs of one kind to run next: highest priority first, then oldest first.
  ///
  /// - Complexity: reads `limit` rows from a stretch of an index, without parameters, however many jobs wait; jobs of the groups that
  ///   are left out are passed over.
  public func readyJobs(_ query: ReadyQuery, in context: NSManagedObjectContext) throws -> [JobSummary] {
    var jobs: [PoolJob] = []
    for stretch in stretches(of: query) where jobs.count < query.limit {
      jobs += try context.fetch(readyRequest(query, where: stretch, limit: query.limit - jobs.count))
    }
    let limits = try limits(of: jobs.filter { $0.limitKey != nil }, in: context)
    return jobs.compactMap { JobSummary($0, limit: $0.objectID.key.flatMap { limits[$0] }) }
  }

  /// The stretches of the index in which the jobs of a query lie. Behind a job there are two: SQLite finds the beginning of neither in a
  /// condition with OR.
  func stretches(of query: ReadyQuery) -> [NSPredicate?] {
    guard let after = query.after, let last = objectID(job: after.key) else { return [nil] }
    return [
      NSPredicate(format: "priority == %d AND self > %@", after.priority, last),
      NSPredicate(format: "priority < %d", after.priority),
    ]
  }

  func readyRequest(_ query: ReadyQuery, where stretch: NSPredicate?, limit: Int) -> NSFetchRequest<PoolJob> {
    let request = PoolJob.fetchRequest()
    request.predicate = NSCompoundPredicate(
      andPredicateWithSubpredicates: [JobState.available.predicate, NSPredicate(format: "kind == %@", query.kind)]
        + query.conditions + (stretch.map { [$0] } ?? []))
    request.sortDescriptors = [
      NSSortDescriptor(key: "priority", ascending: false), NSSortDescriptor(key: "objectID", ascending: true),
    ]
    request.fetchLimit = limit
    request.propertiesToFetch = ["state", "kind", "queue", "priority", "timeout", "limitKey"]
    request.includesPendingChanges = false
    return request
  }

  /// How many jobs of their key may run beside each of these, where the job says so.
  private func limits(of jobs: [PoolJob], in context: NSManagedObjectContext) throws -> [Int64: Int] {
    var limits: [Int64: Int] = [:]
    var rest = jobs[...]
    while !rest.isEmpty {
      let request = NSFetchRequest<NSDictionary>(entityName: PoolJob.entityName)
      request.resultType = .dictionaryResultType
      request.propertiesToFetch = [Self.objectID, "options"]
      request.predicate = NSPredicate(format: "self IN %@ AND options != nil", rest.prefix(200).map(\.objectID))
      for row in try context.fetch(request) {
        guard let key = (row["objectID"] as? NSManagedObjectID)?.key else { continue }
        limits[key] = JobOptions(text: row["options"] as? String).limit
      }
      rest = rest.dropFirst(200)
    }
    return limits
  }

  private static var objectID: NSExpressionDescription {
    let column = NSExpressionDescription()
    column.name = "objectID"
    column.expression = NSExpression.expressionForEvaluatedObject()
    column.expressionResultType = .objectIDAttributeType
    return column
  }

  /// Makes jobs available whose time has come, without saving.
  ///
  /// - Parameter limit: how many at most, oldest first; call again after the save while it returns as many.
  /// - Returns: the jobs.
  public func promoteDue(
    at now: Date = Date(), limit: Int = 1000, in context: NSManagedObjectContext
  ) throws -> [JobSummary] {
    let request = PoolJob.shortFetchRequest()
    request.predicate = NSPredicate(format: "runAt <= %@ AND state IN %@", now as NSDate, Self.timedStates)
    request.sortDescriptors = [NSSortDescriptor(key: "runAt", ascending: true)]
    request.fetchLimit = limit
    let jobs = try context.fetch(request)
    for job in jobs { try job.markDue() }
    return jobs.compactMap { JobSummary($0) }
  }

  /// Jobs that wait for others keep their time for afterwards.
  private static let timedStates = [JobState.scheduled, .retryable].map { NSNumber(value: $0.rawValue) }

  /// The first time that a scheduled or retryable job waits for; nil when none waits.
  public func nextDue(in context: NSManagedObjectContext) throws -> Date? {
    let request = PoolJob.fetchRequest()
    request.predicate = NSPredicate(format: "runAt != nil AND state IN %@", Self.timedStates)
    request.sortDescriptors = [NSSortDescriptor(key: "runAt", ascending: true)]
    request.fetchLimit = 1
    request.propertiesToFetch = ["runAt"]
    return try context.fetch(request).first?.runAt
  }
}

extension ReadyQuery {
  fileprivate var conditions: [NSPredicate] {
    var conditions = groups.map { group in
      switch group {
      case .queue(let name): NSPredicate(format: "queue == %@", name)
      case .key(let key): NSPredicate(format: "limitKey == %@", key)
      }
    }
    let queues = without.compactMap { if case .queue(let name) = $0 { name } else { nil } }
    if !queues.isEmpty { conditions.append(NSPredicate(format: "NOT queue IN %@", queues.sorted())) }
    let keys = without.compactMap { if case .key(let key) = $0 { key } else { nil } }
    if !keys.isEmpty { conditions.append(NSPredicate(format: "limitKey == nil OR NOT limitKey IN %@", keys.sorted())) }
    return conditions
  }
}
