import Foundation
import Glibc
import Jobs
import PoolClient
import Testing

@testable import WorkerPool

@Suite struct ReadyJobsTests {
  @Test func requestsDuringAPromotionOfDueJobsAreOneMorePromotion() throws {
    let pool = try PoolParts()
    for _ in 0..<3 { pool.ready.promoteDueJobs() }
    #expect(pool.source.asked.all.count == 1)
    pool.ready.promoted([], areMore: false, next: nil)
    #expect(pool.source.asked.all.count == 2)
    pool.ready.promoted([], areMore: false, next: nil)
    #expect(pool.source.asked.all == ["due jobs", "due jobs"])
  }

  @Test func theStoreIsAskedAgainWhenTheNextJobIsDue() throws {
    let pool = try PoolParts()
    pool.ready.promoted([], areMore: false, next: 0.01)
    #expect(pool.turn { pool.source.asked.all == ["due jobs"] })
  }

  @Test func aJobThatIsBeingDeletedDoesNotBegin() throws {
    let pool = try PoolParts()
    pool.addWorker(credit: 3)
    let (doomed, other) = (fakeJob("ok", 1), fakeJob("ok", 2))
    pool.core.withheld = [doomed.key]
    pool.ready.promoted([doomed, other], areMore: false, next: nil)
    #expect(pool.runs() == [other.key])
    pool.ready.released([doomed], remain: false, nil)
    #expect(pool.runs() == [])
    pool.core.withheld = []
    pool.ready.released([doomed], remain: false, nil)
    #expect(pool.runs() == [doomed.key])
  }

  @Test func afterSeveralFailuresTheStoreIsAskedOnce() throws {
    let pool = try PoolParts()
    pool.addWorker(credit: 1)
    #expect(!pool.core.coordinator.dependents.hasNew)
    pool.ready.released([], remain: true, "locked")
    pool.ready.released([], remain: true, "locked")
    #expect(pool.log.all.map(\.event) == [.trouble, .trouble])
    _ = pool.core.coordinator.takeEffects()
    let asks = { pool.core.coordinator.takeEffects().count { if case .release = $0 { true } else { false } } }
    var count = 0
    #expect(
      pool.turn {
        count += asks()
        return count > 0
      })
    #expect(count == 1)
  }
}

@Suite struct JobScheduleTests {
  @Test func whenTheClockIsSetWhatIsDueIsWorkedOutAnew() throws {
    let pool = try PoolParts()
    let schedule = JobSchedule(pool.core, pool.ready)
    schedule.clockWasSet()
    #expect(pool.source.asked.all == ["due jobs", "periodic entries"])
    #expect(pool.log.all.map(\.event) == [.clockSet])
  }

  @Test func aPoolThatStopsWorksNothingOutAnew() throws {
    let pool = try PoolParts()
    let schedule = JobSchedule(pool.core, pool.ready)
    pool.core.phase = .stopping
    schedule.clockWasSet()
    schedule.watchEntries()
    #expect(pool.source.asked.all.isEmpty)
    schedule.stop()
  }

  @Test func anEntryThatChangesWhileEntriesAreSubmittedIsLookedAtAfterwards() throws {
    let pool = try PoolParts()
    let schedule = JobSchedule(pool.core, pool.ready)
    schedule.start()
    #expect(pool.source.asked.all == ["periodic entries"])
    let entry = pool.directory.appendingPathComponent("periodic/nightly.json")
    try Data("{}".utf8).write(to: entry)
    schedule.clockWasSet()
    #expect(pool.source.asked.all.count { $0 == "periodic entries" } == 1, "one run is under way")
    schedule.submitted([], next: nil, [])
    #expect(pool.source.asked.all.count { $0 == "periodic entries" } == 2)
    schedule.stop()
  }

  @Test func whatIsWrongWithAnEntryIsToldOnceUntilItIsMended() throws {
    let pool = try PoolParts()
    let schedule = JobSchedule(pool.core, pool.ready)
    for messages in [["bad"], ["bad"], [], ["bad"]] { schedule.submitted([], next: nil, messages) }
    #expect(pool.log.all.count == 2)
  }
}

@Suite struct IncomingFilesTests {
  private let pool: PoolParts
  private let upkeep: StoreUpkeep
  private let incoming: IncomingFiles

  init() throws {
    pool = try PoolParts()
    upkeep = StoreUpkeep(pool.core, pool.ready)
    incoming = IncomingFiles(
      pool.core, ready: pool.ready, schedule: JobSchedule(pool.core, pool.ready), upkeep: upkeep)
  }

