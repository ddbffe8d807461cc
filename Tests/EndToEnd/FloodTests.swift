import Foundation
import TestFiles
import Testing
import WorkerPool

/// Sources that never stop: each has its share of the pool's time, and a bound on its memory.
///
/// `WORKERPOOL_FLOOD=60` makes them last for a minute each, and the files five times as many.
@Suite(.serialized) struct FloodTests {
  /// One that runs for as long as this object lives.
  private final class Flood {
    private let process = Process()

    init(on socket: String, _ manner: String) throws {
      process.executableURL = URL(fileURLWithPath: Built.path("fake-worker"))
      process.arguments = ["flood", socket, manner]
      process.standardInput = FileHandle.nullDevice
      try process.run()
    }

    var isRunning: Bool { process.isRunning }

    deinit {
      // SIGTERM may be blocked: a process inherits the mask of the thread that starts it.
      process.send(SIGKILL)
      process.waitUntilExit()
    }
  }

  private static let seconds = ProcessInfo.processInfo.environment["WORKERPOOL_FLOOD"].flatMap(Double.init)

  /// Resident memory in KiB, as proc(5) tells.
  private func memory(of pid: Int32) throws -> Int {
    let lines = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8).split(separator: "\n")
    let words = try #require(lines.first { $0.hasPrefix("VmRSS:") }).split(separator: " ")
    return try #require(Int(words[1]))
  }

  @Test(.timeLimit(.minutes(20)), arguments: ["garbage", "unread", "slow"])
  func aFloodOnTheStatusSocketDelaysNobodyAndCostsNoMemory(manner: String) throws {
    let items = try ItemPool()
    let pool = try items.start()
    try pool.wait { $0.workers.contains { $0.phase == "up" } }
    let before = try memory(of: pool.pid)
    let floods = try (0..<2).map { _ in try Flood(on: items.queue + "/run/status.sock", manner) }

    let clock = ContinuousClock()
    let end = Self.seconds.map { clock.now + .seconds($0) }
    var slowest = Duration.zero
    var answers = 0
    while end.map({ clock.now < $0 }) ?? (answers < 100) {
      slowest = max(slowest, try clock.measure { _ = try pool.status() })
      answers += 1
    }
    let job = try clock.measure {
      try items.submit("add")
      try pool.waitForJobs(1)
    }
    let growth = try memory(of: pool.pid) - before
    let areRunning = floods.allSatisfy(\.isRunning)
    #expect(areRunning)
    #expect(slowest < .seconds(60) && job < .seconds(60), "a status took \(slowest), a job \(job)")
    #expect(growth < 40 << 10, "the pool grew by \(growth) KiB")
    withExtendedLifetime(floods) {}
    try pool.stop()
    try items.checkNothingIsLeft(of: pool)
  }

  /// Each file is a commit, or one of a few in one: the log grows fast, and nobody tells the pool.
  @Test(.timeLimit(.minutes(20))) func theLogStaysShortWhileManyFilesComeOneByOne() throws {
    let count = Self.seconds == nil ? 6000 : 30_000
    let items = try ItemPool()
    let pool = try items.start()
    _ = try pool.command("pause")
    var longest = 0
    func measureLog() {
      var status = stat()
      if stat(items.store + "-wal", &status) == 0 { longest = max(longest, Int(status.st_size)) }
    }
    for number in 0..<count {
      let file = URL(fileURLWithPath: items.queue + "/job.tmp")
      try Data(#"{"kind": "add", "parameters": {"number": \#(number)}}"#.utf8).write(to: file)
      try #require(rename(file.path, items.queue + "/incoming/\(number).json") == 0)
      measureLog()
    }
    try pool.wait { _ in
      measureLog()
      return try items.isTaken
    }
    try pool.stop()
    #expect(longest < 16 << 20, "\(longest >> 20) MiB")
    #expect(
      try sqlite(items.store, "SELECT count(*), count(DISTINCT ZPARAMETERS) FROM WPPOOLJOB") == "\(count)|\(count)")
    #expect(try sqlite(items.store, "SELECT count(*) FROM WPPOOLFILE") == "0")
    #expect(try sqlite(items.store, "PRAGMA integrity_check") == "ok")
  }
}
