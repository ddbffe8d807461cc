import CoreData

/// Claims: of the pools that share a store, one may hand out a job.
///
/// A job that is `available` belongs to the pool that it names, or to none if that pool is gone. The claim changes the
/// row's version, so a late save by a worker of an earlier claimant fails as a merge conflict.
///
/// ```text
/// pool 1                                 server                        pool 2
/// claimReady(kind: "index", claims: 2)
/// UPDATE … SKIP LOCKED              ──▶  locks p5, p6
///                                                                 ◀──  UPDATE … SKIP LOCKED
///                                        passes over p5, p6
///                                                                 ──▶  p7, p8
/// COMMIT                            ──▶  claimant of p5, p6 is 1
/// readyJobs: p5, p6
/// ```
///
/// A store in a file has one pool, and claims nothing there.
extension JobStore {
  /// Claims ready jobs and returns all that the pool has claimed, with those of earlier calls: highest priority first,
  /// then oldest first. Saves.
  ///
  /// Where nothing limits the jobs, one statement finds and claims them. It passes over rows that another pool claims
  /// at the same moment, and waits for no other pool. Limits are decided pool after pool: see `claimLimited`.
  ///
  /// - Parameters:
  ///   - query: which jobs; claims at most ``ReadyQuery/claims`` new ones.
  ///   - gone: pools whose claims are void. One that is missing here is only noticed later.
  public func claimReady(
    _ query: ReadyQuery, for member: Int64, besides gone: [Int64], rules: ClaimRules = ClaimRules(),
    in context: NSManagedObjectContext
  ) throws -> ClaimResult {
    var claimsLeft = query.claims
    var retryAfter: Double?
    if claimsLeft > 0 {
      claimsLeft -= try claimSuspect(query, for: member, besides: gone, rules, in: context)
      if try rules.isLimited || hasKeyedJobs(of: query.kind, in: context) {
        let claimed = try claimLimited(
          query, atMost: claimsLeft, for: member, besides: gone, rules, where: Self.isNoSuspect, in: context)
        claimsLeft -= claimed.count
        retryAfter = claimed.retryAfter
      } else {
        claimsLeft -= try claimAny(query, atMost: claimsLeft, for: member, besides: gone, in: context)
      }
    }
    let jobs = try readyJobs(query, claimedBy: member, in: context)
    return ClaimResult(jobs: jobs, areMore: claimsLeft <= 0 || jobs.count >= query.limit, retryAfter: retryAfter)
  }

  /// Claims jobs that no limit holds back, in one statement for each stretch of the index:
  ///
  /// ```text
  /// UPDATE "pool_wp"."PoolJob" AS t0 SET "claimant" = $1, _version = t0._version % 9223372036854775807 + 1
  /// WHERE t0._key = ANY(ARRAY(SELECT t0._key FROM "pool_wp"."PoolJob" t0 WHERE ((t0."state" = $2)
  /// AND (t0."finishedAt" IS NULL) AND (t0."kind" = $3) AND (t0."claimant" IS NULL)
  /// AND ((t0."hostDeaths" IS NULL) OR (t0."hostDeaths" < $4)) AND (t0."limitKey" IS NULL))
  /// ORDER BY t0."priority" DESC NULLS LAST, t0._key ASC NULLS FIRST LIMIT 2 FOR NO KEY UPDATE OF t0 SKIP LOCKED))
  /// ```
  ///
  /// How the server runs it is told at `ServerStore.update` in CoreDataPostgreSQL.
  private func claimAny(
    _ query: ReadyQuery, atMost limit: Int, for member: Int64, besides gone: [Int64],
    in context: NSManagedObjectContext
  ) throws -> Int {
    var claimsLeft = limit
    for stretch in stretches(of: query) where claimsLeft > 0 {
      let update = NSBatchUpdateRequest(entityName: PoolJob.entityName)
      let ready = Self.readyRequest(query, where: stretch, limit: claimsLeft)
      update.predicate = NSCompoundPredicate(
        andPredicateWithSubpredicates: [
          ready.predicate, Self.isFree(besides: gone), Self.isNoSuspect, NSPredicate(format: "limitKey == nil"),
        ].compactMap(\.self))
      update.order = ready.sortDescriptors ?? []
      update.limit = claimsLeft
      update.skipsLockedRows = true
      update.propertiesToUpdate = ["claimant": member]
      claimsLeft -= try count(update, in: context)
    }
    return limit - claimsLeft
  }

  /// Jobs that no living pool has claimed.
  static func isFree(besides gone: [Int64]) -> NSPredicate {
    gone.isEmpty
      ? NSPredicate(format: "claimant == nil")
      : NSPredicate(format: "claimant == nil OR claimant IN %@", gone.map { NSNumber(value: $0) })
  }

  /// Whether any ready job of the kind has a limit key. Then all claims of the kind are made in turns, since it
  /// is not known before which of its jobs have one.
  private func hasKeyedJobs(of kind: String, in context: NSManagedObjectContext) throws -> Bool {
    let request = PoolJob.fetchRequest()
    request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: [
      NSPredicate(format: "finishedAt == nil AND limitKey != nil AND kind == %@", kind), JobState.available.predicate,
    ])
    request.fetchLimit = 1
    request.includesPropertyValues = false
    return try !context.fetch(request).isEmpty
  }

  // MARK: Giving back

  /// Gives back the jobs that a pool has claimed and no worker has begun. Saves, and so announces the jobs to all
  /// pools.
  ///
  /// ```text
  /// UPDATE … SET "claimant" = NULL, … WHERE … "claimant" = $1 … AND NOT … IN (the jobs in workers' hands)
  /// ```
  ///
  /// A pool does so when it is paused or drains, for kinds and queues that are paused, and when it ends.
  ///
  /// - Parameters:
  ///   - kinds: only jobs of these kinds; nil for all.
  ///   - kept: the keys of jobs that workers hold.
  /// - Returns: how many jobs are given back.
  @discardableResult
  public func releaseClaims(
    of member: Int64, kinds: Set<String>? = nil, keeping kept: [Int64] = [], in context: NSManagedObjectContext
  ) throws -> Int {
    let update = NSBatchUpdateRequest(entityName: PoolJob.entityName)
    var conditions = [Self.claimed(by: member)]
    if let kinds { conditions.append(NSPredicate(format: "kind IN %@", kinds.sorted())) }
    let ids = kept.compactMap(objectID(job:))
    if !ids.isEmpty { conditions.append(NSPredicate(format: "NOT self IN %@", ids)) }
    update.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: conditions)
    update.propertiesToUpdate = ["claimant": NSNull()]
    return try count(update, in: context)
  }

  /// What pools have claimed.
  ///
  /// The condition names nothing that the indexes of ready jobs have in theirs, and bounds the identity on both sides:
  /// without statistics a server takes such a range for few rows, and one bound for a third of them. So it reads the
  /// index of claims, with and without statistics. Jobs that end have no claimant.
  static var isClaimed: NSPredicate {
    NSCompoundPredicate(andPredicateWithSubpredicates: [
      NSPredicate(format: "claimant != nil AND claimant >= %lld AND claimant <= %lld", Int64.min, Int64.max),
      JobState.available.filter,
    ])
  }

  /// What a pool has claimed. Together with a kind the server expects one row, and reads the index entry by entry. Only
  /// such a scan marks the entries of claims that have ended, so that later ones pass over them before the next VACUUM.
  static func claimed(by member: Int64) -> NSPredicate {
    NSCompoundPredicate(andPredicateWithSubpredicates: [
      isClaimed, NSPredicate(format: "claimant == %lld", member),
    ])
  }
}
