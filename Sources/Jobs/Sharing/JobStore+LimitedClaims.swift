import CoreData
import WorkerProtocol

/// Claims of jobs that limits or rates hold back, over all pools.
///
/// Such claims are made in turns. A pool reads the row of the turn, counts what all pools have claimed, chooses jobs
/// for which there is room, and saves them together with the row. Of two pools that do so at the same time one saves;
/// the other's save fails as a merge conflict, and it begins again:
///
///     pool 1                    pool 2
///     reads turn 7              reads turn 7
///     counts 0 of 1             counts 0 of 1
///     saves job a, turn 8
///                               saves job b, turn 8: conflict
///                               reads turn 8, counts 1 of 1
extension JobStore {
  /// Seconds after which a pool asks again for jobs that a limit holds back.
  private static let pause = 0.1
  /// The longest such time for a rate.
  private static let longestPause = 5.0
  /// How many groups without room one claim passes over: the statement names each of them.
  private static let mostFull = 200

  /// Claims jobs for which all limits have room, in a turn. Saves, if it claims any or has news of the rate.
  ///
  /// - Parameters:
  ///   - limit: the most jobs that are claimed.
  ///   - condition: which jobs: suspects, or all others.
  /// - Returns: how many are claimed, and after how many seconds to ask again, if a limit or a rate holds jobs back.
  ///   After too many conflicts in a row none is claimed, and the next call tries again.
  func claimLimited(
    _ query: ReadyQuery, atMost limit: Int, for member: Int64, besides gone: [Int64], _ rules: ClaimRules,
    where condition: NSPredicate, in context: NSManagedObjectContext
  ) throws -> (count: Int, retryAfter: Double?) {
    guard limit > 0 else { return (0, nil) }
    do {
      return try retryingConflicts(in: context) {
        var claim = LimitedClaim(query, rules, besides: gone, condition)
        let count = try claim.run(self, atMost: limit, for: member, in: context)
        return (count: count, retryAfter: claim.retryAfter)
      }
    } catch is EndlessConflicts {
      return (0, Self.pause)
    }
  }

  /// One try of a claim. Everything is read after the turn's row, so what it decides by is at least as new as the row:
  /// if another pool has claimed anything since, the save fails.
  private struct LimitedClaim {
    private let query: ReadyQuery
    private let rules: ClaimRules
    private let gone: [Int64]
    private let condition: NSPredicate
    /// What all pools have claimed.
    private var ofKind = 0
    private var ofQueue: [String: Int] = [:]
    private var ofKey: [ExactText: Int] = [:]
    private var full: Set<JobGroup> = []
    private var chosen: [PoolJob] = []
    /// Whether a candidate was not chosen.
    private var hasPassedOver = false
    /// Set if a limit or a rate holds a job back.
    var retryAfter: Double?

    init(_ query: ReadyQuery, _ rules: ClaimRules, besides gone: [Int64], _ condition: NSPredicate) {
      self.query = query
      self.rules = rules
      self.gone = gone
      self.condition = condition
    }

    /// Reads, chooses and saves. Without a job, and without news of the rate, nothing is written, and the turn passes
    /// unused.
    mutating func run(
      _ store: JobStore, atMost limit: Int, for member: Int64, in context: NSManagedObjectContext
    ) throws -> Int {
      let turn = try PoolTurn.begin(PoolTurn.claims, in: context)
      try count(in: context)
      var room = limit
      var pause: Double?
      if let most = rules.limit, most - ofKind < room { (room, pause) = (most - ofKind, JobStore.pause) }
      var rateTurn = try rules.rate.map { try RateTurn($0, of: query.kind, for: member, store, in: context) }
      if let rateTurn, rateTurn.room < room {
        room = rateTurn.room
        pause = rateTurn.wait.map { max(0.005, min(JobStore.longestPause, $0)) } ?? JobStore.pause
      }
      if room > 0 { try choose(room, store, in: context) }
      if !full.isEmpty, chosen.count < room { pause = pause ?? JobStore.pause }
      // Without a job that waits nothing is asked again: the next job is announced.
      if let pause, try holdsBack(store, in: context) { retryAfter = pause }
      guard !chosen.isEmpty || rateTurn?.hasNews == true else {
        context.rollback()
        return 0
      }
      for job in chosen { job.claimant = member }
      if !chosen.isEmpty { turn.take() }
      rateTurn?.write(claiming: chosen.compactMap(\.objectID.key))
      try context.save()
      rateTurn?.saved()
      return chosen.count
    }

