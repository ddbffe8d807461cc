import CoreData
import Foundation
import Jobs
import Synchronization
import TestFiles
import Testing

/// What pools that share a store do at the same time, and the rows by which they know each other.
///
/// At a server only: a file has one pool, and its store has no pools' rows.
@Suite(.enabled(if: PostgreSQLServer.isInstalled))
struct SharedClaimTests {
  @Test func noJobIsClaimedTwiceAtTheSameTime() throws {
    let first = try TemporaryJobStore(.server)
    let stores = try [first] + (1..<4).map { _ in try first.openedAgain() }
    try first.insert(jobs: 400)
    let claimed = Mutex<[Int64]>([])
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { index in
      do {
        for _ in 0..<20 { _ = try stores[index].claim(7, for: Int64(index + 1)) }
        let mine = try stores[index].claim(0, for: Int64(index + 1)).jobs
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
    let one = try TemporaryJobStore(.server)
    let two = try one.openedAgain()
    try one.insert(jobs: 1)
    let key = try #require(one.claim(1, for: 1).jobs.first?.key)
    let late = one.store.makeContext(name: "worker")
    try late.performAndWait {
      let job = try #require(try one.store.jobs(keys: [key], in: late).first)
      try job.markSucceeded(startedAt: Date())
    }
    #expect(try two.claim(1, for: 2).jobs.isEmpty)
    #expect(try two.claim(1, for: 2, besides: [1]).jobs.map(\.key) == [key])
    let code = late.performAndWait { () -> Int? in
      do { try late.save() } catch { return (error as NSError).code }
      return nil
    }
    #expect(code == NSManagedObjectMergeError)
  }

  /// Four pools claim at the same time; each look finds no more claims than the limit.
  @Test func allPoolsTogetherClaimNoMoreThanALimit() throws {
    let first = try TemporaryJobStore(.server)
    let stores = try [first] + (1..<4).map { _ in try first.openedAgain() }
    try first.insert(jobs: 40)
    var rules = ClaimRules()
    rules.limit = 3
    let fixed = rules
    let failures = Mutex<[String]>([])
    let done = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: 4) { index in
      do {
        while done.withLock({ $0 < 40 }) {
          let mine = try stores[index].claim(2, for: Int64(index + 1), rules: fixed).jobs
          let all = try stores[index].perform { _, context in
            let request = PoolJob.fetchRequest()
            request.predicate = NSPredicate(format: "finishedAt == nil AND claimant != nil")
            return try context.count(for: request)
          }
          if all > 3 { failures.withLock { $0.append("\(all) are claimed") } }
          try stores[index].finish(mine)
          done.withLock { $0 += mine.count }
        }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(done.withLock { $0 } == 40)
  }

  /// A server has restarted, and a pool comes back before or after another one has taken it for dead.
  @Test func aPoolThatComesBackHasNotDied() throws {
    let store = try TemporaryJobStore(.server)
    try store.insert(jobs: 3)
    for round in 0..<6 {
      let member = PoolMember(host: "h", pid: 1, queue: "/q")
      try store.insert(member)
      let jobs = try store.claim(3, for: member.identity).jobs
      #expect(jobs.count == 3, "round \(round)")
      if round % 2 == 0 {
        let isNew = try store.perform { store, context in try store.noteGone(member.identity, in: context) }
        #expect(isNew)
        try store.returnClaims(ofDead: member.identity)
      }
      try store.perform { store, context in
        try store.takeBack(claimsOf: member.identity, jobs.map(\.key), in: context)
        let rows = try store.jobs(keys: jobs.map(\.key), in: context)
        #expect(rows.count == 3 && rows.allSatisfy { ($0.hostDeaths ?? 0) == 0 && $0.claimant == nil })
      }
    }
  }

  @Test func aPoolHearsWhatAnotherTellsItOnce() throws {
    try withStore(.server) { store, context in
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
    let one = try TemporaryJobStore(.server)
    let two = try one.openedAgain()
    let now = Date()
    let entry = PeriodicEntry(name: "tick", cron: try CronExpression("* * * * *"), job: request("a"))
    try one.perform { store, context in
      try store.insert([request { $0.runAt = now + 60 }], into: context)
      _ = try store.insertPeriodic([entry], at: now, into: context)
      try context.save()
    }
    func lead(_ body: (JobStore, NSManagedObjectContext) throws -> Int) throws -> Int {
      try one.perform { one, first in
        #expect(try body(one, first) == 1)
        return try two.perform { two, second in
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
    #expect(try one.claim(10, for: 1).jobs.count == 2)
  }

  @Test func aPoolThatIsGoneIsNotAMember() throws {
    let member = PoolMember(host: "here", pid: 1, queue: "/queue")
    try withStore(.server) { store, context in
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
    let store = try TemporaryJobStore(.server)
    try store.insert(jobs: 3)
    let member = PoolMember(host: "a", pid: 1, queue: "/q")
    try store.insert(member)
    #expect(try store.claim(1, for: member.identity).jobs.count == 1)
    #expect(try store.claim(1, for: 77).jobs.count == 1)
    try store.perform { try $0.forgetGoneMembers(in: $1) }
    #expect(try store.claim(0, for: 77).jobs.isEmpty)
    #expect(try store.claim(3, for: 78).jobs.count == 2)
    #expect(try store.claim(0, for: member.identity).jobs.count == 1)
  }

  /// Hosts come and go, each with a queue directory of its own.
  @Test func theOwnersOfForgottenPoolsAreForgotten() throws {
    let now = Date()
    try withStore(.server) { store, context in
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
}
