import CoreData

/// Jobs whose pool died while it had claimed them.
///
/// No row says which of them had begun: that would cost each job a write. So the row counts the deaths without a normal
/// end between them. A job with two is a *suspect*: a pool claims one suspect at a time, and when that pool dies, too,
/// the job gets the blame, and all deaths count as crashes. One death of a host has no consequence for its jobs.
extension JobStore {
  /// Earlier versions and other programs write a zero where no pool has died.
  static var isNoSuspect: NSPredicate { NSPredicate(format: "hostDeaths == nil OR hostDeaths < 2") }

  /// Only unfinished jobs have a count. It is bounded on both sides for the same reason as in `isClaimed`.
  private static var isSuspect: NSPredicate {
    NSPredicate(format: "hostDeaths >= 2 AND hostDeaths <= %lld", Int64.max)
  }

  /// Claims a suspect if there is one, and this pool has none. Returns how many it has claimed.
  ///
  /// ```text
  /// SELECT t0."kind", t0."claimant" FROM "pool_wp"."PoolJob" t0
  /// WHERE ((t0."hostDeaths" >= $1) AND (t0."hostDeaths" <= $2) AND ((t0."state" + $3) = $4))      $1 = 2
  /// ```
  ///
  /// Suspects are few, and an index has nothing else, so the look costs a page.
  func claimSuspect(
    _ query: ReadyQuery, for member: Int64, besides gone: [Int64], _ rules: ClaimRules,
    in context: NSManagedObjectContext
  ) throws -> Int {
    let request = NSFetchRequest<NSDictionary>(entityName: PoolJob.entityName)
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["kind", "claimant"]
    request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: [
      Self.isSuspect, JobState.available.filter,
    ])
    let suspects = try context.fetch(request)
    guard suspects.contains(where: { $0["kind"] as? String == query.kind }),
      !suspects.contains(where: { ($0["claimant"] as? NSNumber)?.int64Value == member })
    else { return 0 }
    return try claimLimited(
      query, atMost: 1, for: member, besides: gone, rules, where: Self.isSuspect, in: context
    ).count
  }

  /// The kinds of the suspects that a pool has claimed, which get the blame if it dies.
  public func kindsOfSuspects(claimedBy member: Int64, in context: NSManagedObjectContext) throws -> Set<String> {
    let request = NSFetchRequest<NSDictionary>(entityName: PoolJob.entityName)
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["kind"]
    request.returnsDistinctResults = true
    request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: [Self.claimed(by: member), Self.isSuspect])
    return Set(try context.fetch(request).compactMap { $0["kind"] as? String })
  }

  /// A pool has died: gives back what it had claimed, and counts its death. Saves.
  ///
  /// ```text
  /// deaths before     what becomes of the job
  /// 0                 available again, 1
  /// 1                 available again, 2: a suspect from now on
  /// 2, a suspect      markDiedWithHost: all three deaths count as crashes; dead, where three are too many
  /// ```
  ///
  /// The pool that hears of the death first does it; another one that does the same finds no claims left.
  ///
  /// - Parameters:
  ///   - policy: how often a job may crash.
  ///   - failure: the failure that a suspect gets, with the number of its attempt.
  /// - Returns: the keys of the suspects that died with it.
  public func returnClaims(
    ofDead member: Int64, policy: (PoolJob) -> RetryPolicy, failure: (PoolJob) -> AttemptFailure,
    in context: NSManagedObjectContext
  ) throws -> [Int64] {
    let request = PoolJob.fetchRequest()
    request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: [Self.claimed(by: member), Self.isSuspect])
    var blamed: [Int64] = []
    for job in try context.fetch(request) {
      try job.markDiedWithHost(failure(job), policy: policy(job), at: now)
      if let key = job.objectID.key { blamed.append(key) }
    }
    if !blamed.isEmpty { try context.save() }
    // Each job leaves the dead pool's claims in the statement that counts, so after a crash here the rest can be done
    // again. Suspects have left the claims already.
    for (deaths, condition) in [(1, "hostDeaths == nil OR hostDeaths < 1"), (2, "hostDeaths == 1")] {
      let update = NSBatchUpdateRequest(entityName: PoolJob.entityName)
      update.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: [
        Self.claimed(by: member), NSPredicate(format: condition),
      ])
      update.propertiesToUpdate = ["claimant": NSNull(), "hostDeaths": deaths]
      _ = try context.execute(update)
    }
    return blamed
  }

  /// A pool that was cut off is back, under another identity: gives back what it had claimed before. It has not died,
  /// so its death is not counted, and is subtracted if another pool has counted it meanwhile. Saves.
  ///
  /// - Parameter jobs: the keys of the jobs that it had claimed.
  public func takeBack(claimsOf member: Int64, _ jobs: [Int64], in context: NSManagedObjectContext) throws {
    let wasJudged = try !noteGone(member, in: context)
    try releaseClaims(of: member, in: context)
    let ids = jobs.compactMap(objectID(job:))
    guard wasJudged, !ids.isEmpty else { return }
    let update = NSBatchUpdateRequest(entityName: PoolJob.entityName)
    update.predicate = NSPredicate(format: "hostDeaths > 0 AND self IN %@", ids)
    update.propertiesToUpdate = ["hostDeaths": NSExpression(format: "hostDeaths - 1")]
    _ = try context.execute(update)
  }
}
