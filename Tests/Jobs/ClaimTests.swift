import CoreData
import Foundation
import Jobs
import Synchronization
import TestFiles
import WorkerProtocol
import Testing

/// Pools that share a store at a server claim the jobs that they hand out.
@Suite(.enabled(if: PostgreSQLServer.isInstalled))
struct ClaimTests {
  private let schema = "claims_\(UInt32.random(in: 0 ... .max))"
  private var url: URL { PostgreSQLServer.shared.url(schema: schema) }

  private func table(_ entity: String) -> String { #"\#(schema)_wp."\#(entity)""# }

  private func open() throws -> JobStore { try JobStore(url: url, model: NoteModel.make()) }

  private func perform<T>(
    _ store: JobStore, _ body: (JobStore, NSManagedObjectContext) throws -> T
  ) throws -> T {
    let context = store.makeContext(name: "test")
    return try context.performAndWait { try body(store, context) }
  }

  private func insert(_ count: Int, into store: JobStore) throws {
    try perform(store) { store, context in
      let requests = (0..<count).map { number in request { $0.priority = Int16(number % 3) } }
      try store.insert(requests, into: context)
      try context.save()
    }
  }

  private func claim(
    _ count: Int, for member: Int64, besides gone: [Int64] = [], in store: JobStore
  ) throws -> [JobSummary] {
    try perform(store) { store, context in
      let query = ReadyQuery(kind: "a", limit: 10_000, claims: count)
      return try store.claimReady(query, for: member, besides: gone, in: context).jobs
    }
  }

  @Test func aClaimTakesTheBestJobsFirst() throws {
    let store = try open()
    try insert(30, into: store)
    let jobs = try claim(12, for: 1, in: store)
    #expect(jobs.count == 12)
    #expect(jobs.prefix(10).allSatisfy { $0.priority == 2 } && jobs.suffix(2).allSatisfy { $0.priority == 1 })
    #expect(zip(jobs, jobs.dropFirst()).allSatisfy { $0.priority != $1.priority || $0.key < $1.key })
    // What was claimed before is returned again.
    #expect(try claim(0, for: 1, in: store) == jobs)
    #expect(try claim(100, for: 2, in: store).count == 18)
  }

  @Test func noJobIsClaimedTwiceAtTheSameTime() throws {
    let stores = try (0..<4).map { _ in try open() }
    try insert(400, into: stores[0])
    let claimed = Mutex<[Int64]>([])
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { index in
      do {
        for _ in 0..<20 { _ = try claim(7, for: Int64(index + 1), in: stores[index]) }
        let mine = try claim(0, for: Int64(index + 1), in: stores[index])
        claimed.withLock { $0 += mine.map(\.key) }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    let keys = claimed.withLock { $0 }
    #expect(keys.count == 400 && Set(keys).count == 400)
  }

  /// A worker of a dead pool saves late:
  ///
  ///     worker of pool 1        pool 2
  ///     reads the job
  ///                             pool 1 is gone: claims the job
  ///     saves: conflict
  @Test func aLateSaveOfAGonePoolsWorkerFails() throws {
    let (one, two) = (try open(), try open())
    try insert(1, into: one)
    let key = try #require(claim(1, for: 1, in: one).first?.key)
    let late = one.makeContext(name: "worker")
    try late.performAndWait {
      let job = try #require(try one.jobs(keys: [key], in: late).first)
      try job.markSucceeded(startedAt: Date())
    }
    #expect(try claim(1, for: 2, in: two).isEmpty)
    #expect(try claim(1, for: 2, besides: [1], in: two).map(\.key) == [key])
    let code = late.performAndWait { () -> Int? in
      do { try late.save() } catch { return (error as NSError).code }
      return nil
    }
    #expect(code == NSManagedObjectMergeError)
  }

  private func claim(
    _ count: Int, for member: Int64, rules: ClaimRules, in store: JobStore
  ) throws -> ClaimResult {
    try perform(store) { store, context in
      try store.claimReady(
        ReadyQuery(kind: "a", limit: 10_000, claims: count), for: member, besides: [], rules: rules, in: context)
    }
  }

  private func finish(_ jobs: [JobSummary], in store: JobStore) throws {
    try perform(store) { store, context in
      for job in try store.jobs(keys: jobs.map(\.key), in: context) { try job.markSucceeded(startedAt: Date()) }
      try context.save()
    }
  }

  /// Four pools claim at the same time; each look finds no more claims than the limit.
  @Test func allPoolsTogetherClaimNoMoreThanALimit() throws {
    let stores = try (0..<4).map { _ in try open() }
    try insert(40, into: stores[0])
    var rules = ClaimRules()
    rules.limit = 3
    let fixed = rules
    let failures = Mutex<[String]>([])
    let done = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: 4) { index in
      do {
        while done.withLock({ $0 < 40 }) {
          let mine = try claim(2, for: Int64(index + 1), rules: fixed, in: stores[index]).jobs
          let all = try perform(stores[index]) { _, context in
            let request = PoolJob.fetchRequest()
            request.predicate = NSPredicate(format: "finishedAt == nil AND claimant != nil")
            return try context.count(for: request)
          }
          if all > 3 { failures.withLock { $0.append("\(all) are claimed") } }
          try finish(mine, in: stores[index])
          done.withLock { $0 += mine.count }
        }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(done.withLock { $0 } == 40)
  }

  @Test func aFullLimitSaysWhenToAskAgain() throws {
    let store = try open()
    try insert(5, into: store)
    var rules = ClaimRules()
    rules.limit = 2
    let first = try claim(5, for: 1, rules: rules, in: store)
    #expect(first.jobs.count == 2)
    let second = try claim(5, for: 2, rules: rules, in: store)
    #expect(second.jobs.isEmpty && second.retryAfter != nil)
    try finish([first.jobs[0]], in: store)
    #expect(try claim(5, for: 2, rules: rules, in: store).jobs.count == 1)
  }

  @Test func jobsOfAKeyAreClaimedOneByOneBesideOthers() throws {
    let store = try open()
    try perform(store) { store, context in
      let keyed = (0..<40).map { _ in
        request {
          $0.limitKey = "disk"
          $0.priority = 5
        }
      }
      try store.insert(keyed + [request { _ in }, request { $0.limitKey = "net" }], into: context)
      try context.save()
    }
    let claimed = try claim(10, for: 1, in: store)
    #expect(claimed.count == 3 && Set(claimed.map(\.limitKey)) == [nil, "disk", "net"])
    #expect(try claim(10, for: 2, in: store).isEmpty)
    try finish(claimed, in: store)
    #expect(try claim(10, for: 2, in: store).map(\.limitKey) == ["disk"])
  }

  @Test func whatNobodyHasBegunIsGivenBack() throws {
    let store = try open()
    try insert(6, into: store)
    let jobs = try claim(6, for: 1, in: store)
    let released = try perform(store) { store, context in
      try store.releaseClaims(of: 1, kinds: ["a"], keeping: jobs.prefix(2).map(\.key), in: context)
    }
    #expect(released == 4)
    #expect(Set(try claim(10, for: 2, in: store).map(\.key)) == Set(jobs.suffix(4).map(\.key)))
  }

  /// The first two deaths say little of a job. Then it runs alone among such jobs, and gets the blame for the third.
  @Test func aJobThatDiesWithPoolAfterPoolIsSetAside() throws {
    let store = try open()
    try insert(3, into: store)
    func die(_ member: Int64) throws -> [Int64] {
      try perform(store) { store, context in
        try store.returnClaims(
          ofDead: member, policy: { _ in RetryPolicy() },
          failure: { AttemptFailure(attempt: $0.attemptNumber, date: Date(), type: "host", message: "died") },
          in: context)
      }
    }
    for member in [1, 2] as [Int64] {
      #expect(try claim(3, for: member, in: store).count == 3)
      #expect(try die(member) == [])
    }
    let alone = try claim(3, for: 3, in: store)
    #expect(alone.count == 1)
    #expect(try claim(3, for: 3, in: store) == alone)
    #expect(try claim(3, for: 4, in: store).count == 1)
    #expect(try die(3) == alone.map(\.key))
    try perform(store) { store, context in
      let job = try #require(try store.jobs(keys: alone.map(\.key), in: context).first)
      #expect(job.state == .dead && job.crashes == 3 && job.attempt == 0)
    }
  }

  /// Another program, or a version before this one, inserts jobs with a zero. So does a person with psql, or with none.
  @Test(arguments: ["NULL", "0", "-7", "1"]) func aJobWithoutTwoDeathsIsClaimedWithTheOthers(deaths: String) throws {
    let store = try open()
    try insert(3, into: store)
    try PostgreSQLServer.shared.psql(#"UPDATE \#(table("PoolJob")) SET "hostDeaths" = \#(deaths)"#)
    #expect(try claim(3, for: 1, in: store).count == 3)
    try perform(store) { store, context in try die(1, store, context) }
    let counts = try PostgreSQLServer.shared.psql(#"SELECT DISTINCT "hostDeaths" FROM \#(table("PoolJob"))"#)
    #expect(counts == (deaths == "1" ? "2" : "1"))
  }

  /// A person has written numbers that no pool writes.
  @Test(arguments: ["hostDeaths", "attempt", "crashes"], [70_000, Int64.max])
  func aNumberOutOfRangeStopsNoClaims(column: String, number: Int64) throws {
    let store = try open()
    try insert(3, into: store)
    let first = try #require(claim(1, for: 1, in: store).first?.key)
    try perform(store) { store, context in _ = try store.releaseClaims(of: 1, in: context) }
    try PostgreSQLServer.shared.psql(
      #"UPDATE \#(table("PoolJob")) SET "\#(column)" = \#(number) WHERE _key = \#(first)"#)
    // Claims with a limit and without one.
    var rules = ClaimRules()
    rules.limit = 10
    for rules in [ClaimRules(), rules] {
      let query = ReadyQuery(kind: "a", limit: 10, claims: 10)
      let claimed = try perform(store) { store, context in
        try store.claimReady(query, for: 2, besides: [], rules: rules, in: context).jobs
      }
      #expect(claimed.count == 3)
      let released = try perform(store) { store, context in try store.releaseClaims(of: 2, in: context) }
      #expect(released == 3)
    }
    // Its pool dies, and its job is dead after a few crashes.
    for member in [3, 4, 5] as [Int64] {
      let keys = try claim(3, for: member, in: store).map(\.key)
      #expect(keys.contains(first) || member > 3)
      try perform(store) { store, context in try die(member, store, context) }
    }
    try perform(store) { store, context in
      let job = try #require(try store.jobs(keys: [first], in: context).first)
      if job.state == .available { try job.markCrashed(failure, policy: RetryPolicy()) }
      try context.save()
      #expect(job.state == .dead || column == "attempt")
      #expect(job.crashes >= 1)
    }
  }

  private var failure: AttemptFailure { AttemptFailure(attempt: 1, date: Date(), type: "host", message: "died") }

  private func die(_ member: Int64, _ store: JobStore, _ context: NSManagedObjectContext) throws {
    _ = try store.returnClaims(ofDead: member, policy: { _ in RetryPolicy() }, failure: { _ in failure }, in: context)
  }

  /// A server has restarted, and a pool comes back before or after another one has taken it for dead.
  @Test func aPoolThatComesBackHasNotDied() throws {
    let store = try open()
    try insert(3, into: store)
    for round in 0..<6 {
      let member = PoolMember(host: "h", pid: 1, queue: "/q")
      try perform(store) { store, context in
        store.insert(member, into: context)
        try context.save()
      }
      let jobs = try claim(3, for: member.identity, in: store)
      #expect(jobs.count == 3, "round \(round)")
      try perform(store) { store, context in
        if round % 2 == 0 {
          #expect(try store.noteGone(member.identity, in: context))
          _ = try store.returnClaims(
            ofDead: member.identity, policy: { _ in RetryPolicy() },
            failure: { AttemptFailure(attempt: $0.attemptNumber, date: Date(), type: "host", message: "died") },
            in: context)
        }
        try store.takeBack(claimsOf: member.identity, jobs.map(\.key), in: context)
        context.reset()
        let rows = try store.jobs(keys: jobs.map(\.key), in: context)
        #expect(rows.allSatisfy { ($0.hostDeaths ?? 0) == 0 && $0.claimant == nil })
      }
    }
  }

  @Test func twoPausesAtTheSameTimeBothHold() throws {
    let (one, two) = (try open(), try open())
    var (mails, imports) = (JobPauses(), JobPauses())
    mails.queues = ["mail"]
    imports.kinds = ["import"]
    try perform(one) { one, context in
      _ = try one.changePauses(from: JobPauses(), to: mails, in: context)
    }
    let now = try perform(two) { two, context in
      try two.changePauses(from: JobPauses(), to: imports, in: context)
    }
    #expect(now.queues == ["mail"] && now.kinds == ["import"])
  }

  @Test func aPoolHearsWhatAnotherTellsItOnce() throws {
    let store = try open()
    try perform(store) { store, context in
      try store.send(PoolNotice(sender: 1, ticket: 7, text: "one"), to: [2, 3], in: context)
      try store.send(PoolNotice(sender: 1, ticket: 8, isReply: true, text: "two"), to: [2], in: context)
      #expect(try store.takeNotices(for: 2, in: context).map(\.text) == ["one", "two"])
      #expect(try store.takeNotices(for: 2, in: context) == [])
      #expect(try store.takeNotices(for: 3, in: context).map(\.ticket) == [7])
    }
  }

  /// Two pools that both take themselves for the leader do one thing at the same time:
  ///
  ///     one                       two
  ///     makes the job available
  ///                               makes the job available
  ///     saves
  ///                               saves: conflict
  @Test func ofTwoLeadersOneMakesADueJobAvailableAndFiresAnEntry() throws {
    let (one, two) = (try open(), try open())
    let now = Date()
    let entry = PeriodicEntry(name: "tick", cron: try CronExpression("* * * * *"), job: request("a"))
    try perform(one) { store, context in
      try store.insert([request { $0.runAt = now + 60 }], into: context)
      _ = try store.insertPeriodic([entry], at: now, into: context)
      try context.save()
    }
    func lead(_ body: (JobStore, NSManagedObjectContext) throws -> Int) throws -> Int {
      try perform(one) { one, first in
        #expect(try body(one, first) == 1)
        return try perform(two) { two, second in
          #expect(try body(two, second) == 1)
          try first.performAndWait { try first.save() }
          do { try second.save() } catch { return (error as NSError).code }
          return 0
        }
      }
    }
    let promoted = try lead { try $0.promoteDue(at: now + 120, in: $1).count }
    let fired = try lead { try $0.insertPeriodic([entry], at: now + 61, into: $1).jobs.count }
    #expect(promoted == NSManagedObjectMergeError && fired == NSManagedObjectMergeError)
    #expect(try claim(10, for: 1, in: one).count == 2)
  }

  @Test func aPoolThatIsGoneIsNotAMember() throws {
    let store = try open()
    let member = PoolMember(host: "here", pid: 1, queue: "/queue")
    try perform(store) { store, context in
      store.insert(member, into: context)
      try context.save()
      #expect(try store.members(in: context).map(\.identity) == [member.identity])
      #expect(try store.noteGone(member.identity, in: context))
      #expect(try !store.noteGone(member.identity, in: context))
      #expect(try store.members(in: context).isEmpty)
      #expect(try store.goneMembers(in: context) == [member.identity])
    }
  }

  /// A pool that stands still for longer than the others remember it may claim jobs before it hears of its end.
  @Test func claimsOfAForgottenPoolAreGivenBack() throws {
    let store = try open()
    try insert(3, into: store)
    let member = PoolMember(host: "a", pid: 1, queue: "/q")
    try perform(store) { store, context in
      store.insert(member, into: context)
      try context.save()
    }
    #expect(try claim(1, for: member.identity, in: store).count == 1)
    #expect(try claim(1, for: 77, in: store).count == 1)
    try perform(store) { try $0.forgetGoneMembers(in: $1) }
    #expect(try claim(0, for: 77, in: store).isEmpty)
    #expect(try claim(3, for: 78, in: store).count == 2)
    #expect(try claim(0, for: member.identity, in: store).count == 1)
  }

  /// Hosts come and go, each with a queue directory of its own.
  @Test func theOwnersOfForgottenPoolsAreForgotten() throws {
    let store = try open()
    let now = Date()
    try perform(store) { store, context in
      let pools: [(name: String, goneAt: Date?)] = [
        ("living", nil), ("just gone", now - 60), ("gone", now - 7200), ("older", now - 9000),
      ]
      for (name, goneAt) in pools {
        var member = PoolMember(host: name, pid: 1, queue: "/q")
        member.goneAt = goneAt
        store.insert(member, into: context)
        try PoolOwner(pid: 1, queue: "/q", pool: name, ledger: "l", member: member.identity)
          .write(isShared: true, in: context)
      }
      try context.save()
      try store.forgetGoneMembers(in: context)
      #expect(try Set(PoolOwner.all(in: context).map(\.pool)) == ["living", "just gone"])
      try #expect(PoolOwner.find("living", in: context)?.member != nil)
    }
  }

  @Test func aPlaceMayHaveCharactersThatNoURLHas() {
    let place = StorePlace("postgresql://u@/db?host=%2Ftmp&schema=Größe x")
    #expect(place.url.absoluteString == "postgresql://u@/db?host=%2Ftmp&schema=Gr%c3%b6%c3%9fe%20x")
    #expect(throws: Never.self) { try place.check() }
  }
}
