import Foundation
import LinuxSystem
import TestFiles
import Testing

@testable import CoreData

@Suite struct WriteTurnTests {
  /// holder                      | saver
  /// ----------------------------+-----------------------------
  /// has the turn, is stopped    |
  ///                             | waits, gives up after 0.2 s
  /// goes on, passes it on       |
  ///                             | saves
  @Test(.timeLimit(.minutes(20)), arguments: [FairFileLock.Part.lock, .door])
  func aStoppedHolderOfTheTurnKeepsASaveNoLongerThanTheTimeout(part: FairFileLock.Part) throws {
    let path = temporaryURL("turn").path
    defer { unlink(path) }
    let store = try TemporaryStore(options: [
      NSPersistentStoreWriteTurnOption: path, NSPersistentStoreTimeoutOption: NSNumber(value: 0.2),
    ])
    let holder = try LockHolder(path, byte: part.rawValue, database: store.url.path)
    kill(holder.process, SIGSTOP)
    let begin = ProcessInfo.processInfo.systemUptime
    let error = #expect(throws: NSError.self) { try store.save { $0.make("Tag", ["label": "late"]) } }
    #expect(ProcessInfo.processInfo.systemUptime - begin < 5)
    #expect(error?.domain == NSCocoaErrorDomain && error?.code == 134090)
    let text = error?.localizedDescription ?? ""
    #expect(text.contains("turn to write"), "\(text)")
    kill(holder.process, SIGCONT)
    holder.end()
    try store.save { $0.make("Tag", ["label": "new"]) }
    try #expect(store.sql("SELECT ZLABEL FROM ZTAG") == [["new"]])
  }

  /// Another process that has a byte of the turn's file locked, and writes to the database.
  private final class LockHolder {
    private let program = Process()
    private let input = Pipe()
    private let output = Pipe()
    var process: pid_t { program.processIdentifier }

    init(_ path: String, byte: Int64, database: String) throws {
      program.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      // Struct flock of fcntl(2), and F_OFD_SETLKW.
      program.arguments = [
        "python3", "-c",
        """
        import fcntl, os, sqlite3, struct, sys
        lock = os.open(sys.argv[1], os.O_RDWR)
        fcntl.fcntl(lock, 38, struct.pack('hhqqi4x', 1, 0, int(sys.argv[2]), 1, 0))
        base = sqlite3.connect(sys.argv[3], isolation_level=None)
        base.execute('BEGIN IMMEDIATE')
        print('ready', flush=True)
        sys.stdin.read()
        """, path, "\(byte)", database,
      ]
      (program.standardInput, program.standardOutput) = (input, output)
      try program.run()
      // Python may write a line in two parts, so that one read brings a part of it.
      #expect(try output.fileHandleForReading.read(upToCount: 6) == Data("ready\n".utf8))
    }

    func end() {
      try? input.fileHandleForWriting.close()
      program.waitUntilExit()
    }

    deinit { if program.isRunning { kill(process, SIGKILL) } }
  }

  // MARK: Timeouts

  /// No number of seconds, and longer than any count of milliseconds.
  @Test func timeoutsThatAreNoNumbersAreRefusedAndEndlessOnesWait() async throws {
    await #expect(processExitsWith: .success) {
      for timeout in [Double.infinity, .greatestFiniteMagnitude, 1e12, -1, -.infinity] {
        let store = try TemporaryStore(options: [NSPersistentStoreTimeoutOption: NSNumber(value: timeout)])
        try store.save { $0.make("Tag", ["label": "new"]) }
      }
      let error = #expect(throws: NSError.self) {
        try TemporaryStore(options: [NSPersistentStoreTimeoutOption: NSNumber(value: Double.nan)])
      }
      let text = error?.localizedDescription ?? ""
      #expect(text.contains("NSPersistentStoreTimeoutOption"), "\(text)")
    }
  }
}
