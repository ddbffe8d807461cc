import CoreData

/// Which jobs stay in the store because unfinished ones wait for them: the one rule for jobs that a person deletes, and
/// for finished jobs that are old enough to go.
///
/// A row of ``PoolWait`` names one of the jobs that a job waits for: an unfinished one, and a failed one only when all
/// others have ended. A failed job that is deleted would count as done, so for failed jobs the options of all waiting
/// jobs are read, too. A job that waits for a batch needs one of the batch's jobs until the pool has checked it. If the
/// batch had none then, it needs the first one that comes.
///
/// A deletion asks first, and again in the save: jobs that wait may have come meanwhile.
///
/// ```text
/// deletes a                 submits
/// asks: no job waits for a
///                           saves b, which waits for a
/// saves: asks again, and fails with a conflict
/// asks: a stays
/// ```
public final class AwaitedJobs: Sendable {
  private let store: JobStore
  private let countsPassing: Bool

  /// What the options of waiting jobs name.
  private struct Named {
    var keys: Set<Int64> = []
    var batches: Set<String> = []
    /// The batches that jobs name which the pool has not checked yet.
    var pendingBatches: Set<String> = []
  }

  /// - Parameter countsPassing: whether to count jobs that run even if the jobs before them fail.
  public init(in store: JobStore, countsPassing: Bool) {
    self.store = store
    self.countsPassing = countsPassing
  }

  /// What is asked of a job.
  private struct Subject {
    let key: JobKey
    let hasSucceeded: Bool
    let batch: String?

    /// Nil for a job that is not in the store.
    init?(_ job: PoolJob) {
      guard let key = job.objectID.key else { return nil }
      self.key = key
      hasSucceeded = job.state == .succeeded
      batch = job.batch
    }

    /// Whether jobs that come later may need its row. A job that has succeeded counts as done without a row, too; one
    /// of a batch shows that the batch has jobs.
    var mayBeMissed: Bool { !hasSucceeded || batch != nil }
  }

  /// The keys of those among these jobs that stay.
  ///
  /// - Complexity: reads the rows of ``PoolWait`` for these jobs, and, if some have failed or belong to a batch, what
  ///   jobs that wait ask for.
  func keys(among jobs: [PoolJob], in context: NSManagedObjectContext) throws -> Set<JobKey> {
    try keys(among: jobs.compactMap(Subject.init), in: context)
  }

  /// Makes the save that deletes these jobs ask again, and fail with a conflict if one of them has to stay. Call it
  /// when they are deleted from the context, before that is saved.
  ///
  /// - Complexity: the save reads what ``keys(among:in:)`` reads for the failed jobs and those of batches. No other
  ///   process can write to a SQLite file meanwhile.
  func keepAwaited(amongDeleted jobs: [PoolJob], in context: NSManagedObjectContext) {
    let subjects = jobs.compactMap(Subject.init).filter(\.mayBeMissed)
    guard !subjects.isEmpty else { return }
    context.check(inNextSave: { [self] in
      let reader = store.makeContext(name: "deletion")
      let awaited = try reader.performAndWait { try keys(among: subjects, in: reader) }
      guard let key = awaited.min() else { return }
      throw CoreDataErrors.error(
        .managedObjectMerge, "The job \(store.jobURIs[key]) stays: a job that waits for it has come meanwhile.")
    })
  }

  /// The keys of those that stay. A job that has succeeded and is in no batch is only looked for among the blockers:
  /// its row is needed only until the job that waits for it has been checked again.
  private func keys(among jobs: [Subject], in context: NSManagedObjectContext) throws -> Set<JobKey> {
    var keys = try store.blockers(among: jobs.map(\.key), in: context)
    // Of those that had no job when the pool looked.
    let batches = try store.blockers(
      among: Set(jobs.compactMap(\.batch)).map(JobStore.blocker(ofBatch:)), in: context)
    // Read with each call, since jobs come meanwhile.
    lazy var named = Result { try readOptions(in: context) }
    for job in jobs where job.mayBeMissed {
      let named = try named.get()
      let isNamed =
        job.hasSucceeded
        // Checked jobs need the row of a succeeded job no longer, unless it is the first of its batch.
        ? job.batch.map { named.pendingBatches.contains($0) || batches.contains(JobStore.blocker(ofBatch: $0)) } == true
        : named.keys.contains(job.key) || job.batch.map(named.batches.contains) == true
      if isNamed { keys.insert(job.key) }
    }
    return keys
  }

  /// What the options of all waiting jobs name: read once in a call, and only if a failed job, or one of a batch, is
  /// deleted.
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
