import Foundation
import Jobs
import Synchronization
import TestFiles
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL

/// Which indexes a server reads for claims and to delete old jobs, whatever it knows of a backlog.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct ClaimPlanTests {
  private static let backlog = 30_000

  /// Which jobs the server has counted.
  enum Statistics: CaseIterable {
    case none, finishedJobs, allJobs
  }

  /// The plans of all statements that read or change jobs: for their parameters, and for any.
  private final class Plans: Sendable {
    private let plans = Mutex<[String]>([])

    func note(_ sql: String, _ parameters: ServerParameters, _ connection: any ServerConnection) throws {
      guard sql.contains(#""PoolJob" "#), sql.hasPrefix("SELECT") || sql.hasPrefix("UPDATE") else { return }
      try add("EXPLAIN \(sql)", parameters, of: sql, connection)
      // Statements that are run often get a plan that holds for all parameters. Types of arrays are not inferred.
      guard !sql.contains("unnest(") else { return }
      try connection.run("SET plan_cache_mode = force_generic_plan; PREPARE often AS \(sql)")
      let values = repeatElement("NULL", count: parameters.count).joined(separator: ", ")
      let execution = parameters.count > 0 ? "often (\(values))" : "often"
      try add("EXPLAIN EXECUTE \(execution)", ServerParameters(), of: sql, connection)
      try connection.run("DEALLOCATE often; RESET plan_cache_mode")
    }

    private func add(
      _ explain: String, _ parameters: ServerParameters, of sql: String, _ connection: any ServerConnection
    ) throws {
      let rows = try connection.execute(explain, parameters)
      let lines = (0..<rows.rowCount).compactMap { rows.text($0, 0) }
      plans.withLock { $0.append(([sql] + lines).joined(separator: "\n")) }
    }

    var all: [String] { plans.withLock { $0 } }
  }

  /// Statements that would read the whole backlog: all rows of the table, or all ready jobs to sort or filter them.
  @Test(arguments: Statistics.allCases) func aClaimReadsTheFirstRowsOfAnIndex(statistics: Statistics) throws {
    let (server, plans) = (PostgreSQLServer.shared, Plans())
    let name = "backlog_\(UInt32.random(in: 0 ... .max))"
    WatchedConnection.watch(name) { try plans.note($1, $2, $0) }
    defer {
      WatchedConnection.forget(name)
      _ = try? server.psql("DROP SCHEMA IF EXISTS \(name), \(name)_wp CASCADE")
    }
    let url = try #require(URL(string: "\(server.address())&application_name=\(name)&schema=\(name)"))
    let store = try JobStore(url: url, model: NSManagedObjectModel())
    let jobs = #"\#(name)_wp."PoolJob""#
    // Another program has finished as many jobs.
    try server.psql(
      """
      ALTER TABLE \(jobs) SET (autovacuum_enabled = off); \
      INSERT INTO \(jobs) (_entity, state, kind, priority, queue, "createdAt", "finishedAt", attempt, crashes, \
      "progressDone", "progressTotal") \
      SELECT 2, 3, 'a', 0, 'default', now(), now(), 1, 0, 0, 0 FROM generate_series(1, \(Self.backlog)); \
      \(statistics == .finishedJobs ? "ANALYZE \(jobs);" : "") \
      INSERT INTO \(jobs) (_entity, state, kind, priority, queue, "createdAt", attempt, crashes, \
      "progressDone", "progressTotal") \
      SELECT 2, 0, 'a', 0, 'default', now(), 0, 0, 0, 0 FROM generate_series(1, \(Self.backlog)); \
      \(statistics == .allJobs ? "ANALYZE \(jobs)" : "")
      """)
    let context = store.makeContext(name: "test")
    try context.performAndWait {
      let query = ReadyQuery(kind: "a", limit: 1000, claims: 10)
      for round in 1...7 {
        #expect(try store.claimReady(query, for: 5, besides: [3, 4], in: context).jobs.count == 10 * round)
      }
      var rules = ClaimRules()
      rules.limit = 200
      #expect(try store.claimReady(query, for: 6, besides: [3, 4], rules: rules, in: context).jobs.count == 10)
      #expect(try store.releaseClaims(of: 5, kinds: ["a"], in: context) == 70)
      let blamed = try store.returnClaims(
        ofDead: 6, policy: { _ in RetryPolicy() }, failure: { _ in fatalError("no job is a suspect") }, in: context)
      #expect(blamed == [])
      try store.forgetGoneMembers(in: context)
      #expect(try !store.hasDependents(in: context) && store.adoptPending(in: context).count == 0)
      let retention = JobRetention(finished: 3600, dead: 3600, count: Self.backlog - 2000)
      #expect(try JobPruning(retention, in: store).deleteNext(limit: 500, in: context) == 500)
    }
    #expect(plans.all.count > 20)
    // How many there are is counted, and if they are too many, which ones is found out, once in a pass.
    func isOncePerPass(_ plan: String) -> Bool {
      plan.hasPrefix("SELECT count(") || plan.contains(#"(t0."state" <= $1)"#)
    }
    #expect(plans.all.count(where: isOncePerPass) == 4)
    let readAll = plans.all.filter { !isOncePerPass($0) }.filter { plan in
      plan.contains(#"Seq Scan on "PoolJob""#) || plan.contains(#"Bitmap Index Scan on "PoolJob_state_"#)
        || (plan.contains(#"using "PoolJob_state_"#) && (plan.contains("Sort") || !plan.contains("Limit")))
        || (plan.contains(#"using "PoolJob_state_"#) && plan.contains(#"t0."claimant" = "#))
    }
    #expect(readAll.isEmpty, "\(readAll.joined(separator: "\n\n"))")
  }
}
