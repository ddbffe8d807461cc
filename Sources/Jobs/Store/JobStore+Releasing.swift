import CoreData

/// Dependents: jobs that run after others.
///
/// The rows alone decide: which jobs are done counts, and a hint that is lost or comes twice changes nothing. One row
/// of `PoolWait` for each blocked job names the job after whose end it is checked again. Of several unfinished ones
/// that is the youngest, which most likely ends last, so that a long list is not read again at each end.
///
/// ```text
/// p9 runs after p1, p2, p3            PoolWait: job 9, blocker 3
/// p3 ends      release(after: [3])    p1 and p2 are unfinished yet: blocker 2
/// p1 ends      release(after: [1])    no row names it: nothing is read
/// p2 ends      release(after: [2])    all have succeeded: p9 is available, its row is deleted
/// ```
///
/// A job that names a batch without jobs waits for the first of them: its name may be mistyped, or its jobs come later.
/// Its row names the batch, by a number below 0.
extension JobStore {
  /// The result of checking dependents.
  public struct Release: Hashable, Sendable {
    /// Jobs that may run now.
    public var ready: [JobSummary] = []
    /// Keys of jobs that were cancelled because a job before them was. Check the jobs that wait for these next.
    public var cancelled: [Int64] = []
    /// Whether some of them have to wait for a time yet.
    public var isSomeScheduled = false
    /// Jobs that begin to wait for the first job of a batch.
    public var withoutBatch: [WithoutBatch] = []
    /// How many jobs were checked.
    public var count = 0
  }

  /// A job that waits for the first job of a batch.
  public struct WithoutBatch: Hashable, Sendable {
    /// The key of the job.
    public let job: Int64
    /// The name of the batch.
    public let batch: String
  }

  /// Checks pending jobs, without saving: each becomes blocked, available, scheduled or cancelled. A job that names
  /// others comes as `pending`, since its producer cannot know how they stand.
  ///
  /// - Parameter limit: the most jobs that one call checks; save and call again until it checks fewer.
  public func adoptPending(
    limit: Int = 500, at now: Date? = nil, in context: NSManagedObjectContext
  ) throws -> Release {
    let now = now ?? self.now
    let request = PoolJob.shortFetchRequest()
    request.predicate = JobState.pending.predicate
    // As in `firstJob(in:)`.
    request.sortDescriptors = [NSSortDescriptor(key: "kind", ascending: true)]
    request.fetchLimit = limit
    var release = Release()
    for job in try context.fetch(request) { try check(job, wait: nil, noting: &release, at: now, in: context) }
    return release
  }

  /// Checks the jobs that wait for one of these, which have ended, without saving. Costs an index entry for each of the
  /// ended jobs, and the rows of those that wait.
  public func release(
    after ended: [Int64], at now: Date? = nil, in context: NSManagedObjectContext
  ) throws -> Release {
    let now = now ?? self.now
    var release = Release()
    guard !ended.isEmpty else { return release }
    let request = PoolWait.fetchRequest()
    request.predicate = NSPredicate(format: "blocker IN %@", ended.map { NSNumber(value: $0) })
    request.returnsObjectsAsFaults = false
    try check(try context.fetch(request), noting: &release, at: now, in: context)
    return release
  }

  /// The keys of all jobs that some job waits for. After a crash the pool treats them as if they had just ended: a hint
  /// that an end gave may have been lost with it.
  public func blockers(in context: NSManagedObjectContext) throws -> [Int64] {
    let request = NSFetchRequest<NSDictionary>(entityName: "PoolWait")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["blocker"]
    request.returnsDistinctResults = true
    return try context.fetch(request).compactMap { ($0["blocker"] as? NSNumber)?.int64Value }
  }

  /// Whether any job runs after others: it is `pending`, or `blocked`.
  public func hasDependents(in context: NSManagedObjectContext) throws -> Bool {
    let waits = PoolWait.fetchRequest()
    waits.fetchLimit = 1
    return try !context.fetch(waits).isEmpty || !context.fetch(Self.firstJob(in: .pending)).isEmpty
  }

  // MARK: One check

  /// Checks the jobs of some rows.
  private func check(
    _ waits: [PoolWait], noting release: inout Release, at now: Date, in context: NSManagedObjectContext
  ) throws {
    let jobs = try jobs(keys: waits.map(\.job), in: context)
    let byKey = Dictionary(jobs.map { ($0.objectID.key, $0) }, uniquingKeysWith: { first, _ in first })
    for wait in waits {
      if let job = byKey[wait.job], job.state == .blocked {
        try check(job, wait: wait, noting: &release, at: now, in: context)
      } else {
        // Cancelled or retried by a person.
        context.delete(wait)
      }
    }
  }

  /// Checks one job: it is released, cancelled, or waits on.
  private func check(
    _ job: PoolJob, wait: PoolWait?, noting release: inout Release, at now: Date, in context: NSManagedObjectContext
  ) throws {
    release.count += 1
    switch try blocker(of: job, in: context) {
    case .none:
      // The jobs of a batch that it has waited for may have been deleted since.
      if (wait?.blocker ?? -1) < 0, let batch = job.options.afterBatch, try !hasJobs(batch, in: context) {
        if wait != nil { return }
        release.withoutBatch.append(WithoutBatch(job: job.objectID.key ?? 0, batch: batch))
        return try block(job, by: Self.blocker(ofBatch: batch), wait: wait, in: context)
      }
      try job.markReleased(at: now)
      if let wait { context.delete(wait) }
      if let summary = JobSummary(job) { release.ready.append(summary) } else { release.isSomeScheduled = true }
    case .failed where job.options.whenFailed == .cancel:
      try job.markCancelled(at: now)
      if let wait { context.delete(wait) }
      if let key = job.objectID.key { release.cancelled.append(key) }
    case .failed(let key), .unfinished(let key):
      try block(job, by: key, wait: wait, in: context)
    }
  }

