import CoreData

/// How long finished jobs are kept.
public struct JobRetention: Hashable, Sendable {
  /// Seconds for which succeeded and cancelled jobs are kept; nil: for ever. Default: 7 days.
  public var finished: Double?
  /// Seconds for which dead jobs are kept, which a person may want to retry; nil: for ever. Default: 30 days.
  public var dead: Double?
  /// How many succeeded and cancelled jobs are kept at most, the youngest; nil: all. Default: 100,000.
  public var count: Int?

  public init(finished: Double? = 7 * 86_400, dead: Double? = 30 * 86_400, count: Int? = 100_000) {
    self.finished = finished
    self.dead = dead
    self.count = count
  }
}

extension JobStore {
  /// Deletes finished jobs that need not be kept any longer, without saving.
  ///
  /// Jobs that others wait for stay, as do those whose unique key is still kept from others.
  /// - Parameter limit: looks at so many at most; call again after the save while it deletes any.
  /// - Returns: how many.
  /// - Complexity: reads the finished jobs from the oldest on.
  public func prune(
    _ retention: JobRetention, at now: Date = Date(), limit: Int = 1000, in context: NSManagedObjectContext
  ) throws -> Int {
    var count = 0
    for state in [JobState.succeeded, .cancelled, .dead] {
      let age = state == .dead ? retention.dead : retention.finished
      if let age { count += try delete(state, finishedBefore: now - age, limit: limit - count, now, context) }
    }
    if let most = retention.count, count < limit {
      for state in [JobState.succeeded, .cancelled] {
        let surplus = try context.count(for: finished(state, before: nil)) - most
        guard surplus > 0 else { continue }
        count += try delete(state, finishedBefore: nil, limit: min(surplus, limit - count), now, context)
      }
    }
    return count
  }

  private func finished(_ state: JobState, before date: Date?) -> NSFetchRequest<Job> {
    let request = Job.fetchRequest()
    var conditions = [NSPredicate(format: "state == %d", Int(state.rawValue))]
    if let date { conditions.append(NSPredicate(format: "finishedAt < %@", date as NSDate)) }
    request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: conditions)
    return request
  }

  private func delete(
    _ state: JobState, finishedBefore date: Date?, limit: Int, _ now: Date, _ context: NSManagedObjectContext
  ) throws -> Int {
    guard limit > 0 else { return 0 }
    let request = finished(state, before: date)
    request.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: true)]
    request.fetchLimit = limit
    request.returnsObjectsAsFaults = false
    let jobs = try context.fetch(request)
    let needed = try blockers(among: jobs.compactMap(\.objectID.key), in: context)
    var count = 0
    for job in jobs where !job.isDeleted {
      if let key = job.objectID.key, needed.contains(key) { continue }
      if job.activeKey != nil, job.isKeyTaken(at: now) { continue }
      context.delete(job)
      count += 1
    }
    return count
  }

  private func blockers(among keys: [Int64], in context: NSManagedObjectContext) throws -> Set<Int64> {
    var needed: Set<Int64> = []
    var rest = keys[...]
    while !rest.isEmpty {
      let request = JobWait.fetchRequest()
      request.predicate = NSPredicate(format: "blocker IN %@", rest.prefix(500).map { NSNumber(value: $0) })
      needed.formUnion(try context.fetch(request).map(\.blocker))
      rest = rest.dropFirst(500)
    }
    return needed
  }
}
