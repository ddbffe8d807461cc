import Glibc
import LinuxSystem
import TestFiles
import Testing

@testable import WorkerPool

@Suite(.ownThreads) struct SurvivorsTests {
  private let pool: PoolParts
  private let survivors: Survivors

  init() throws {
    pool = try PoolParts()
    survivors = Survivors(pool.core, pool.ready)
  }

  /// A process in a group of its own that sleeps until it is ended.
  private func sleeper() throws -> pid_t {
    let pipe = try PipeEnds()
    return try Program(path: "/bin/sleep", arguments: ["600"], environment: [:])
      .start(output: pipe.writing, errors: pipe.writing)
  }

  @Test func aJobThatAnEarlierPoolsProcessRunsIsNobodysUntilItEnds() throws {
    let pid = try sleeper()
    let process = try #require(ProcessIdentity(of: pid))
    pool.addWorker(credit: 2)
    let job = fakeJob("ok", 1)
    survivors.takeOver(
      JobSourceStart(
        survivorJobs: [InheritedJob(key: job.key, process: process, kind: "fake", queue: "default", limitKey: nil)]))
    #expect(survivors.jobs == [job.key] && !survivors.mayRunAnything)
    #expect(pool.core.coordinator.survivors.keys == [job.key])
    #expect(pool.log.all.map(\.text) == ["process \(pid) of an earlier pool finishes its job"])
    OwnChildren.end(pid)
    #expect(pool.turn { survivors.all.isEmpty })
    #expect(pool.core.coordinator.survivors.keys.isEmpty)
    #expect(pool.source.asked.all == ["due jobs"])
  }

  @Test func besideAProcessThatMayRunAnythingNothingBegins() throws {
    let pid = try sleeper()
    pool.addWorker(credit: 2)
    survivors.takeOver(JobSourceStart(unlisted: [try #require(ProcessIdentity(of: pid))]))
    #expect(survivors.mayRunAnything)
    pool.core.becameReady([fakeJob("ok", 1)])
    #expect(pool.runs() == [])
    OwnChildren.end(pid)
    #expect(pool.turn { survivors.all.isEmpty })
    // It may have run the job to its end: the store is asked anew.
    let queries = pool.core.coordinator.takeEffects().compactMap { effect -> ReadyQuery? in
      guard case .fetchReady(let query) = effect else { return nil }
      return query
    }
    pool.ready.fetched(try #require(queries.first), [fakeJob("ok", 1)], isComplete: true, seconds: 0)
    #expect(pool.runs() == [fakeJob("ok", 1).key])
  }

  @Test func aProcessThatHasEndedClaimsNothing() throws {
    let pid = try sleeper()
    let process = try #require(ProcessIdentity(of: pid))
    OwnChildren.end(pid)
    survivors.takeOver(
      JobSourceStart(survivorJobs: [InheritedJob(key: 1, process: process, kind: nil, queue: nil, limitKey: nil)]))
    #expect(survivors.all.isEmpty && pool.core.coordinator.survivors.keys.isEmpty)
  }

  /// The number of a process that has ended belongs to another one.
  @Test func aProcessThatStartedAtAnotherTimeIsNoSurvivor() throws {
    let pid = try sleeper()
    defer { OwnChildren.end(pid) }
    let identity = try #require(ProcessIdentity(of: pid))
    let process = ProcessIdentity(pid: pid, start: identity.start - 1)
    survivors.takeOver(
      JobSourceStart(
        survivorJobs: [InheritedJob(key: 1, process: process, kind: nil, queue: nil, limitKey: nil)],
        unlisted: [process]))
    #expect(survivors.all.isEmpty && pool.core.coordinator.survivors.keys.isEmpty)
  }

  @Test func cancellationsThatNoRowShowsAreWrittenBeforeTheJobCanRun() throws {
    survivors.takeOver(JobSourceStart(cancelled: [7]))
    #expect(pool.core.coordinator.settling == [7])
    #expect(pool.core.coordinator.takeEffects().contains(.cancelStored(7)))
  }

  @Test func crashesThatNoPoolHasSeenAreCountedOnce() throws {
    survivors.takeOver(
      JobSourceStart(crashed: [
        InheritedJob(key: 7, process: ProcessIdentity(pid: 1, start: 1), kind: "fake", queue: nil, limitKey: nil)
      ]))
    #expect(pool.core.coordinator.settling == [7], "it does not begin before its crash is counted")
    let settled = { pool.core.coordinator.takeEffects().count { if case .settle = $0 { true } else { false } } }
    survivors.countUncountedCrashes(of: ["other"])
    #expect(settled() == 0, "it is not known yet how often a job of this kind may crash")
    survivors.countUncountedCrashes(of: ["fake"])
    #expect(settled() == 1)
    survivors.countUncountedCrashes(of: nil)
    #expect(settled() == 0)
  }
}
