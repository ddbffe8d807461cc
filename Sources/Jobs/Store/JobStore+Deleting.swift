import CoreData

extension JobStore {
  /// Deletes jobs that a person chose, without saving. The caller leaves out jobs that run.
  ///
  /// - Parameter awaited: jobs that stay because unfinished ones wait for them, as ``AwaitedJobs`` knows; nil deletes
  ///   those, too.
  /// - Returns: how many stay.
  public func delete(_ jobs: [PoolJob], except awaited: AwaitedJobs?, in context: NSManagedObjectContext) throws -> Int
  {
    var stay: Set<Int64> = []
    if let awaited {
      stay = try blockers(among: jobs.compactMap(\.objectID.key), in: context)
      // Jobs that wait for a succeeded job no longer need its row.
      stay.formUnion(jobs.filter { $0.state != .succeeded && awaited.includes($0) }.compactMap(\.objectID.key))
    }
    for job in jobs where job.objectID.key.map(stay.contains) != true { context.delete(job) }
    return stay.count
  }

  /// What unfinished jobs wait for.
  ///
  /// - Parameter passing: whether jobs count that run when those before them have ended, with or without success.
  /// - Complexity: reads what jobs that wait ask for.
  public func awaitedJobs(passing: Bool = true, in context: NSManagedObjectContext) throws -> AwaitedJobs {
    let request = NSFetchRequest<NSDictionary>(entityName: PoolJob.entityName)
    request.predicate = NSCompoundPredicate(
      orPredicateWithSubpredicates: [JobState.pending.predicate, JobState.blocked.predicate])
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["options"]
    request.returnsDistinctResults = true
    return try context.fetch(request).reduce(into: AwaitedJobs()) { awaited, row in
      let options = JobOptions(text: row["options"] as? String)
      guard passing || options.whenFailed != .run else { return }
      awaited.keys.formUnion(options.after.compactMap(jobURIs.key))
      if let batch = options.afterBatch { awaited.batches.insert(batch) }
    }
  }

  /// The keys among these that a row of ``PoolWait`` names.
  func blockers(among keys: [Int64], in context: NSManagedObjectContext) throws -> Set<Int64> {
    guard !keys.isEmpty else { return [] }
    let request = PoolWait.fetchRequest()
    request.predicate = NSPredicate(format: "blocker IN %@", keys.map { NSNumber(value: $0) })
    return Set(try context.fetch(request).map(\.blocker))
  }
}

/// The jobs and batches that unfinished jobs wait for. A row of ``PoolWait`` names only one of them, and a failed job
/// only when no job is unfinished. A failed job that is deleted would count as done.
public struct AwaitedJobs: Sendable {
  var keys: Set<Int64> = []
  var batches: Set<String> = []

  func includes(_ job: PoolJob) -> Bool {
    job.objectID.key.map(keys.contains) == true || job.batch.map(batches.contains) == true
  }
}
