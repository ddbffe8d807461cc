import CoreData

/// Jobs that wait for a time.
extension JobStore {
  /// Makes jobs available whose time has come, without saving.
  ///
  /// ```swift
  /// let store = try JobStore(url: url, model: model)
  /// while true {
  ///   let jobs = try store.promoteDue(in: context)
  ///   try context.save()
  ///   if jobs.count < 1000 { break }
  /// }
  /// ```
  ///
  /// One pool does so for all. A job whose time has come runs a moment later than that: when the pool has looked.
  ///
  /// - Parameter limit: how many at most, oldest first; call again after the save while it returns as many.
  /// - Returns: the jobs.
  public func promoteDue(
    at now: Date? = nil, limit: Int = 1000, in context: NSManagedObjectContext
  ) throws -> [JobSummary] {
    let now = now ?? self.now
    let request = PoolJob.shortFetchRequest()
    request.predicate = NSPredicate(format: "runAt <= %@ AND state IN %@", now as NSDate, Self.timedStates)
    request.sortDescriptors = [NSSortDescriptor(key: "runAt", ascending: true)]
    request.fetchLimit = limit
    let jobs = try context.fetch(request)
    for job in jobs { try job.markDue() }
    return jobs.compactMap { JobSummary($0) }
  }

  /// Jobs that wait for others keep their time until these have ended.
  private static let timedStates = [JobState.scheduled, .retryable].map { NSNumber(value: $0.rawValue) }

  /// The first time that a scheduled or retryable job waits for; nil when no job waits. One entry of an index is read.
  public func nextDue(in context: NSManagedObjectContext) throws -> Date? {
    let request = PoolJob.fetchRequest()
    request.predicate = NSPredicate(format: "runAt != nil AND state IN %@", Self.timedStates)
    request.sortDescriptors = [NSSortDescriptor(key: "runAt", ascending: true)]
    request.fetchLimit = 1
    request.propertiesToFetch = ["runAt"]
    return try context.fetch(request).first?.runAt
  }
}
