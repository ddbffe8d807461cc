import CoreData

/// Which jobs stay in the store because unfinished ones wait for them: the one rule for jobs that a person deletes, and
/// for finished jobs that are old enough to go.
///
/// A row of ``PoolWait`` names one job of those that a job waits for, and a failed one only when no job is unfinished.
/// A failed job that is deleted would count as done. So the options of waiting jobs count for failed jobs, too; they
/// are read when the first failed job is looked at. Used on the queue of one context.
public final class AwaitedJobs {
  private let store: JobStore
  private let countsPassing: Bool
  private var optionsRead: Named?

  /// What the options of waiting jobs name.
  private struct Named {
    var keys: Set<Int64> = []
    var batches: Set<String> = []
  }

  /// - Parameter countsPassing: whether jobs count that run when those before them have ended, with or without success.
  public init(in store: JobStore, countsPassing: Bool) {
    self.store = store
    self.countsPassing = countsPassing
  }

  /// The keys of those among these jobs that stay.
  ///
  /// - Complexity: reads the rows of ``PoolWait`` for these jobs, and once what jobs that wait ask for.
  func keys(among jobs: [PoolJob], in context: NSManagedObjectContext) throws -> Set<Int64> {
    var keys = try store.blockers(among: jobs.compactMap(\.objectID.key), in: context)
    // Jobs that wait for a succeeded job no longer need its row.
    for job in jobs where job.state != .succeeded {
      let named = try readOptions(in: context)
      guard let key = job.objectID.key else { continue }
      if named.keys.contains(key) || job.batch.map(named.batches.contains) == true { keys.insert(key) }
    }
    return keys
  }

  private func readOptions(in context: NSManagedObjectContext) throws -> Named {
    if let optionsRead { return optionsRead }
    let request = NSFetchRequest<NSDictionary>(entityName: PoolJob.entityName)
    request.predicate = NSCompoundPredicate(
      orPredicateWithSubpredicates: [JobState.pending.predicate, JobState.blocked.predicate])
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["options"]
    request.returnsDistinctResults = true
    var named = Named()
    for row in try context.fetch(request) {
      let options = JobOptions(text: row["options"] as? String)
      guard countsPassing || options.whenFailed != .run else { continue }
      named.keys.formUnion(options.after.compactMap(store.jobURIs.key))
      if let batch = options.afterBatch { named.batches.insert(batch) }
    }
    optionsRead = named
    return named
  }
}