    /// Counts what all pools have claimed, by kind, queue and limit key, in one statement; claims of pools that are
    /// gone do not count.
    ///
    /// ```text
    /// SELECT t0."kind", t0."queue", t0."limitKey", COUNT(t0."state") FROM "pool_wp"."PoolJob" t0
    /// WHERE ((t0."claimant" IS NOT NULL) AND (t0."claimant" >= $1) AND (t0."claimant" <= $2)
    /// AND ((t0."state" + $3) = $4)) GROUP BY t0."kind", t0."queue", t0."limitKey"
    /// ```
    private mutating func count(in context: NSManagedObjectContext) throws {
      var conditions = [JobStore.isClaimed]
      if !gone.isEmpty {
        conditions.append(NSPredicate(format: "NOT claimant IN %@", gone.map { NSNumber(value: $0) }))
      }
      let request = PoolJob.counts(
        by: ["kind", "queue", "limitKey"], where: NSCompoundPredicate(andPredicateWithSubpredicates: conditions))
      for row in try context.fetch(request) {
        guard let count = (row["count"] as? NSNumber)?.intValue else { continue }
        if row["kind"] as? String == query.kind { ofKind += count }
        if let queue = row["queue"] as? String { ofQueue[queue, default: 0] += count }
        if let key = row["limitKey"] as? String { ofKey[ExactText(key), default: 0] += count }
      }
      guard let queueLimit = rules.queueLimit else { return }
      for (queue, count) in ofQueue where queueLimit(queue).map({ count >= $0 }) ?? false { full.insert(.queue(queue)) }
    }

    /// Chooses the best jobs whose groups have room. Groups that turn out to be full are left out of the next look, so
    /// a long row of jobs of one full queue is passed over by the index and not job by job.
    private mutating func choose(_ room: Int, _ store: JobStore, in context: NSManagedObjectContext) throws {
      var query = query
      while true {
        query.without.formUnion(full)
        let missingJobs = room - chosen.count
        // Sixteen more than are missing: some may be without room.
        let candidates = try store.candidates(
          query, condition, besides: gone, chosen, limit: missingJobs + 16, in: context)
        let limits = try store.limits(of: candidates.filter { $0.limitKey != nil }, in: context)
        let (fullBefore, chosenBefore) = (full.count, chosen.count)
        for job in candidates where chosen.count < room { take(job, limits[job.objectID.key ?? 0]) }
        if candidates.count > chosen.count - chosenBefore { hasPassedOver = true }
        let isDone = chosen.count == room || candidates.count < missingJobs + 16
        if isDone || full.count == fullBefore || full.count > JobStore.mostFull { break }
      }
    }

    /// Whether a job waits that was not chosen. The candidates of `choose` show it in most cases. There are
    /// none where the kind has no room, nor any of queues that were full before; then one row is read.
    private func holdsBack(_ store: JobStore, in context: NSManagedObjectContext) throws -> Bool {
      if hasPassedOver { return true }
      return try !store.candidates(query, condition, besides: gone, chosen, limit: 1, in: context).isEmpty
    }

    /// Takes one job, if its queue and its key have room, and counts it in both.
    private mutating func take(_ job: PoolJob, _ ownLimit: Int?) {
      if let most = rules.queueLimit?(job.queue), ofQueue[job.queue, default: 0] >= most {
        full.insert(.queue(job.queue))
        return
      }
      if let key = job.limitKey {
        guard ofKey[ExactText(key), default: 0] < ownLimit ?? rules.limitPerKey else {
          full.insert(.key(key))
          return
        }
        ofKey[ExactText(key), default: 0] += 1
      }
      ofQueue[job.queue, default: 0] += 1
      chosen.append(job)
    }
  }

  /// Ready jobs that no pool has claimed and that are not chosen yet, the best first.
  private func candidates(
    _ query: ReadyQuery, _ condition: NSPredicate, besides gone: [Int64], _ chosen: [PoolJob], limit: Int,
    in context: NSManagedObjectContext
  ) throws -> [PoolJob] {
    var jobs: [PoolJob] = []
    for stretch in stretches(of: query) where jobs.count < limit {
      let request = Self.readyRequest(query, where: stretch, limit: limit - jobs.count)
      var conditions = [request.predicate, Self.isFree(besides: gone), condition].compactMap(\.self)
      if !chosen.isEmpty { conditions.append(NSPredicate(format: "NOT self IN %@", chosen.map(\.objectID))) }
      request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: conditions)
      jobs += try context.fetch(request)
    }
    return jobs
  }
}
