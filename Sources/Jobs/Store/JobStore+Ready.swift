import CoreData

extension JobStore {
  /// The jobs of one kind to run next: highest priority first, then oldest first.
  ///
  /// ```text
  /// SELECT t0._key::bigint, … FROM "pool_wp"."PoolJob" t0 WHERE ((t0."claimant" IS NOT NULL)
  /// AND (t0."claimant" >= $1) AND (t0."claimant" <= $2) AND ((t0."state" + $3) = $4)
  /// AND (t0."claimant" = $5) AND (t0."kind" = $6))                      at a server: what this pool has claimed
  /// ORDER BY t0."priority" DESC NULLS LAST, t0._key ASC NULLS FIRST LIMIT 2
  /// ```
  ///
  /// In a file, where jobs are not claimed, the condition is `state == 0 AND finishedAt == nil AND kind == …`, and an
  /// index has kind, priority and key of these jobs in this order: the rows come from it without sorting. Behind a job
  /// there are two statements: one for the rest of its priority, and one for the lower ones.
  ///
  /// - Complexity: reads `limit` rows from a part of an index, without parameters, no matter how many jobs wait; it
  ///   skips jobs of the groups that are left out.
  ///
  /// - Parameter member: only jobs that this pool has claimed; nil in a store that no other pool uses.
  public func readyJobs(
    _ query: ReadyQuery, claimedBy member: Int64? = nil, in context: NSManagedObjectContext
  ) throws -> [JobSummary] {
    var jobs: [PoolJob] = []
    for stretch in stretches(of: query) where jobs.count < query.limit {
      jobs += try context.fetch(
        Self.readyRequest(query, where: stretch, claimedBy: member, limit: query.limit - jobs.count))
    }
    let limits = try limits(of: jobs.filter { $0.limitKey != nil }, in: context)
    return jobs.compactMap { JobSummary($0, limit: $0.objectID.key.flatMap { limits[$0] }) }
  }

  /// The parts of the index in which the jobs of a query lie. Behind a job there are two: with OR between them SQLite
  /// finds the beginning of neither.
  func stretches(of query: ReadyQuery) -> [NSPredicate?] {
    guard let after = query.after, let last = objectID(job: after.key) else { return [nil] }
    return [
      NSPredicate(format: "priority == %d AND self > %@", after.priority, last),
      NSPredicate(format: "priority < %d", after.priority),
    ]
  }

  /// The request for one stretch. Objects of the context that are not saved do not count: no other process knows them.
  ///
  /// - Parameter member: only jobs that this pool has claimed, which are few and have an index; nil for all.
  static func readyRequest(
    _ query: ReadyQuery, where stretch: NSPredicate?, claimedBy member: Int64? = nil, limit: Int
  ) -> NSFetchRequest<PoolJob> {
    let request = PoolJob.fetchRequest()
    request.predicate = NSCompoundPredicate(
      andPredicateWithSubpredicates: [
        member.map(claimed(by:)) ?? JobState.available.predicate, NSPredicate(format: "kind == %@", query.kind),
      ]
        + query.conditions + (stretch.map { [$0] } ?? []))
    request.sortDescriptors = [
      NSSortDescriptor(key: "priority", ascending: false), NSSortDescriptor(key: "objectID", ascending: true),
    ]
    request.fetchLimit = limit
    request.propertiesToFetch = [
      "state", "kind", "queue", "priority", "timeout", "limitKey", "createdAt", "runAt", "attempt", "crashes",
    ]
    request.includesPendingChanges = false
    return request
  }

  /// How many jobs of the same key may run at a time, for those of these jobs that set a limit. Their options are read
  /// apart: most jobs have no key, and options may be long.
  func limits(of jobs: [PoolJob], in context: NSManagedObjectContext) throws -> [Int64: Int] {
    guard !jobs.isEmpty else { return [:] }
    let request = NSFetchRequest<NSDictionary>(entityName: PoolJob.entityName)
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = [Self.objectID, "options"]
    request.predicate = NSPredicate(format: "self IN %@ AND options != nil", jobs.map(\.objectID))
    return try context.fetch(request).reduce(into: [:]) { limits, row in
      guard let key = (row["objectID"] as? NSManagedObjectID)?.key else { return }
      limits[key] = JobOptions(text: row["options"] as? String).limit
    }
  }

  private static var objectID: NSExpressionDescription {
    let column = NSExpressionDescription()
    column.name = "objectID"
    column.expression = NSExpression.expressionForEvaluatedObject()
    column.expressionResultType = .objectIDAttributeType
    return column
  }
}
