import CoreData
import Foundation
import Jobs
import Synchronization
import TestFiles
import Testing

/// Pools that share a store at a server claim the jobs that they hand out.
@Suite(.enabled(if: PostgreSQLServer.isInstalled))
struct ClaimTests {
  private let url = PostgreSQLServer.shared.url(schema: "claims_\(UInt32.random(in: 0 ... .max))")

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
}
