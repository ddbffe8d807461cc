import CoreData
import Foundation
import Jobs

/// What pools and their workers do with jobs of the kind `a`. Each call has a context of its own and saves.
extension TemporaryJobStore {
  func insert(_ requests: [JobRequest]) throws {
    try perform { store, context in
      try store.insert(requests, into: context)
      try context.save()
    }
  }

  /// Inserts jobs of three priorities in turn.
  func insert(jobs count: Int) throws {
    try insert((0..<count).map { number in request { $0.priority = Int16(number % 3) } })
  }

  func insert(_ member: PoolMember) throws {
    try perform { store, context in
      store.insert(member, into: context)
      try context.save()
    }
  }

  /// Claims jobs for a pool: at most `count`.
  func claim(
    _ count: Int, for member: Int64, besides gone: [Int64] = [], rules: ClaimRules = ClaimRules()
  ) throws -> ClaimResult {
    try perform { store, context in
      let query = ReadyQuery(kind: "a", limit: 10_000, claims: count)
      return try store.claimReady(query, for: member, besides: gone, rules: rules, in: context)
    }
  }

  func finish(_ jobs: [JobSummary]) throws {
    try perform { store, context in
      for job in try store.jobs(keys: jobs.map(\.key), in: context) { try job.markSucceeded(startedAt: Date()) }
      try context.save()
    }
  }

  /// A pool has died with what it had claimed.
  ///
  /// - Returns: the keys of the jobs that get the blame.
  @discardableResult
  func returnClaims(ofDead member: Int64) throws -> [Int64] {
    try perform { store, context in
      try store.returnClaims(
        ofDead: member, policy: { _ in RetryPolicy() },
        failure: { AttemptFailure(attempt: $0.attemptNumber, date: Date(), type: "host", message: "died") },
        in: context)
    }
  }

  /// Writes a value into the rows of jobs as another program does, past the functions that change jobs.
  ///
  /// - Parameter keys: the jobs; nil for all.
  func overwrite(_ attribute: String, with value: Any, of keys: [Int64]? = nil) throws {
    try perform { store, context in
      let update = NSBatchUpdateRequest(entityName: PoolJob.entityName)
      update.predicate = keys.map { NSPredicate(format: "self IN %@", $0.compactMap(store.objectID(job:))) }
      update.propertiesToUpdate = [attribute: value]
      _ = try context.execute(update)
    }
  }
}
