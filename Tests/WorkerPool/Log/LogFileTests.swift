import Foundation
import Jobs
import TestFiles
import Testing

@testable import WorkerPool

/// The log in the queue directory, and those who read it.
@Suite struct LogFileTests {
  private struct Enough: Error {}

  private func withQueue(_ body: (String) throws -> Void) throws {
    let queue = temporaryURL("log")
    try FileManager.default.createDirectory(at: queue, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: queue) }
    try body(queue.path)
  }

  private func messages(_ queue: String, _ filter: LogFilter = LogFilter()) throws -> [String] {
    var messages: [String] = []
    try LogReader(queue: queue, filter: filter).read { messages.append($0.json["message"]?.stringValue ?? "") }
    return messages
  }

  @Test func linesAreChosenByJobAndByProcess() throws {
    try withQueue { queue in
      let log = try LogDirectory(queue: queue).open()
      log(.jobFailed, "of p1", .jobs(["x-coredata://A/PoolJob/p1"]))
      log(.jobFailed, "of p12", .jobs(["x-coredata://A/PoolJob/p12"]))
      log(.workerOutput, "of 12 and p1", .pid(12), .jobs(["x-coredata://A/PoolJob/p1"]))
      log(.workerUp, "of 121", .pid(121))
      log.flush()
      var filter = LogFilter()
      filter.job = "p1"
      #expect(try messages(queue, filter) == ["of p1", "of 12 and p1"])
      filter.job = "x-coredata://A/PoolJob/p12"
      #expect(try messages(queue, filter) == ["of p12"])
      filter = LogFilter()
      filter.pid = 12
      #expect(try messages(queue, filter) == ["of 12 and p1"])
      let status = try FileManager.default.attributesOfItem(atPath: queue + "/log/pool.jsonl")
      #expect((status[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    }
  }

  @Test func aLogThatIsRemovedOrMovedIsBegunAgain() throws {
    try withQueue { queue in
      let log = try LogDirectory(queue: queue).open()
      log("first")
      log.flush()
      try FileManager.default.removeItem(atPath: queue + "/log")
      log("second")
      log.flush()
      #expect(try messages(queue) == ["second"])
      #expect(rename(queue + "/log/pool.jsonl", queue + "/moved") == 0)
      log("third")
      log.flush()
      #expect(try messages(queue) == ["third"])
    }
  }

  @Test func halfALineOfAKilledPoolSpoilsNoOther() throws {
    try withQueue { queue in
      var log = try LogDirectory(queue: queue).open()
      log("first")
      log.flush()
      let file = try #require(FileHandle(forWritingAtPath: queue + "/log/pool.jsonl"))
      try file.seekToEnd()
      try file.write(contentsOf: Data(#"{"time":"2026"#.utf8))
      try file.close()
      log = try LogDirectory(queue: queue).open()
      log("second")
      log.flush()
      #expect(try messages(queue) == ["first", "second"])
    }
  }

  /// The files are bounded, and who follows them misses nothing:
  ///
  ///     writer                           reader
  ///     writes 20 lines, rotates         follows
  ///     waits until the reader has them
  ///     … 50 times, over many files
  @Test func whoFollowsTheLogMissesNothingWhenItIsRotated() throws {
    try withQueue { queue in
      var directory = LogDirectory(queue: queue)
      directory.fileSize = 4000
      let log = try directory.open()
      let seen = Collected<String>()
      let reader = try LogReader(queue: queue, filter: LogFilter())
      let count = 1000
      // `nonisolated(unsafe)`: from here on only the detached thread uses the reader.
      nonisolated(unsafe) let followed = reader
      Thread.detachNewThread {
        do {
          try followed.follow { line in
            seen.add(line.json["message"]?.stringValue ?? "")
            if seen.all.count == count { throw Enough() }
          }
        } catch {}
      }
      for number in 0..<count {
        log("line \(number)")
        guard number % 20 == 19 else { continue }
        #expect(seen.wait { $0.count == number + 1 })
      }
      #expect(seen.all == (0..<count).map { "line \($0)" })
      log.flush()
      let files = try FileManager.default.contentsOfDirectory(atPath: queue + "/log").sorted()
      #expect(files == ["pool.jsonl", "pool.jsonl.1", "pool.jsonl.2", "pool.jsonl.3"])
      // A reader that comes later sees what is kept, in its order.
      let kept = try messages(queue)
      #expect(kept == Array(seen.all.suffix(kept.count)) && kept.count > 40)
    }
  }

  @Test func withoutALogThereIsAReason() throws {
    try withQueue { queue in
      let error = #expect(throws: LogReaderError.self) { try LogReader(queue: queue, filter: LogFilter()) }
      #expect(error?.description.contains("no pool has run on \(queue) yet") == true)
    }
  }
}
