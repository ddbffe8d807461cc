import CoreData

/// How many unfinished jobs of a kind stand in a state and a queue.
public struct JobBacklog: Codable, Equatable, Sendable {
  public var state: String
  public var kind: String
  public var queue: String
  public var count: Int

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
  public var running: [Double] = []

  public init() {}
}

extension JobStore {
  /// The unfinished jobs, counted by state, kind and queue.
  ///
  /// - Complexity: reads the index of ready jobs, without their rows.
  public func backlog(in context: NSManagedObjectContext) throws -> [JobBacklog] {
    let count = NSExpressionDescription()
    count.name = "count"
    count.expression = NSExpression(forFunction: "count:", arguments: [NSExpression(forKeyPath: "kind")])
    count.expressionResultType = .integer64AttributeType
    let request = NSFetchRequest<NSDictionary>(entityName: Job.entityName)
    request.resultType = .dictionaryResultType
    request.propertiesToGroupBy = ["state", "kind", "queue"]
    request.propertiesToFetch = ["state", "kind", "queue", count]
    request.predicate = NSPredicate(
      format: "state IN %@", JobState.allCases.filter { $0.isUnfinished }.map { Int($0.rawValue) })
    return try context.fetch(request).compactMap { row in
      guard let state = (row["state"] as? NSNumber).flatMap({ JobState(rawValue: $0.int16Value) }),
        let kind = row["kind"] as? String, let queue = row["queue"] as? String,
        let count = (row["count"] as? NSNumber)?.intValue
      else { return nil }
      return JobBacklog(state: state.name, kind: kind, queue: queue, count: count)
    }
  }

  /// How long these jobs waited and ran, as far as they have.
  public func times(of keys: [Int64], in context: NSManagedObjectContext) throws -> JobTimes {
    let ids = keys.compactMap { objectID(uri(job: $0)) }
    let request = Job.fetchRequest()
    request.predicate = NSPredicate(format: "self IN %@", ids)
    request.returnsObjectsAsFaults = false
    return try context.fetch(request).reduce(into: JobTimes()) { times, job in
      guard let startedAt = job.startedAt else { return }
      let couldBegin = job.runAt.map { max($0, job.createdAt) } ?? job.createdAt
      times.waiting.append(max(0, startedAt.timeIntervalSince(couldBegin)))
      if let finishedAt = job.finishedAt { times.running.append(max(0, finishedAt.timeIntervalSince(startedAt))) }
    }
  }
}
