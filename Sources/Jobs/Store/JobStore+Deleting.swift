import CoreData

extension JobStore {
  /// Deletes jobs that a person chose, without saving. The caller leaves out jobs that run.
  ///
  /// ```swift
  /// let store = try JobStore(url: url, model: model)
  /// let dead = Job.fetchRequest()
  /// dead.predicate = JobState.dead.predicate
  /// let awaited = AwaitedJobs(in: store, countsPassing: true)
  /// let staying = try store.delete(try context.fetch(dead), except: awaited, in: context)
  /// try context.save()
  /// print(staying, "stay, since unfinished jobs wait for them")
  /// ```
  ///
  /// The save fails with a conflict when another process has written or deleted one of them meanwhile, or has saved a
  /// job that waits for one which need not have stayed before.
  ///
  /// - Parameter awaited: says which jobs stay because unfinished ones wait for them; nil deletes those, too.
  /// - Returns: how many stay.
  public func delete(_ jobs: [PoolJob], except awaited: AwaitedJobs?, in context: NSManagedObjectContext) throws -> Int
  {
    let stay = try awaited?.keys(among: jobs, in: context) ?? []
    let deleted = jobs.filter { $0.objectID.key.map(stay.contains) != true }
    try countInHistory(deleted: deleted, at: now, in: context)
    try Self.forgetChanges(of: deleted, in: context)
    for job in deleted { context.delete(job) }
    awaited?.keepAwaited(amongDeleted: deleted, in: context)
    return stay.count
  }

  /// The keys among these that a row of ``PoolWait`` names.
  func blockers(among keys: [Int64], in context: NSManagedObjectContext) throws -> Set<Int64> {
    guard !keys.isEmpty else { return [] }
    let request = PoolWait.fetchRequest()
    request.predicate = NSPredicate(format: "blocker IN %@", keys.map { NSNumber(value: $0) })
    return Set(try context.fetch(request).map(\.blocker))
  }
}
