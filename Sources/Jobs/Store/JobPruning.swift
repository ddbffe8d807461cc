import CoreData

/// How long finished jobs are kept. Jobs that others wait for, and those that still reserve a unique key, stay longer.
///
/// Keep more for statistics and for tracing what happened; less where the store's size matters: a job takes about as
/// many bytes as its parameters, its output and its errors.
public struct JobRetention: Hashable, Sendable {
  /// The seconds for which the store keeps jobs that succeeded or were cancelled. Nil keeps them without a time limit.
  /// Default: 7 days.
  public var finished: Double?
  /// The seconds for which the store keeps dead jobs, because a person may want to retry them. Nil keeps them without a
  /// time limit. Default: 30 days.
  public var dead: Double?
  /// Of the jobs that succeeded, the store keeps this many of the youngest, and as many of those that were cancelled.
  /// Jobs that have to stay are kept besides. Nil keeps all. Default: 100,000.
  public var count: Int?

  /// The times are in seconds. Nil keeps jobs without a time limit.
  public init(finished: Double? = 7 * 86_400, dead: Double? = 30 * 86_400, count: Int? = 100_000) {
    self.finished = finished
    self.dead = dead
    self.count = count
  }
}

/// One pass over the finished jobs, which deletes those that need not be kept any longer, some at a time.
///
/// Jobs that others wait for stay. So do failed jobs that others must not ignore, and jobs that still reserve their
/// unique key. A pass finds out once which jobs are too many, so jobs that finish meanwhile are left to the next one,
/// and two passes at once delete the same jobs. Jobs whose minute is not in the pool's history yet are counted there:
/// to wait for the minute's end would keep jobs that a person wants deleted now. Used on the queue of one context.
public final class JobPruning {
  private let store: JobStore
  private let retention: JobRetention
  private let now: Date
  private let awaited: AwaitedJobs
  private var passages: [JobState: Passage] = [:]
  /// What the last call deleted, and the passages before it: if its save failed, the jobs are still there.
  private var last: (keys: [JobKey], passages: [JobState: Passage])?

  /// How far the pass has come among the jobs of a state, from the oldest on.
  private struct Passage {
    /// The youngest job that is too many; nil if none is.
    var surplus: (finishedAt: Date, key: Int64)?
    /// How many of the oldest stay.
    var staying = 0
  }

  /// - Parameter now: the time at which the age of jobs is measured; nil: the store's.
  ///
  /// Use one value for a pass, from its first call to the one that returns 0: it remembers how far it has come.
  ///
  /// ```swift
  /// let store = try JobStore(url: url, model: model)
  /// let pruning = JobPruning(JobRetention(), in: store)
  /// while try pruning.deleteNext(in: context) > 0 { try context.save() }
  /// ```
  public init(_ retention: JobRetention, in store: JobStore, at now: Date? = nil) {
    self.store = store
    self.retention = retention
    self.now = now ?? store.now
    awaited = AwaitedJobs(in: store, countsPassing: false)
  }

  /// Deletes the next jobs, without saving. Save, and call it again until it returns 0.
  ///
  /// ```text
  /// succeeded, by time     p1 p2 p3 p4 p5 p6 p7 p8
  /// keep 7 days            ────▶│                         older than that
  /// keep the last 5        ───────▶│                      more than that
  /// go                     p1 p2 p3                       unless a job waits for them, or they reserve a unique key
  /// ```
  ///
  /// The save fails with a conflict when a person has retried one of them meanwhile, a job has come that waits for a
  /// failed one or for its batch, or another pass deletes, too. Roll back, and call it again.
  ///
  /// - Parameter limit: the most jobs that one call deletes.
  /// - Returns: how many.
  /// - Complexity: reads the jobs that it deletes, and those before them that stay; at the pass's first call, the index
  ///   entries of all jobs that succeeded or were cancelled. The options of waiting jobs are read only when a failed
  ///   job, or one of a batch, is to go.
  public func deleteNext(limit: Int = 1000, in context: NSManagedObjectContext) throws -> Int {
    // If that save failed, its jobs are there again, before those that stay: the places are those before the last call.
    if let last, try !store.jobs(keys: last.keys, in: context).isEmpty { passages = last.passages }
    let before = passages
    var deleted: [PoolJob] = []
    for state in [JobState.succeeded, .cancelled, .dead] where deleted.count < limit {
      var passage = try passages[state] ?? Passage(surplus: youngestSurplus(of: state, in: context))
      deleted += try deleteNext(of: state, limit: limit - deleted.count, &passage, in: context)
      passages[state] = passage
    }
    last = (deleted.compactMap(\.objectID.key), before)
    try store.countInHistory(deleted: deleted, at: now, in: context)
    try JobStore.forgetChanges(of: deleted, in: context)
    awaited.keepAwaited(amongDeleted: deleted, in: context)
    return deleted.count
  }

