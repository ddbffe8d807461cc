import CoreData
import Foundation
import Jobs
import TestFiles
import Testing

@testable import WorkerPool

/// Pools at a server that wait for each other's locks.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct StoreMembershipTests {
  private let schema = "ring_\(UInt32.random(in: 0 ... .max))"

  /// Sessions of the server that look at a pool's lock.
  private func sessions(_ columns: String, waitingFor member: PoolMember) throws -> String {
    try PostgreSQLServer.shared.psql(
      """
      SELECT \(columns) FROM pg_stat_activity WHERE query = 'SELECT pg_try_advisory_lock(\(member.identity))'
      """
    ).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Waits until a number of sessions wait for a pool's lock.
  private func waitForSessions(_ count: Int, waitingFor member: PoolMember) throws {
    let end = Date(timeIntervalSinceNow: Double(TestLimit.seconds))
    while try sessions("count(*)", waitingFor: member) != "\(count)", Date() < end { poll(nil, 0, 5) }
    try #expect(sessions("count(*)", waitingFor: member) == "\(count)")
  }

  /// the ring            | the first pool
  /// --------------------+---------------------------------------------------
  /// first, third        | waits for the third one's lock; the wait fails
  /// first, second, third| waits for the second one's
  /// first, third        | waits for the third one's: the former wait is not begun again
  @Test(.timeLimit(.minutes(20))) func aWaitThatFailedTakesNoLaterOneAway() throws {
    let store = try JobStore(url: PostgreSQLServer.shared.url(schema: schema), model: NSManagedObjectModel())
    let pools = try (1...3).map { try StoreMembership(store, queue: "/\($0)") }
      .sorted { $0.member.identity < $1.member.identity }
    let members = pools.map(\.member)
    let ring = [members[0], members[2]]
    let events = Collected<StoreMembership.Event>()
    pools[0].start(schema) { events.add($0) }
    pools[0].watch(ring, gone: [])
    try waitForSessions(1, waitingFor: members[2])
    // Given a wait that has failed, and another one for the same pool.
    #expect(try sessions("pg_terminate_backend(pid)", waitingFor: members[2]) == "t")
    #expect(events.wait { $0.contains { if case .isDeaf = $0 { true } else { false } } })
    pools[0].watch(members, gone: [])
    pools[0].watch(ring, gone: [])
    // When the first one's pause is over.
    #expect(events.wait { $0.count { if case .membersChanged = $0 { true } else { false } } >= 2 })
    pools[0].watch(ring, gone: [])
    // Then the other one is still that of the pool, which ends it.
    pools[0].leave()
    try waitForSessions(0, waitingFor: members[2])
    for pool in pools { pool.leave() }
    try PostgreSQLServer.shared.psql("DROP SCHEMA IF EXISTS \(schema), \(schema)_wp CASCADE")
  }
}
