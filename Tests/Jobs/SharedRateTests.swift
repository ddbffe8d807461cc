import CoreData
import Foundation
import TestFiles
import Testing
import WorkerProtocol

@testable import Jobs

/// A rate in a store that pools share: what one pool writes, the next one reads.
@Suite struct SharedRateTests {
  private static let rate = JobRate(jobs: 2, period: 10)
  private var text = ""

  private mutating func turn(at now: Double, _ body: (inout SharedRate) -> Void) {
    var rate = SharedRate(Self.rate, text, now: now)
    body(&rate)
    text = rate.text
  }

  private func room(at now: Double) -> Int { SharedRate(Self.rate, text, now: now).room }

  /// A job that was claimed at 0 begins at 9: for the ten seconds before 19 it counts.
  @Test mutating func aClaimHoldsItsPlaceUntilItBeginsAndIsDatedThen() {
    turn(at: 0) { $0.hold(2, for: 1) }
    #expect(room(at: 0) == 0 && room(at: 1000) == 0, "both may begin at any time")
    #expect(SharedRate(Self.rate, text, now: 11).wait(now: 11) == nil)
    turn(at: 9.2) {
      $0.begin(1, at: 9)
      $0.hold(1, for: 1)
    }
    #expect(room(at: 18.9) == 0 && room(at: 19) == 1)
    #expect(SharedRate(Self.rate, text, now: 17).wait(now: 17) == 2)
    turn(at: 9.5) { $0.hold(0, for: 1) }
    #expect(room(at: 9.5) == 1, "the other is given back")
  }

  /// Nobody can ask a dead pool.
  @Test mutating func whatADeadPoolHeldCountsAsBegun() {
    turn(at: 0) {
      $0.hold(1, for: 1)
      $0.hold(1, for: 2)
    }
    turn(at: 5) { $0.beginAll(of: 1, now: 5) }
    #expect(room(at: 14.9) == 0 && room(at: 15) == 1)
  }
}

/// The same with two pools and a server.
@Suite(.enabled(if: PostgreSQLServer.isInstalled))
struct SharedRateClaimTests {
  private let schema = "rates_\(UInt32.random(in: 0 ... .max))"
  private let kind = "a"

  /// A pool of the store.
  private struct Pool {
    let store: JobStore
    let member: PoolMember
    let rate: PoolRate

    func perform<T>(_ body: (NSManagedObjectContext) throws -> T) throws -> T {
      let context = store.makeContext(name: "test")
      return try context.performAndWait { try body(context) }
    }

    func claim(_ count: Int) throws -> ClaimResult {
      var rules = ClaimRules()
      rules.rate = rate
      return try perform { context in
        try store.claimReady(
          ReadyQuery(kind: "a", limit: 10_000, claims: count), for: member.identity, besides: [], rules: rules,
          in: context)
      }
    }

    func finish(_ jobs: [JobSummary]) throws {
      try perform { context in
        for job in try store.jobs(keys: jobs.map(\.key), in: context) { try job.markSucceeded(startedAt: Date()) }
        try context.save()
      }
    }

    @discardableResult func tell() throws -> Bool {
      try perform { try store.tellBeginnings(rate, of: "a", for: member.identity, in: $0) }
    }
  }

  private func open(_ rate: JobRate) throws -> Pool {
    let url = PostgreSQLServer.shared.url(schema: schema)
    let store = try JobStore(url: url, model: NoteModel.make())
    let pool = Pool(store: store, member: PoolMember(host: "host", pid: 1, queue: "queue"), rate: PoolRate(rate))
    try pool.perform { context in
      store.insert(pool.member, into: context)
      try context.save()
    }
    return pool
  }

  private func insert(_ count: Int, into pool: Pool) throws {
    try pool.perform { context in
      try pool.store.insert((0..<count).map { _ in request { _ in } }, into: context)
      try context.save()
    }
  }

  @Test func allPoolsTogetherBeginNoMoreThanARate() throws {
    let pools = try (0..<2).map { _ in try open(JobRate(jobs: 6, period: 1000)) }
    try insert(20, into: pools[0])
    let first = try pools[0].claim(4)
    let second = try pools[1].claim(4)
    #expect(first.jobs.count == 4 && second.jobs.count == 2)
    // The pools have not heard of the beginnings, but the rows say that the jobs have run.
    try pools[0].finish(first.jobs + second.jobs)
    let third = try pools[0].claim(4)
    #expect(third.jobs.isEmpty)
    try pools[1].tell()
    let last = try pools[0].claim(4)
    #expect(last.jobs.isEmpty && last.retryAfter.map { $0 > 1 } == true)
    // The news come late, and change nothing.
    pools[0].rate.begin(first.jobs.map(\.key))
    pools[1].rate.begin(second.jobs.map(\.key))
    for pool in pools { #expect(try pool.tell() == false) }
    #expect(try PostgreSQLServer.shared.psql(turnText).split(separator: "\n").compactMap(count).reduce(0, +) == 6)
  }

  private var turnText: String { #"SELECT text FROM \#(schema)_wp."PoolTurn" WHERE name = 'rate a'"# }

  /// The count of a line of the turn's text.
  private func count(_ line: Substring) -> Int? { line.split(separator: " ").last.flatMap { Int($0) } }

  /// A period passes between the claim and the beginning:
  ///
  ///     pool 1                  pool 2
  ///     claims two of two
  ///     (two periods)           claims none
  ///     one of them begins
  ///     gives the other back
  ///                             claims one
  @Test func aClaimThatHasNotBegunHoldsItsPlace() throws {
    let period = 1000.0
    let (one, two) = (try open(JobRate(jobs: 2, period: period)), try open(JobRate(jobs: 2, period: period)))
    try insert(5, into: one)
    let jobs = try one.claim(2).jobs
    #expect(jobs.count == 2)
    try age(by: 2 * period)
    #expect(try two.claim(2).jobs.isEmpty)
    one.rate.begin([jobs[0].key])
    #expect(try one.tell(), "the other holds its place")
    #expect(try two.claim(2).jobs.isEmpty)
    _ = try one.perform { context in
      try one.store.releaseClaims(of: one.member.identity, keeping: [jobs[0].key], in: context)
    }
    #expect(try one.tell() == false)
    #expect(try two.claim(2).jobs.count == 1)
    #expect(try one.claim(2).jobs.map(\.key) == [jobs[0].key])
  }

  /// Puts all times in the row of the turn back.
  private func age(by seconds: Double) throws {
    let text = try PostgreSQLServer.shared.psql(turnText)
    let older = text.split(separator: "\n").map { line -> String in
      let parts = line.split(separator: " ")
      guard parts.count == 2, let time = Double(parts[0]) else { return String(line) }
      return "\(time - seconds) \(parts[1])"
    }
    let new = older.joined(separator: "\n")
    try PostgreSQLServer.shared.psql(
      #"UPDATE \#(schema)_wp."PoolTurn" SET text = '\#(new)' WHERE name = 'rate a'"#)
  }

  /// A pool that is killed leaves places that nobody can ask about.
  @Test func thePlacesOfADeadPoolCountAsBegun() throws {
    let (one, two) = (try open(JobRate(jobs: 2, period: 1000)), try open(JobRate(jobs: 2, period: 1000)))
    try insert(5, into: one)
    #expect(try one.claim(1).jobs.count == 1)
    _ = try two.perform { try two.store.noteGone(one.member.identity, in: $0) }
    #expect(try two.claim(2).jobs.count == 1)
    #expect(try PostgreSQLServer.shared.psql(turnText).contains("held \(one.member.identity)") == false)
  }
}
