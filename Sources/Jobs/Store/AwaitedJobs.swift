import CoreData

/// Which jobs stay in the store because unfinished ones wait for them: the one rule for jobs that a person deletes, and
/// for finished jobs that are old enough to go.
///
/// A row of ``PoolWait`` names one job of those that a job waits for, and a failed one only when no job is unfinished.
/// A failed job that is deleted would count as done. So the options of waiting jobs count for failed jobs, too. A job
/// that waits for a batch needs one of the batch's jobs until the pool has looked at it, and again when there was none
/// then: without any it would wait for the first to come. Used on the queue of one context.
public final class AwaitedJobs {
  private let store: JobStore
  private let countsPassing: Bool

  /// What the options of waiting jobs name.
  private struct Named {
    var keys: Set<Int64> = []
    var batches: Set<String> = []
    /// The batches of those that have not been looked at.
    var pendingBatches: Set<String> = []
  }

  /// - Parameter countsPassing: whether to count jobs that run even if the jobs before them fail.
  public init(in store: JobStore, countsPassing: Bool) {
    self.store = store
    self.countsPassing = countsPassing
  }

  /// The keys of those among these jobs that stay.
  ///
  /// - Complexity: reads the rows of ``PoolWait`` for these jobs, and, if some have failed or belong to a batch, what
  ///   jobs that wait ask for.
  func keys(among jobs: [PoolJob], in context: NSManagedObjectContext) throws -> Set<Int64> {
    var keys = try store.blockers(among: jobs.compactMap(\.objectID.key), in: context)
    // Of those that had no job when the pool looked.
    let batches = try store.blockers(
      among: Set(jobs.compactMap(\.batch)).map(JobStore.blocker(ofBatch:)), in: context)
    // Read with each call, since jobs come meanwhile.
    lazy var named = Result { try readOptions(in: context) }
    for job in jobs where job.state != .succeeded || job.batch != nil {
      let named = try named.get()
      guard let key = job.objectID.key else { continue }
      let isNamed =
        job.state == .succeeded
        // Jobs that have been looked at need the row of a succeeded job no longer, unless it is the first of its batch.
        ? job.batch.map { named.pendingBatches.contains($0) || batches.contains(JobStore.blocker(ofBatch: $0)) } == true
        : named.keys.contains(key) || job.batch.map(named.batches.contains) == true
      if isNamed { keys.insert(key) }
    }
    return keys
  }

  private func readOptions(in context: NSManagedObjectContext) throws -> Named {
    let request = NSFetchRequest<NSDictionary>(entityName: PoolJob.entityName)
    request.predicate = NSCompoundPredicate(
      orPredicateWithSubpredicates: [JobState.pending.predicate, JobState.blocked.predicate])
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["options", "state"]
    request.returnsDistinctResults = true
    var named = Named()
    for row in try context.fetch(request) {
      let options = JobOptions(text: row["options"] as? String)
      let isPending = (row["state"] as? NSNumber)?.int16Value == JobState.pending.rawValue
      if isPending, let batch = options.afterBatch { named.pendingBatches.insert(batch) }
      guard countsPassing || options.whenFailed != .run else { continue }
      named.keys.formUnion(options.after.compactMap(store.jobURIs.key))
      if let batch = options.afterBatch { named.batches.insert(batch) }
    }
    return named
  }
}
