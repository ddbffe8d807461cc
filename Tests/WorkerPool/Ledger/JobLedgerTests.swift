import Foundation
import LinuxSystem
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerPool

/// The ledger lists what workers hold, or more, at each moment; the next pool draws the right conclusions from it.
@Suite struct JobLedgerTests {
  private let path = temporaryURL("ledger").path
  private let alive = ProcessIdentity(pid: 10, start: 100)
  private let dead = ProcessIdentity(pid: 11, start: 110)

  private func make() throws -> JobLedger {
    try JobLedger(path: path, name: "name", pool: "pool", store: "STORE")
  }

  /// Job and state of each entry, in the order of the jobs.
  private func states() throws -> [Int64: LedgerLayout.State] {
    let entries = try LedgerContents(path: path).entries
    #expect(Set(entries.map(\.job)).count == entries.count, "a job has two entries")
    return Dictionary(entries.map { ($0.job, $0.state) }, uniquingKeysWith: { first, _ in first })
  }

  private func succession(boot: String = Boot.id(), orphans: Set<ProcessIdentity> = []) throws -> Succession {
    Succession(ledger: try LedgerContents(path: path), boot: boot, orphans: orphans, isAlive: { $0 == alive })
  }

  @Test func aLedgerThatIsCutOrHasSlotsWhichNoPoolWritesCannotBeRead() throws {
    let ledger = try make()
    defer { unlink(path) }
    ledger.add(worker: 1, alive)
    let index = try #require(ledger.handOut(1, attempt: 1, to: 1))
    let whole = try Data(contentsOf: URL(fileURLWithPath: path))
    var garbage = whole
    garbage[LedgerLayout.offset(ofEntry: index) + LedgerLayout.Entry.state] = 77
    for bytes in [Data(), whole.prefix(LedgerLayout.headerSize), whole.dropLast(LedgerLayout.entrySize), garbage] {
      // The ledger itself must keep its size: it is mapped.
      let copy = path + ".copy"
      defer { unlink(copy) }
      try bytes.write(to: URL(fileURLWithPath: copy))
      #expect(throws: LedgerContents.Unreadable.self) { try LedgerContents(path: copy) }
    }
    #expect(try states() == [1: .handedOut])
  }