  @Test func aFileThatComesIsTakenByItsName() throws {
    incoming.start()
    #expect(pool.source.takes.all == [nil], "what was there before")
    try Data("{}".utf8).write(to: pool.directory.appendingPathComponent("incoming/job.json"))
    #expect(pool.turn { pool.source.takes.all.contains { $0?.contains("job.json") == true } })
    incoming.stop()
  }

  @Test func aDirectoryThatIsReplacedIsWatchedInItsNewPlace() throws {
    incoming.start()
    let path = pool.directory.appendingPathComponent("incoming")
    try FileManager.default.removeItem(at: path)
    try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
    incoming.replaced([.incoming])
    #expect(pool.log.all.map(\.event) == [.queueReplaced])
    try Data("{}".utf8).write(to: path.appendingPathComponent("late.json"))
    #expect(pool.turn { pool.source.takes.all.contains { $0?.contains("late.json") == true } })
    incoming.stop()
  }

  /// No event tells of it where the kernel has no watch for the files: the next scan finds it, before it takes
  /// anything.
  @Test func aPoolWhoseStoreIsGoneTakesNoMoreFiles() throws {
    let store = pool.core.configuration.store
    for suffix in ["", "-wal", "-shm"] { try Data().write(to: URL(fileURLWithPath: store + suffix)) }
    upkeep.files.start(StoreFiles(path: store))
    incoming.rescan()
    #expect(pool.source.takes.all == [nil])
    try FileManager.default.removeItem(atPath: store)
    incoming.rescan()
    #expect(pool.core.ending == .storeParted)
    #expect(pool.source.takes.all == [nil], "nothing since")
    incoming.stop()
  }

  /// Makes the parts of the queue directory, and waits until a change shows in its time: rescans of the first second
  /// scan.
  private func makeOldDirectory() throws {
    for name in ["taken", "rejected"] {
      try FileManager.default.createDirectory(
        at: pool.directory.appendingPathComponent(name), withIntermediateDirectories: true)
    }
    #expect(pool.turn { QueueMoment(QueueLayout(root: pool.directory.path))?.isOld == true })
  }

  @Test func aDirectoryInWhichNothingChangesIsScannedOnceAMinute() throws {
    try makeOldDirectory()
    incoming.rescan()
    let scans = pool.source.takes.all.count
    for _ in 0..<4 { incoming.rescan() }
    #expect(pool.source.takes.all.count == scans, "nothing has changed")
    incoming.rescan()
    #expect(pool.source.takes.all.count == scans + 1, "the sixth looks all the same")
    // A file that no event announces, as on a network file system
    try Data("{}".utf8).write(to: pool.directory.appendingPathComponent("incoming/job.json"))
    incoming.rescan()
    #expect(pool.source.takes.all.count == scans + 2)
    incoming.stop()
  }

  @Test func filesThatAreTooFreshAreScannedAgain() throws {
    try makeOldDirectory()
    incoming.rescan()
    let scans = pool.source.takes.all.count
    incoming.took(0, ready: [], someWait: false, postponed: 1, [])
    #expect(pool.turn { pool.source.takes.all.count > scans }, "after a second")
    incoming.stop()
  }

  @Test func aQueueDirectoryHasAnotherMomentWhenAPartIsReplacedOrANameComes() throws {
    let layout = QueueLayout(root: pool.directory.path)
    #expect(QueueMoment(layout) == nil, "parts are missing")
    for path in [layout.taken, layout.rejected] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    let first = try #require(QueueMoment(layout))
    #expect(QueueMoment(layout) == first)
    try FileManager.default.moveItem(atPath: layout.rejected, toPath: pool.directory.path + "/old")
    try FileManager.default.createDirectory(atPath: layout.rejected, withIntermediateDirectories: true)
    let second = try #require(QueueMoment(layout))
    #expect(second != first)
    #expect(pool.turn { second.isOld })
    try Data("{}".utf8).write(to: URL(fileURLWithPath: layout.incoming + "/job.json"))
    #expect(try #require(QueueMoment(layout)) != second)
  }

  @Test func jobsThatWereNotAllToldAreLookedFor() throws {
    pool.addWorker(credit: 1)
    incoming.took(1, ready: [fakeJob("ok", 1)], someWait: false, postponed: 0, [])
    #expect(pool.source.asked.all.isEmpty)
    incoming.took(2, ready: [fakeJob("ok", 2)], someWait: false, postponed: 0, [])
    #expect(pool.source.asked.all == ["due jobs"])
  }

  @Test func aTroubleIsToldOnceInAWhile() {
    let trouble = LogRecord(event: .trouble, text: "incoming/ is missing")
    for _ in 0..<3 { incoming.took(0, ready: [], someWait: false, postponed: 0, [trouble]) }
    #expect(pool.log.all.map(\.text) == ["incoming/ is missing"])
  }
}
