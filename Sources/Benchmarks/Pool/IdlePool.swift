import CoreData
import Foundation
import Jobs
import WorkerPool

/// The cost of an idle pool: one minute of `workerpool run` with four workers, in processes of their own.
enum IdlePool {
  static var measures: [Measure] { [Measure(name: "idle", run: run)] }
  private static let minute = 60.0

  private static func run(_ options: Options) throws -> [Figure] {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("idle-\(UUID().uuidString)")
    let model = directory.appendingPathComponent("Empty.xcdatamodel")
    for folder in [model.path, directory.path + "/plugins"] {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
    defer { try? FileManager.default.removeItem(at: directory) }
    let text = #"<model type="com.apple.IDECoreDataModeler.DataModel"><entity name="Thing"/></model>"#
    try Data(text.utf8).write(to: model.appendingPathComponent("contents"))
    try FileManager.default.createSymbolicLink(
      atPath: directory.path + "/plugins/worker-bench", withDestinationPath: PoolConfiguration.executablePath)
    let pool = Process()
    pool.executableURL = URL(fileURLWithPath: PoolConfiguration.executableDirectory + "/workerpool")
    pool.arguments = [
      "run", "--workers", "4", "--store", directory.path + "/app.sqlite", "--model", model.path, "--queue",
      directory.path + "/queue", "--plugins", directory.path + "/plugins",
      "--without-bundled",
    ]
    pool.standardError = FileHandle.nullDevice
    try pool.run()
    defer {
      pool.terminate()
      pool.waitUntilExit()
    }
    let workers = try pids(directory.path + "/queue")
    // After this time the work of starting is done.
    Thread.sleep(forTimeInterval: 3)
    let all = [pool.processIdentifier] + workers
    let before = all.map(Usage.init)
    Thread.sleep(forTimeInterval: minute)
    let after = all.map(Usage.init)
    let processor = zip(after, before).reduce(0) { $0 + $1.0.processorSeconds - $1.1.processorSeconds }
    let wakeUps = zip(after, before).map { $0.wakeUps(since: $1) }
    let memory = after.map(\.proportionalKiB)
    return [
      Figure("idle for a minute, 4 workers: processor time", .seconds, processor),
      Figure("idle for a minute: wake-ups of the supervisor", .number, Double(wakeUps[0])),
      Figure("idle for a minute: wake-ups of the four workers", .number, Double(wakeUps.dropFirst().reduce(0, +))),
      Figure("idle: memory of the supervisor (PSS)", .mebibytes, Double(memory[0]) / 1024),
      Figure("idle: memory of a worker (PSS)", .mebibytes, Double(memory.dropFirst().reduce(0, +)) / 4 / 1024),
    ]
  }

  /// The process IDs of the four workers, once all are running.
  private static func pids(_ queue: String) throws -> [Int32] {
    while true {
      if let status = try? StatusClient(queue: queue).request(StatusRequest(.status)).status {
        let up = status.workers.filter { $0.phase == "up" }
        if up.count == 4 { return up.map(\.pid) }
      }
      usleep(10_000)
    }
  }

  /// The kernel's counters of a process. Source: proc(5).
  private struct Usage {
    var processorSeconds = 0.0
    /// The voluntary context switches of each thread: each one is a wake-up.
    private var switches: [String: Int] = [:]
    var proportionalKiB = 0

    init(_ pid: Int32) {
      // The CPU clock of the whole process, ended threads included.
      var clock = clockid_t()
      var time = timespec()
      if clock_getcpuclockid(pid, &clock) == 0, clock_gettime(clock, &time) == 0 {
        processorSeconds = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
      }
      for thread in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? [] {
        switches[thread] = Self.number("voluntary_ctxt_switches:", in: "/proc/\(pid)/task/\(thread)/status")
      }
      proportionalKiB = Self.number("Pss:", in: "/proc/\(pid)/smaps_rollup")
    }

    /// A thread that ended since counts once: it woke up to end.
    func wakeUps(since before: Usage) -> Int {
      let ended = before.switches.keys.filter { switches[$0] == nil }.count
      return switches.reduce(ended) { $0 + $1.value - before.switches[$1.key, default: 0] }
    }

    private static func number(_ name: String, in path: String) -> Int {
      let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
      let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
      return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
    }
  }
}
