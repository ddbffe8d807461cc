import CSystem
import CoreData
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
      6: POSIX  ADVISORY  READ 1238 08:01:77 127 127
      6: -> POSIX  ADVISORY  READ 1239 08:01:77 127 127
      nonsense
      """
    // Byte 128 is the lock of those that have the file open; a line with an arrow waits for its lock.
    #expect(WALReaders.processes(locks: locks, inode: 77) == [1234, 1238])
  }

  @Test func anAgeIsThatOfTheReaderSeenAtEachLook() {
    var log = PinnedLog()
    log.note([1, 2], now: 10)
    log.note([1], now: 20)
    log.note([1, 2], now: 30)
    #expect(log.since == [1: 10, 2: 30])
    log.clear()
    #expect(log.since.isEmpty)
  }

  @Test func aProcessThatReadsIsFound() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("readers-\(UUID().uuidString)")
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
    #expect(WALReaders.processes(store: store) == [shell.processIdentifier])
    #expect(ProcFile.command(shell.processIdentifier) == "sqlite3")
    try input.fileHandleForWriting.close()
    shell.waitUntilExit()
    #expect(WALReaders.processes(store: store) == [])
  }
}
