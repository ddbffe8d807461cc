import CoreData

/// Jobs that wait for something that does not come by itself.
public struct StuckJobs: Codable, Equatable, Sendable {
  /// The URIs of the jobs, at most ten; those of a cycle in its order: each waits for the next, and the last for the
  /// first.
  public var jobs: [String]
  /// The batches of the jobs of a cycle, in the same order; empty for a job without one.
  public var batches: [String]?
  /// The batch without jobs for whose first job they wait; nil for a cycle.
  public var batch: String?
  /// The batch that was probably meant.
  public var nearest: String?

  package init(jobs: [String], batches: [String]? = nil, batch: String? = nil, nearest: String? = nil) {
    self.jobs = jobs
    self.batches = batches
    self.batch = batch
    self.nearest = nearest
  }
}

extension JobStore {
  /// Rows of waiting jobs that are read in search of cycles, and cycles and batches that are named.
  private static let mostWaits = 10_000
  private static let mostStuck = 10

  /// Jobs that wait for each other, and jobs that wait for a batch without jobs; at most ten of each.
  ///
  /// ```text
  /// PoolWait: 17 → 18, 18 → 19, 19 → 17, 20 → 17      a cycle of 17, 18 and 19; 20 only waits for it
  /// ```
  ///
  /// A job names one other in its row, and not all that it waits for, so a cycle may be seen a moment late: when each
  /// of its jobs waits for the next one of it.
  ///
  /// - Complexity: reads one row for each blocked job, at most 10,000.
  public func stuckJobs(in context: NSManagedObjectContext) throws -> [StuckJobs] {
    let request = NSFetchRequest<NSDictionary>(entityName: "PoolWait")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["job", "blocker"]
    request.fetchLimit = Self.mostWaits
    var blockers: [Int64: Int64] = [:]
    for row in try context.fetch(request) {
      guard let job = row["job"] as? NSNumber, let blocker = row["blocker"] as? NSNumber else { continue }
      blockers[job.int64Value] = blocker.int64Value
    }
    if blockers.isEmpty { return [] }
    return try cycles(in: blockers).prefix(Self.mostStuck).compactMap { try stuck(in: $0, context) }
      + batchesAwaited(in: context).prefix(Self.mostStuck).compactMap { try stuck(without: $0, context) }
  }

  /// A cycle, with its jobs' batches. Nil if one of them is not there any more.
  private func stuck(in cycle: [Int64], _ context: NSManagedObjectContext) throws -> StuckJobs? {
    let batches = Dictionary(
      try jobs(keys: cycle, in: context).map { ($0.objectID.key ?? 0, $0.batch ?? "") },
      uniquingKeysWith: { first, _ in first })
    // One that was cancelled meanwhile ends the cycle.
    guard batches.count == cycle.count else { return nil }
    let shown = cycle.prefix(Self.mostStuck)
    return StuckJobs(jobs: jobURIs.texts(Array(shown)), batches: shown.map { batches[$0] ?? "" })
  }

  /// Jobs that wait for a batch without jobs, with the batch that was probably meant.
  private func stuck(without number: Int64, _ context: NSManagedObjectContext) throws -> StuckJobs? {
    let jobs = try waiting(for: number, limit: Self.mostStuck, in: context)
    guard let batch = jobs.first?.options.afterBatch else { return nil }
    return StuckJobs(
      jobs: jobs.map(\.objectID.uriString), batch: batch,
      nearest: try Self.unknownName(.batch, batch, in: context)?.nearest)
  }

  /// The cycles among jobs each of which waits for one other: each cycle once, beginning with its oldest job.
  ///
  /// Each job has one way out, so a walk from any job ends, or comes back to a job of the walk: then the rest of the
  /// walk is a cycle. Each job is walked over once.
  func cycles(in blockers: [Int64: Int64]) -> [[Int64]] {
    var checked: Set<Int64> = []
    var cycles: [[Int64]] = []
    for start in blockers.keys.sorted() where !checked.contains(start) {
      var path: [Int64] = []
      var places: [Int64: Int] = [:]
      var next: Int64? = start
      while let job = next, checked.insert(job).inserted {
        places[job] = path.count
        path.append(job)
        next = blockers[job]
      }
      if let job = next, let first = places[job] { cycles.append(Array(path[first...])) }
    }
    return cycles.map { cycle in
      let first = cycle.indices.min { cycle[$0] < cycle[$1] } ?? 0
      return Array(cycle[first...] + cycle[..<first])
    }
  }
}
