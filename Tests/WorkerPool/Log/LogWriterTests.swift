import CSystem
import Foundation
import TestFiles
import Testing

@testable import WorkerPool

/// The reader of the log may stop reading: no writer waits for it, and what is missing is counted.
@Suite struct LogWriterTests {
  /// A pipe as small as the kernel makes it.
  private struct SmallPipe {
    let reading: Int32
    let writing: Int32

    init() throws {
      var ends: [Int32] = [-1, -1]
      try #require(csystem_pipe(&ends) == 0)
      (reading, writing) = (ends[0], ends[1])
      // F_SETPIPE_SZ of fcntl(2), which fcntl.h shows under _GNU_SOURCE only.
      _ = fcntl(writing, 1031, 4096)
    }

    /// All lines until the one that is given.
    func lines(until last: String) -> [String] {
      var bytes: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 4096)
      while !bytes.ends(with: Array("\(last)\n".utf8)) {
        let count = read(reading, &chunk, chunk.count)
        guard count > 0 else { break }
        bytes += chunk[..<count]
      }
      return bytes.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
    }

    func closeBoth() {
      close(reading)
      close(writing)
    }
  }

  private func writer(_ pipe: SmallPipe, capacity: Int) -> LogWriter {
    LogWriter(descriptor: pipe.writing, capacity: capacity) { "left out \($0)" }
  }

  @Test(.timeLimit(.minutes(20))) func aFullPipeStopsNobodyAndEveryLineIsThereOrCounted() throws {
    let pipe = try SmallPipe()
    defer { pipe.closeBoth() }
    let log = writer(pipe, capacity: 16_384)
    let written = 5000
    // Far more than the pipe and the buffer hold; a writer that waited would stay here for ever.
    for number in 0..<written { log.write("line \(number)") }
    #expect(!log.flush(timeout: 0.01), "nobody has read")

    // The reader goes on: what had room comes in order, and a line stands for the others.
    let reader = Thread {
      while !log.flush(timeout: 10) {}
      log.write("end")
    }
    reader.start()
    let lines = pipe.lines(until: "end")
    var next = 0
    var missing = 0
    for line in lines.dropLast() {
      if let count = line.split(separator: " ").last.flatMap({ Int($0) }), line.hasPrefix("left out") {
        missing += count
        next += count
      } else {
        #expect(line == "line \(next)")
        next += 1
      }
    }
    #expect(next == written && missing > 0 && missing < written, "\(missing) of \(next) are missing")
  }

  @Test(.timeLimit(.minutes(20))) func whatHadRoomIsThereWhenTheReaderComesLate() throws {
    let pipe = try SmallPipe()
    defer { pipe.closeBoth() }
    let log = writer(pipe, capacity: 1 << 20)
    let text = String(repeating: "x", count: 100)
    for number in 0..<2000 { log.write("\(number) \(text)") }
    log.write("end")
    let lines = pipe.lines(until: "end")
    #expect(lines.count == 2001)
    #expect(lines.dropLast().enumerated().allSatisfy { $1 == "\($0) \(text)" })
    #expect(log.flush(timeout: Double(TestLimit.seconds)))
  }

  @Test(.timeLimit(.minutes(20))) func aReaderThatIsGoneStopsNobody() throws {
    let pipe = try SmallPipe()
    signal(SIGPIPE, SIG_IGN)
    close(pipe.reading)
    defer { close(pipe.writing) }
    let log = writer(pipe, capacity: 4096)
    for number in 0..<1000 { log.write("line \(number)") }
    #expect(log.flush(timeout: Double(TestLimit.seconds)))
  }

  @Test func nothingFromOutsideReachesTheTerminalAsItIs() {
    let line = Log.text(LogRecord(event: .workerOutput, text: "test[7] p1: \u{1B}[2Jcleared\u{7}"))
    #expect(line.hasSuffix(#"test[7] p1: \u{1b}[2Jcleared\u{7}"#), "\(line)")
  }

  @Test func theLineThatTellsOfMissingOnesIsAnEventLikeOthers() throws {
    let pipe = try SmallPipe()
    defer { pipe.closeBoth() }
    let log = Log.lines(to: pipe.writing, capacity: 8192) { Log.json($0, at: "now").text }
    for number in 0..<5000 { log("line \(number)") }
    let reader = Thread {
      log.flush()
      log("end")
    }
    reader.start()
    let end = Log.json(LogRecord(event: .note, text: "end"), at: "now").text
    let lines = pipe.lines(until: end)
    #expect(lines.contains { $0.contains(#""level":"warning","event":"log.left-out""#) && $0.contains(#""count":"#) })
  }
}

extension [UInt8] {
  fileprivate func ends(with other: [UInt8]) -> Bool { suffix(other.count).elementsEqual(other) }
}
