import CoreData

/// The pools that share a store at a server. A store in a file has none.
///
/// ```text
/// a pool starts     takes the lock of its identity, inserts its row, and only then claims jobs
/// it ends           gives its claims back, and writes that it is gone
/// it dies           the server releases its lock; a neighbour writes that it is gone: all its claims are void at once
/// an hour later     the leader takes its name off what is left, and deletes its row
/// ```
extension JobStore {
  /// Notes a new pool, without saving.
  public func insert(_ member: PoolMember, into context: NSManagedObjectContext) {
    member.write(to: PoolMemberRow(context: context))
  }

  /// The pools that are not gone, in the order of their identities.
  public func members(in context: NSManagedObjectContext) throws -> [PoolMember] {
    guard isShared else { return [] }
    let request = PoolMemberRow.fetchRequest()
    request.predicate = NSPredicate(format: "goneAt == nil")
    request.sortDescriptors = [NSSortDescriptor(key: "identity", ascending: true)]
    return try context.fetch(request).map(PoolMember.init)
  }

  /// The identities of the pools that are gone. Nothing that they have claimed counts any more.
  public func goneMembers(before date: Date = .distantFuture, in context: NSManagedObjectContext) throws -> [Int64] {
    guard isShared else { return [] }
    let request = PoolMemberRow.fetchRequest()
    request.predicate = NSPredicate(format: "goneAt != nil AND goneAt < %@", date as NSDate)
    return try context.fetch(request).map(\.identity)
  }

  /// Writes that a pool is gone: at once all its claims are void. Saves.
  ///
  /// One conditional UPDATE, so of several pools that hear of a death one has noted it:
  ///
  /// ```text
  /// UPDATE "pool_wp"."PoolMember" AS t0 SET "goneAt" = $1, _version = t0._version % 9223372036854775807 + 1
  /// WHERE t0._key = ANY(ARRAY(SELECT t0._key FROM "pool_wp"."PoolMember" t0
  /// WHERE ((t0."identity" = $2) AND (t0."goneAt" IS NULL)) FOR NO KEY UPDATE OF t0))
  /// ```
  ///
  /// - Returns: whether it was not gone before.
  @discardableResult
  public func noteGone(_ identity: Int64, at now: Date? = nil, in context: NSManagedObjectContext) throws -> Bool {
    let now = now ?? self.now
    let update = NSBatchUpdateRequest(entityName: PoolMember.entityName)
    update.predicate = NSPredicate(format: "identity == %lld AND goneAt == nil", identity)
    update.propertiesToUpdate = ["goneAt": now]
    return try count(update, in: context) > 0
  }

  /// Forgets pools that are gone, after it has taken their names off the jobs that no pool has run since. Saves.
  public func forgetGoneMembers(in context: NSManagedObjectContext) throws {
    guard isShared else { return }
    try releaseUnknownClaims(in: context)
    // Those that have just gone are left: another pool may not know yet that their claims are void.
    let gone = try goneMembers(before: now - 3600, in: context).map { NSNumber(value: $0) }
    guard !gone.isEmpty else { return }
    let update = NSBatchUpdateRequest(entityName: PoolJob.entityName)
    update.predicate = NSPredicate(format: "claimant != nil AND claimant IN %@", gone)
    update.propertiesToUpdate = ["claimant": NSNull()]
    _ = try context.execute(update)
    try forgetNotices(to: gone.map(\.int64Value), in: context)
    let members = PoolMemberRow.fetchRequest()
    members.predicate = NSPredicate(format: "identity IN %@", gone)
    for row in try context.fetch(members) { context.delete(row) }
    try context.save()
    let remainingPools = try PoolMember.all(in: context).map(\.identity)
    try PoolOwner.forget(besides: Set(remainingPools), in: context)
    try context.save()
  }

  /// Gives back jobs whose claimant was forgotten: a pool that stood still for so long, went on, and claimed them
  /// before it heard that others took it for dead. Saves.
  private func releaseUnknownClaims(in context: NSManagedObjectContext) throws {
    let claims = NSFetchRequest<NSDictionary>(entityName: PoolJob.entityName)
    claims.resultType = .dictionaryResultType
    claims.propertiesToFetch = ["claimant"]
    claims.returnsDistinctResults = true
    claims.predicate = Self.isClaimed
    // The claims are read before the pools: a pool writes its row before it claims its first job.
    let claimants = Set(try context.fetch(claims).compactMap { ($0["claimant"] as? NSNumber)?.int64Value })
    guard !claimants.isEmpty else { return }
    let members = Set(try PoolMember.all(in: context).map(\.identity))
    let unknown = claimants.subtracting(members).map { NSNumber(value: $0) }
    guard !unknown.isEmpty else { return }
    let update = NSBatchUpdateRequest(entityName: PoolJob.entityName)
    update.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: [
      Self.isClaimed, NSPredicate(format: "claimant IN %@", unknown),
    ])
    update.propertiesToUpdate = ["claimant": NSNull()]
    _ = try context.execute(update)
  }

  /// Runs a batch update, and gives the number of its rows.
  func count(_ update: NSBatchUpdateRequest, in context: NSManagedObjectContext) throws -> Int {
    update.resultType = .updatedObjectsCountResultType
    return (try context.execute(update) as? NSBatchUpdateResult)?.result as? Int ?? 0
  }
}
