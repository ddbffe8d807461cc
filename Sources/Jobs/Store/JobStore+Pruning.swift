import CoreData

/// How long finished jobs are kept. Jobs that others wait for, and those that still reserve a unique key, stay longer.
///
/// Keep more for statistics and for tracing what happened; less where the store's size matters: a job takes about as
/// many bytes as its parameters, its output and its errors.
public struct JobRetention: Hashable, Sendable {
  /// Seconds for which succeeded and cancelled jobs are kept; nil: for ever. Default: 7 days.
  public var finished: Double?
  /// Seconds for which dead jobs are kept, which a person may want to retry; nil: for ever. Default: 30 days.
  public var dead: Double?
  /// How many succeeded and cancelled jobs are kept at most, the youngest; nil: all. Default: 100,000.
  public var count: Int?

  /// Times in seconds; nil keeps jobs for ever.
  public init(finished: Double? = 7 * 86_400, dead: Double? = 30 * 86_400, count: Int? = 100_000) {
    self.finished = finished
    self.dead = dead
    self.count = count
  }
}

extension JobStore {
  /// Deletes finished jobs that need not be kept any longer, without saving.
  ///
  /// Jobs that others wait for stay. So do failed jobs that others must not ignore, and jobs that still reserve their
  /// unique key.
  /// - Parameter limit: the most jobs that one call deletes; save and call again until it returns 0.
  /// - Returns: how many.
  /// - Complexity: reads the finished jobs from the oldest on. The options of waiting jobs are read only when a failed
  ///   job is old enough to go.
  public func prune(
    _ retention: JobRetention, at now: Date? = nil, limit: Int = 1000, in context: NSManagedObjectContext
  ) throws -> Int {
    let now = now ?? self.now
    var count = 0
    let awaited = AwaitedJobs(in: self, countsPassing: false)
    for state in [JobState.succeeded, .cancelled, .dead] {
      let age = state == .dead ? retention.dead : retention.finished
      let old = try age.map {
        try delete(state, finishedBefore: now - $0, limit: limit - count, awaited, now, context)
      }
      count += old ?? 0
      // Jobs that go for their age must not count again among those that are too many.
      guard let most = retention.count, state != .dead, old ?? 0 == 0 else { continue }
      let surplus = try context.count(for: finished(state, before: nil)) - most
      count += try delete(state, finishedBefore: nil, limit: min(surplus, limit - count), awaited, now, context)
    }
    return count
  }

  func finished(_ state: JobState, before date: Date?) -> NSFetchRequest<PoolJob> {
    let request = PoolJob.shortFetchRequest()
    var conditions = [state.predicate]
    if let date { conditions.append(NSPredicate(format: "finishedAt < %@", date as NSDate)) }
    request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: conditions)
    return request
  }

  private func delete(
    _ state: JobState, finishedBefore date: Date?, limit: Int, _ awaited: AwaitedJobs, _ now: Date,
    _ context: NSManagedObjectContext
  ) throws -> Int {
    let request = finished(state, before: date)
    request.sortDescriptors = [NSSortDescriptor(key: "finishedAt", ascending: true)]
    // Jobs that are deleted here are in the store until the save, and jobs that stay must not hide those behind them:
    // changes in the context do not count in this request.
    request.fetchLimit = 1000
    var count = 0
    while count < limit {
      let jobs = try context.fetch(request)
      if jobs.isEmpty { break }
      request.fetchOffset += jobs.count
      let stay = try awaited.keys(among: jobs, in: context)
      for job in jobs where count < limit && !job.isDeleted {
        if let key = job.objectID.key, stay.contains(key) { continue }
        if job.activeKey != nil, job.isKeyTaken(at: now) { continue }
        context.delete(job)
        count += 1
      }
    }
    return count
  }
}