  @Test func eachStepOfAJobIsInTheFileAtOnce() throws {
    let ledger = try make()
    defer { unlink(path) }
    #expect(ledger.handOut(1, attempt: 1, to: 1) == nil, "the worker is not known")
    ledger.add(worker: 1, alive)
    let indices = try (1...3).map { try #require(ledger.handOut($0, attempt: 1, to: 1)) }
    #expect(try states() == [1: .handedOut, 2: .handedOut, 3: .handedOut])
    ledger.begin([indices[0], indices[1]])
    #expect(try states() == [1: .begun, 2: .begun, 3: .handedOut])
    ledger.end(indices[0])
    #expect(try states() == [2: .begun, 3: .handedOut])
    // The job's worker died: it stays until its row says so.
    ledger.keep(indices[1], of: 2, isSuspect: false)
    #expect(try states() == [2: .crashed, 3: .handedOut])
    ledger.forget([2])
    #expect(try states() == [3: .handedOut])
    let contents = try LedgerContents(path: path)
    #expect(contents.boot == Boot.id() && contents.name == "name" && contents.pool == "pool")
    #expect(contents.store == "STORE" && contents.flags.isEmpty)
    #expect(contents.entries.map(\.process) == [alive])
  }

  @Test func aSuspectStaysUntilItIsHandedOutAgain() throws {
    let ledger = try make()
    defer { unlink(path) }
    ledger.add(worker: 1, dead)
    ledger.add(worker: 2, alive)
    for key in [Int64(1), 2] {
      let index = try #require(ledger.handOut(key, attempt: 1, to: 1))
      ledger.begin([index])
      ledger.keep(index, of: key, isSuspect: true)
    }
    _ = ledger.handOut(1, attempt: 1, to: 2)
    #expect(try states() == [1: .handedOut, 2: .suspect])
    let succession = try succession()
    #expect(succession.held.map(\.job) == [1] && succession.suspects.map(\.job) == [2] && succession.crashed == [])
  }

  @Test func itGrowsWithWhatWorkersHold() throws {
    let ledger = try make()
    defer { unlink(path) }
    ledger.add(worker: 1, alive)
    let count = Int64(2 * LedgerLayout.firstCapacity + 1)
    let indices = (1...count).compactMap { ledger.handOut($0, attempt: 1, to: 1) }
    #expect(indices.count == Int(count) && Set(indices).count == indices.count)
    #expect(try states().count == indices.count)
    for index in indices { ledger.end(index) }
    #expect(try states().isEmpty)
  }

  @Test func whatHasBegunInADeadWorkerIsACrashAloneAndASuspicionTogether() throws {
    let ledger = try make()
    defer { unlink(path) }
    let other = ProcessIdentity(pid: 12, start: 120)
    for (number, process) in [(1, dead), (2, other), (3, alive)] { ledger.add(worker: number, process) }
    ledger.begin([try #require(ledger.handOut(1, attempt: 1, to: 1))])
    _ = ledger.handOut(2, attempt: 1, to: 1)
    for key in [Int64(3), 4] { ledger.begin([try #require(ledger.handOut(key, attempt: 1, to: 2))]) }
    ledger.begin([try #require(ledger.handOut(5, attempt: 1, to: 3))])
    _ = ledger.handOut(6, attempt: 1, to: 3)
    let succession = try succession(orphans: [alive, ProcessIdentity(pid: 13, start: 130)])
    #expect(succession.crashed.map(\.job) == [1], "the second of that worker had not begun")
    #expect(succession.suspects.map(\.job).sorted() == [3, 4])
    #expect(succession.held.map(\.job).sorted() == [5, 6], "also what it has not begun")
    #expect(succession.unlisted.isEmpty, "an orphan that is not in the ledger holds nothing")
  }

  /// The state changes several times, and the number stays: by it the next pool sees whether the row shows the end.
  @Test func theNumberOfTheAttemptOutlivesThePool() throws {
    let ledger = try make()
    defer { unlink(path) }
    ledger.add(worker: 1, dead)
    let index = try #require(ledger.handOut(1, attempt: 3, to: 1))
    ledger.begin([index])
    #expect(try succession().crashed.map(\.attempt) == [3])
    ledger.keep(index, of: 1, isSuspect: true)
    #expect(try succession().suspects.map(\.attempt) == [3])
    ledger.inheritDead(LedgerEntry(job: 7, process: dead, state: .crashed, begunAt: Date(), attempt: 1000))
    #expect(try succession().crashed.map(\.attempt) == [1000])
  }

  @Test func aBootAndAStopBlameNoJob() throws {
    let ledger = try make()
    defer { unlink(path) }
    ledger.add(worker: 1, dead)
    let index = try #require(ledger.handOut(1, attempt: 1, to: 1))
    ledger.begin([index])
    #expect(try succession(boot: "another") == Succession())
    ledger.stop()
    #expect(try succession() == Succession())
    // A death that the pool has seen is the job's.
    ledger.keep(index, of: 1, isSuspect: false)
    #expect(try succession().crashed.map(\.job) == [1])
  }

  @Test func whatIsNotKnownIsWaitedFor() throws {
    let orphan = ProcessIdentity(pid: 13, start: 130)
    let blind = Succession(ledger: nil, boot: Boot.id(), orphans: [orphan], dying: [alive, dead]) { $0 == alive }
    #expect(blind.unlisted == [orphan, alive])
    // A pool hands on what it has not seen to the end.
    let ledger = try make()
    defer { unlink(path) }
    ledger.inherit(LedgerEntry(job: 0, process: alive, state: .handedOut, begunAt: Date()))
    ledger.inheritDead(LedgerEntry(job: 7, process: dead, state: .begun, begunAt: Date()))
    #expect(try succession().unlisted == [alive])
    #expect(try succession().crashed.map(\.job) == [7])
    ledger.endInherited(alive.pid)
    #expect(try succession().unlisted.isEmpty)
  }

  @Test func aCancellationStaysUntilTheRowSaysSo() throws {
    let ledger = try make()
    defer { unlink(path) }
    ledger.add(worker: 1, dead)
    ledger.add(worker: 2, alive)
    let begun = try #require(ledger.handOut(1, attempt: 1, to: 1))
    ledger.begin([begun])
    _ = ledger.handOut(2, attempt: 1, to: 2)
    for job in [Int64(1), 1, 2] { ledger.cancel(job) }
    let first = try succession()
    #expect(first.cancelled == [1, 2] && first.crashed == [] && first.held.map(\.job) == [2])
    #expect(try succession(boot: "another").cancelled == [1, 2])
    // Its worker's death is seen, and its row is not written yet.
    ledger.keep(begun, of: 1, isSuspect: false)
    ledger.stop()
    let later = try succession()
    #expect(later.cancelled == [1, 2] && later.crashed == [])
    ledger.settled([1])
    #expect(try succession().cancelled == [2])
    ledger.settled([2])
    #expect(try LedgerContents(path: path).entries.map(\.job) == [2], "the hand of the other")
  }

  @Test func onlyALedgerOfThisVersionIsRead() throws {
    let ledger = try make()
    defer { unlink(path) }
    ledger.add(worker: 1, alive)
    _ = ledger.handOut(1, attempt: 1, to: 1)
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let copy = path + ".copy"
    defer { unlink(copy) }
    for (version, isRead) in [(UInt8(2), false), (3, true), (4, false)] {
      bytes[LedgerLayout.Header.version] = version
      try bytes.write(to: URL(fileURLWithPath: copy))
      #expect((try? LedgerContents(path: copy))?.entries.count == (isRead ? 1 : nil))
    }
  }

  /// Writing to a page of a truncated file raises SIGBUS.
  @Test func aLedgerThatIsTruncatedOrRemovedIsMadeAgain() throws {
    let ledger = try make()
    defer { unlink(path) }
    ledger.add(worker: 1, alive)
    _ = ledger.handOut(1, attempt: 1, to: 1)
    #expect(try !ledger.restoreIfNeeded())
    #expect(truncate(path, 0) == 0)
    let index = try #require(ledger.handOut(2, attempt: 1, to: 1))
    #expect(try ledger.restoreIfNeeded())
    #expect(try states() == [1: .handedOut, 2: .handedOut])
    unlink(path)
    ledger.begin([index])
    #expect(try ledger.restoreIfNeeded())
    #expect(try states() == [1: .handedOut, 2: .begun])
    ledger.end(index)
    #expect(try states() == [1: .handedOut])
    #expect(try !ledger.restoreIfNeeded())
  }

  @Test func aDamagedFileIsNotRead() throws {
    defer { unlink(path) }
    let missing = #expect(throws: LedgerContents.Unreadable.self) { try LedgerContents(path: path) }
    #expect(missing?.description.hasSuffix("cannot be used: it is not there") == true)
    #expect(symlink("/dev/zero", path) == 0)
    let link = #expect(throws: LedgerContents.Unreadable.self) { try LedgerContents(path: path) }
    #expect(link?.description.contains("it is a symbolic link") == true)
    unlink(path)
    for size in [0, 100, LedgerLayout.headerSize, LedgerLayout.headerSize + 7] {
      try Data(count: size).write(to: URL(fileURLWithPath: path))
      #expect(throws: LedgerContents.Unreadable.self) { try LedgerContents(path: path) }
    }
  }
}
