import CoreData

/// Claims: of the pools that share a store, one may hand out a job.
///
/// A job that is `available` belongs to the pool that it names, or to none if that pool is gone. The claim changes the
/// row's version, so what workers of an earlier claimant still save fails as a merge conflict.
extension JobStore {
  /// Claims ready jobs and returns all that the pool has claimed, with those of earlier calls: highest priority first,
  /// then oldest first. Saves.
  ///
  /// One statement finds and claims the jobs. It passes over rows that another pool claims at the same moment, and
  /// waits for nobody.
  ///
  /// - Parameters:
  ///   - query: which jobs; claims at most ``ReadyQuery/claims`` new ones.
  ///   - gone: pools whose claims are void. One that is missing here is only noticed later.
  /// - Returns: the jobs, and whether other ones may be left.
  public func claimReady(
    _ query: ReadyQuery, for member: Int64, besides gone: [Int64], in context: NSManagedObjectContext
  ) throws -> (jobs: [JobSummary], areMore: Bool) {
    var left = query.claims
    for stretch in stretches(of: query) where left > 0 {
      let update = NSBatchUpdateRequest(entityName: PoolJob.entityName)
      let isFree =
        gone.isEmpty
        ? NSPredicate(format: "claimant == nil")
        : NSPredicate(format: "claimant == nil OR claimant IN %@", gone.map { NSNumber(value: $0) })
      let ready = readyRequest(query, where: stretch, limit: left)
      update.predicate = NSCompoundPredicate(
        andPredicateWithSubpredicates: [ready.predicate, isFree].compactMap(\.self))
      update.order = ready.sortDescriptors ?? []
      update.limit = left
      update.skipsLockedRows = true
      update.propertiesToUpdate = [PoolMember.claimant: member]
      left -= try count(update, in: context)
    }
    let jobs = try readyJobs(query, claimedBy: member, in: context)
    return (jobs, left <= 0 || jobs.count >= query.limit)
  }

  /// Gives back what a pool has claimed and nobody has run. Saves.
  public func releaseClaims(of member: Int64, in context: NSManagedObjectContext) throws {
    let update = NSBatchUpdateRequest(entityName: PoolJob.entityName)
    update.predicate = NSPredicate(
      format: "state == %d AND claimant == %lld", Int(JobState.available.rawValue), member)
    update.propertiesToUpdate = [PoolMember.claimant: NSNull()]
    _ = try context.execute(update)
  }
}