  /// Deletes the next jobs and lets the body save them. Begins again if another process has written one of them first,
  /// as `deleteNext(limit:in:)` says, up to ``JobStore/conflictTries`` times; all else in the context is rolled back,
  /// too.
  ///
  /// - Parameters:
  ///   - owner: the object that must not have changed, such as the job that deletes: a conflict in its row is thrown.
  ///   - save: saves the context, and gets how many jobs are deleted.
  /// - Returns: how many.
  package func deleteNext(
    limit: Int = 1000, in context: NSManagedObjectContext, for owner: NSManagedObject? = nil,
    save: (Int) throws -> Void
  ) throws -> Int {
    var conflicts = 0
    while true {
      let count = try deleteNext(limit: limit, in: context)
      if count == 0 { return 0 }
      do {
        try save(count)
        return count
      } catch let error as NSError where JobStore.isConflict(error) {
        conflicts += 1
        let changed = error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict] ?? []
        let isOwners = changed.contains { $0.sourceObject === owner }
        guard !isOwners, conflicts < JobStore.conflictTries else { throw error }
        context.rollback()
        context.refreshAllObjects()
      }
    }
  }

  private func youngestSurplus(
    of state: JobState, in context: NSManagedObjectContext
  ) throws -> (finishedAt: Date, key: Int64)? {
    guard let most = retention.count, state != .dead else { return nil }
    // Counting reads an index alone. The other request may read and sort them all, where a server has no statistics.
    let all = PoolJob.fetchRequest()
    all.predicate = state.predicate
    guard try context.count(for: all) > most else { return nil }
    let request = Self.youngest(of: state)
    request.fetchOffset = max(0, most)
    request.fetchLimit = 1
    guard let job = try context.fetch(request).first, job.state == state, let time = job.finishedAt,
      let key = job.objectID.key
    else { return nil }
    return (time, key)
  }

  private func deleteNext(
    of state: JobState, limit: Int, _ passage: inout Passage, in context: NSManagedObjectContext
  ) throws -> [PoolJob] {
    let oldest = (state == .dead ? retention.dead : retention.finished).map { now - $0 } ?? .distantPast
    // Nothing behind a job that is younger than both bounds can go. Of those that finished at the time of the youngest
    // surplus job, keys tell.
    let end = max(oldest, passage.surplus?.finishedAt ?? .distantPast)
    func isBeforeEnd(_ job: PoolJob) -> Bool { job.state == state && job.finishedAt.map { $0 <= end } == true }
    func isDue(_ job: PoolJob) -> Bool {
      guard let time = job.finishedAt, let key = job.objectID.key else { return false }
      return time < oldest || passage.surplus.map { (time, key) <= ($0.finishedAt, $0.key) } == true
    }
    let request = Self.oldest(of: state)
    // Jobs that are deleted here are in the store until the save: changes in the context do not count in this request.
    request.fetchLimit = 1000
    request.fetchOffset = passage.staying
    var deleted: [PoolJob] = []
    while deleted.count < limit {
      let jobs = try context.fetch(request).prefix(while: isBeforeEnd)
      if jobs.isEmpty { break }
      request.fetchOffset += jobs.count
      let awaited = try awaited.keys(among: jobs.filter(isDue), in: context)
      for job in jobs where deleted.count < limit && !job.isDeleted {
        let isAwaited = job.objectID.key.map(awaited.contains) == true
        if !isDue(job) || isAwaited || (job.activeKey != nil && job.isKeyTaken(at: now)) {
          passage.staying += 1
        } else {
          context.delete(job)
          deleted.append(job)
        }
      }
    }
    return deleted
  }

  /// The finished jobs of a state, the oldest first, and those of the states behind it.
  ///
  /// One bound: without statistics a server takes it for a third of the jobs, so that it reads the first ones of the
  /// index. It takes one state for few jobs, and would read and sort all of them.
  static func oldest(of state: JobState) -> NSFetchRequest<PoolJob> {
    let request = PoolJob.shortFetchRequest()
    request.predicate = NSPredicate(format: "finishedAt != nil AND state >= %d", Int(state.rawValue))
    // A pass reads on behind the jobs that stay: those that finished at the same time need an order, too.
    request.sortDescriptors = ["state", "finishedAt", "objectID"].map { NSSortDescriptor(key: $0, ascending: true) }
    return request
  }

  /// The same from the youngest on, with the states before it behind. Of jobs that finished at the same time the one
  /// that came last is the youngest.
  static func youngest(of state: JobState) -> NSFetchRequest<PoolJob> {
    let request = PoolJob.fetchRequest()
    request.propertiesToFetch = ["state", "finishedAt"]
    request.predicate = NSPredicate(format: "finishedAt != nil AND state <= %d", Int(state.rawValue))
    request.sortDescriptors = ["state", "finishedAt", "objectID"].map { NSSortDescriptor(key: $0, ascending: false) }
    return request
  }
}