  /// Lets the job wait for another one, by a new row or by the one that it has. Nothing is written where it waits for
  /// that one already.
  private func block(_ job: PoolJob, by blocker: Int64, wait: PoolWait?, in context: NSManagedObjectContext) throws {
    if let wait, wait.blocker == blocker { return }
    if wait == nil { try job.markBlocked() }
    let row = wait ?? PoolWait(context: context)
    row.job = job.objectID.key ?? 0
    row.blocker = blocker
  }

  // MARK: Batches without jobs

  /// The number that stands for a batch in the rows of jobs that wait for its first job. Keys of jobs are above 0.
  static func blocker(ofBatch name: String) -> Int64 { -Int64(StableHash.of(name) >> 1) - 1 }

  /// The numbers of batches that jobs wait for, and that have jobs by now: ``release(after:at:in:)`` takes them.
  ///
  /// - Complexity: two rows are read for each batch that has no job, no matter how many jobs wait for it.
  public func batchesThatCame(in context: NSManagedObjectContext) throws -> [Int64] {
    try batchesAwaited(in: context).filter { number in
      // Cancelled or retried by a person: the check deletes the row.
      guard let job = try waiting(for: number, limit: 1, in: context).first, let batch = job.options.afterBatch else {
        return true
      }
      return try hasJobs(batch, in: context)
    }
  }

  /// The numbers of batches without jobs that jobs wait for.
  func batchesAwaited(in context: NSManagedObjectContext) throws -> [Int64] {
    let request = NSFetchRequest<NSDictionary>(entityName: "PoolWait")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["blocker"]
    request.returnsDistinctResults = true
    request.predicate = NSPredicate(format: "blocker < 0")
    return try context.fetch(request).compactMap { ($0["blocker"] as? NSNumber)?.int64Value }
  }

  /// Blocked jobs whose row names this number, the oldest first.
  func waiting(for number: Int64, limit: Int, in context: NSManagedObjectContext) throws -> [PoolJob] {
    let request = PoolWait.fetchRequest()
    request.predicate = NSPredicate(format: "blocker == %lld", number)
    request.sortDescriptors = [NSSortDescriptor(key: "job", ascending: true)]
    request.fetchLimit = limit
    request.returnsObjectsAsFaults = false
    return try jobs(keys: context.fetch(request).map(\.job), in: context).filter { $0.state == .blocked }
  }

  private func hasJobs(_ batch: String, in context: NSManagedObjectContext) throws -> Bool {
    let request = PoolJob.fetchRequest()
    request.predicate = NSPredicate(format: "batch == %@", batch)
    request.fetchLimit = 1
    return try !context.fetch(request).isEmpty
  }

  /// What a job waits for, of all the jobs that it names.
  private enum Blocker {
    case none
    case unfinished(Int64)
    /// Dead or cancelled.
    case failed(Int64)
  }

  /// What a job waits for. The order of the questions is that of `whenFailed`:
  ///
  /// ```text
  /// whenFailed    one is dead or cancelled           some are unfinished
  /// cancel        the job is cancelled, at once      it waits for the youngest
  /// wait          it waits for the dead one,         it waits for the youngest
  ///               when all others have ended
  /// run           it runs, when all have ended       it waits for the youngest
  /// ```
  private func blocker(of job: PoolJob, in context: NSManagedObjectContext) throws -> Blocker {
    let options = job.options
    var groups: [NSPredicate] = []
    let ids = options.after.compactMap { coordinator.objectID(forURI: $0) }
    if !ids.isEmpty { groups.append(NSPredicate(format: "self IN %@", ids)) }
    if let batch = options.afterBatch { groups.append(NSPredicate(format: "batch == %@", batch)) }
    let failed = [JobState.dead, .cancelled].map { NSNumber(value: $0.rawValue) }
    // A failed job decides first: then the job need not wait for the others.
    if options.whenFailed == .cancel, let key = try youngest(groups, in: failed, besides: job, context) {
      return .failed(key)
    }
    if let key = try youngest(groups, in: JobState.unfinishedNumbers, besides: job, context) { return .unfinished(key) }
    if options.whenFailed == .wait, let key = try youngest(groups, in: failed, besides: job, context) {
      return .failed(key)
    }
    return .none
  }

  /// The youngest of the jobs that is in one of these states. One row is read from each group, by the index of keys or
  /// of batches.
  private func youngest(
    _ groups: [NSPredicate], in states: [NSNumber], besides job: PoolJob, _ context: NSManagedObjectContext
  ) throws -> Int64? {
    var youngest: Int64?
    for group in groups {
      let request = PoolJob.fetchRequest()
      request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: [
        group, NSPredicate(format: "state IN %@", states), NSPredicate(format: "self != %@", job.objectID),
      ])
      request.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: false)]
      request.fetchLimit = 1
      request.includesPropertyValues = false
      guard let key = try context.fetch(request).first?.objectID.key else { continue }
      youngest = max(youngest ?? key, key)
    }
    return youngest
  }
}
