import CSystem
import LinuxSystem
import TestFiles
@testable import StoreTools
import Foundation
import Testing

@testable import WorkerPool

@Suite struct WALReaderTests {
  @Test func readLocksAreFoundInTheKernelsList() {
    let locks = """
      1: POSIX  ADVISORY  READ 1234 08:01:77 123 123
      2: POSIX  ADVISORY  READ 1235 08:01:77 128 128
      3: POSIX  ADVISORY  WRITE 1236 08:01:77 124 124
      4: POSIX  ADVISORY  READ 1237 08:01:78 124 124
      5: OFDLCK ADVISORY  READ -1 08:01:77 124 124
      5: POSIX  ADVISORY  READ 1240 08:01:77 124 125
      6: POSIX  ADVISORY  READ 1238 08:01:77 127 127
      6: -> POSIX  ADVISORY  READ 1239 08:01:77 127 127
      7: POSIX  ADVISORY  READ 1241 08:02:77 123 127
      nonsense
      """
    // Process 1241 reads a file of the same number on another file system. Byte 128 is the lock of those that have
    // the file open; a line with an arrow waits for its lock.
    let (first, second, last) = (pin(0, mark: 1), pin(1, mark: 1), pin(4, mark: 1))
    func readers(_ pins: WALCheckpointer.Pin...) -> Set<PinnedReader> {
      WALReaders.readers(
        locks: locks, of: LockedInode(device: KernelDevice(major: 8, minor: 1), inode: 77), at: pins)
    }
    #expect(readers(first, second, last) == [reader(1234, first), reader(1240, second), reader(1238, last)])
    #expect(readers(pin(2, mark: 1)) == [reader(1240, pin(2, mark: 1))], "one lock may cover two read locks")
    #expect(readers() == [])
  }

  private func pin(_ readLock: Int, mark: Int) -> WALCheckpointer.Pin {
    .init(readLock: readLock, mark: mark, generation: 1)
  }
  private func reader(_ pid: Int32, _ pin: WALCheckpointer.Pin) -> PinnedReader { PinnedReader(pid: pid, pin: pin) }

  /// A process that reads now and then is there at each checkpoint, and keeps nothing.
  @Test func onlyAReaderThatStaysAtItsMarkIsNamedWithItsAge() {
    var log = PinnedWAL()
    let long = reader(1, pin(1, mark: 100))
    for number in 0..<10 {
      let short = reader(2, pin(2, mark: 110 + number))
      log.note([long, short], now: 10 + Double(number))
      #expect(log.since == (number == 0 ? [:] : [1: 10]))
    }
    log.note([reader(1, pin(1, mark: 500))], now: 20)
    #expect(log.since.isEmpty, "it has read something else since")
    log.note([], now: 21)
    #expect(log.since.isEmpty)
  }

  @Test func aProcessThatReadsIsFound() throws {
    let directory = temporaryURL("readers")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let store = directory.appendingPathComponent("store.sqlite").path
    // The shell holds its read transaction until its input ends.
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    // Without stdbuf its output would wait for its end.
    shell.arguments = ["stdbuf", "-o0", "sqlite3", store]
    let (input, output) = (Pipe(), Pipe())
    shell.standardInput = input
    shell.standardOutput = output
    try shell.run()
    let script = """
      PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1); BEGIN; SELECT * FROM t;
      .print reading

      """
    input.fileHandleForWriting.write(Data(script.utf8))
    var said = ""
    while !said.contains("reading") {
      let data = output.fileHandleForReading.availableData
      try #require(!data.isEmpty, "the shell ended: \(said)")
      said += String(decoding: data, as: UTF8.self)
    }
    // Another one writes, and a checkpoint finds what it cannot copy.
    let writer = try Process.run(
      URL(fileURLWithPath: "/usr/bin/env"),
      arguments: ["sqlite3", store, "PRAGMA wal_autocheckpoint = 0; INSERT INTO t VALUES (2)"])
    writer.waitUntilExit()
    let checkpointer = try WALCheckpointer(url: URL(fileURLWithPath: store))
    let pinned = try checkpointer.checkpoint()
    #expect(pinned.pagesLeft > 0)
    #expect(WALReaders.readers(store: store, at: pinned.pins).map(\.pid) == [shell.processIdentifier])
    #expect(ProcFile.command(shell.processIdentifier) == "sqlite3")
    try input.fileHandleForWriting.close()
    shell.waitUntilExit()
    #expect(WALReaders.readers(store: store, at: pinned.pins) == [])
    #expect(try checkpointer.checkpoint() == WALCheckpointer.Outcome())
  }
}
