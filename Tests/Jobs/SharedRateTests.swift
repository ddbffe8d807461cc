import CoreData
import Foundation
import Synchronization
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

  /// Eight jobs each 19 ms are 421 in a second, and the rate allows 400. The pauses between them are shorter than a
  /// step, which is 20 ms.
  @Test func aSteadyFlowAboveTheRateGetsTheWholeRate() {
    let limit = JobRate(jobs: 1600, period: 4)
    var text = ""
    var starts: [Double] = []
    for turn in 0..<526 {
      let now = 1_795_858_900 + Double(turn) * 0.019
      var rate = SharedRate(limit, text, now: now)
      let count = min(8, rate.room)
      if count > 0 { rate.begin(count, at: now) }
      starts += Array(repeating: now, count: count)
      text = rate.text
    }
    // Ten seconds
    #expect(starts.count >= 3900, "\(starts.count)")
    let spans = zip(starts, starts.dropFirst(limit.jobs)).map { $1 - $0 }
    #expect(spans.allSatisfy { $0 >= limit.period - 1e-6 }, "no period has more than the rate allows")
    #expect(text.split(separator: "\n").count <= 201)
  }
}

/// The same with the pools of one store.
@Suite struct SharedRateClaimTests {
  /// A pool of the store.
  private struct Pool {
    let store: TemporaryJobStore
    let member = PoolMember(host: "host", pid: 1, queue: "queue")
    let rate: PoolRate

    init(_ store: TemporaryJobStore, _ rate: JobRate) throws {
      self.store = store
      self.rate = PoolRate(rate)
      // The store in a file has no pools' rows.
      if store.store.isShared { try store.insert(member) }
    }

    func claim(_ count: Int) throws -> ClaimResult {
      var rules = ClaimRules()
      rules.rate = rate
      return try store.claim(count, for: member.identity, rules: rules)
    }

    @discardableResult func tell() throws -> Bool {
      try store.perform { store, context in
        try store.tellBeginnings(rate, of: "a", for: member.identity, in: context)
      }
    }
  }

  /// Two pools of a new store with some jobs.
  private func open(_ kind: JobStoreKind, _ rate: JobRate, jobs: Int) throws -> (one: Pool, two: Pool) {
    let store = try TemporaryJobStore(kind)
    try store.insert(jobs: jobs)
    return (try Pool(store, rate), try Pool(store.openedAgain(), rate))
  }

  /// At a server only: two pools live there at the same time. That of a file takes any other one for dead.
  @Test(.enabled(if: PostgreSQLServer.isInstalled)) func allPoolsTogetherBeginNoMoreThanARate() throws {
    let (one, two) = try open(.server, JobRate(jobs: 6, period: 1000), jobs: 20)
    let first = try one.claim(4)
    let second = try two.claim(4)
    #expect(first.jobs.count == 4 && second.jobs.count == 2)
    // The pools have not heard of the beginnings, but the rows say that the jobs have run.
    try one.store.finish(first.jobs + second.jobs)
    let third = try one.claim(4)
    #expect(third.jobs.isEmpty)
    try two.tell()
    let last = try one.claim(4)
    #expect(last.jobs.isEmpty && last.retryAfter.map { $0 > 1 } == true)
    // The news come late, and change nothing.
    one.rate.begin(first.jobs.map(\.key))
    two.rate.begin(second.jobs.map(\.key))
    for pool in [one, two] { #expect(try pool.tell() == false) }
    let counts = try one.store.perform { _, context in
      try RateRow.lines(in: context).compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
    }
    #expect(counts.reduce(0, +) == 6)
  }

  /// A period passes between the claim and the beginning:
  ///
  ///     pool 1                  pool 2
  ///     claims two of two
  ///     (two periods)           claims none
  ///     one of them begins
  ///     gives the other back
  ///                             claims one
  ///
  /// At a server only, like the test above.
  @Test(.enabled(if: PostgreSQLServer.isInstalled)) func aClaimThatHasNotBegunHoldsItsPlace() throws {
    let period = 1000.0
    let (one, two) = try open(.server, JobRate(jobs: 2, period: period), jobs: 5)
    let jobs = try one.claim(2).jobs
    #expect(jobs.count == 2)
    try one.store.perform { _, context in try RateRow.age(by: 2 * period, in: context) }
    #expect(try two.claim(2).jobs.isEmpty)
    one.rate.begin([jobs[0].key])
    #expect(try one.tell(), "the other holds its place")
    #expect(try two.claim(2).jobs.isEmpty)
    _ = try one.store.perform { store, context in
      try store.releaseClaims(of: one.member.identity, keeping: [jobs[0].key], in: context)
    }
    #expect(try one.tell() == false)
    #expect(try two.claim(2).jobs.count == 1)
    #expect(try one.claim(2).jobs.map(\.key) == [jobs[0].key])
  }

  /// The clock is read after the row, whatever another pool writes meanwhile. A time that was read before the row would
  /// put pool 1's beginning back, and its place would be free too early:
  ///
  ///     pool 1                          pool 2
  ///                                     reads the clock: 50
  ///     tells a beginning at 100
  ///                                     claims: finds it, dated 100
  ///
  /// At a server only, like the tests above.
  @Test(.enabled(if: PostgreSQLServer.isInstalled))
  func aBeginningIsNeverDatedEarlierThanItWas() throws {
    let time = Mutex(50.0)
    let whenRead = Mutex<(@Sendable () -> Void)?>(nil)
    let clock: @Sendable () -> Date = {
      let read = time.withLock { $0 }
      whenRead.withLock { body in
        defer { body = nil }
        return body
      }?()
      return Date(timeIntervalSince1970: read)
    }
    let store = try TemporaryJobStore(.server)
    try store.insert(jobs: 5)
    let rate = JobRate(jobs: 3, period: 1000)
    let (one, two) = (try Pool(store.openedAgain(clock: clock), rate), try Pool(store.openedAgain(clock: clock), rate))
    let job = try #require(try one.claim(1).jobs.first)
    whenRead.withLock {
      $0 = {
        time.withLock { $0 = 100 }
        one.rate.begin([job.key])
        do { try one.tell() } catch { Issue.record(error) }
      }
    }
    #expect(try two.claim(1).jobs.count == 1)
    let lines = try store.perform { _, context in try RateRow.lines(in: context) }
    let begun = lines.filter { !$0.hasPrefix("held") }.compactMap { $0.split(separator: " ").first }
    // It is dated back to the moment before the turn that tells it.
    #expect(begun.count == 1 && begun.first.flatMap { Double($0) }.map { (90...100).contains($0) } == true)
  }

  /// A pool that is killed leaves places that nobody can ask about.
  @Test(arguments: JobStoreKind.allCases) func thePlacesOfADeadPoolCountAsBegun(kind: JobStoreKind) throws {
    let (one, two) = try open(kind, JobRate(jobs: 2, period: 1000), jobs: 5)
    #expect(try one.claim(1).jobs.count == 1)
    _ = try two.store.perform { store, context in try store.noteGone(one.member.identity, in: context) }
    #expect(try two.claim(2).jobs.count == 1)
    let lines = try two.store.perform { _, context in try RateRow.lines(in: context) }
    #expect(!lines.contains { $0.hasPrefix("held \(one.member.identity) ") })
  }
}
