import Foundation
import Jobs
import LinuxSystem
import WorkerPool

/// A pool in a process of its own. This executable is the pool, and the plugin of its workers.
final class PoolProcess {
  private static let variable = "BENCHMARK_POOL"

  let queue: String
  /// The store's file.
  let store: String
  /// The process IDs of the workers.
  let workers: [Int32]
  let client: StatusClient
  let starts: StartPipe
  private let directory: URL
  private let process = Process()

  var pid: Int32 { process.processIdentifier }

  /// Starts the pool, and returns once all workers are up.
  init(workers count: Int) throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("pool-\(UUID().uuidString)")
    let model = directory.appendingPathComponent("Empty.xcdatamodel")
    for folder in [model.path, directory.path + "/plugins"] {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
    let text = #"<model type="com.apple.IDECoreDataModeler.DataModel"><entity name="Thing"/></model>"#
    try Data(text.utf8).write(to: model.appendingPathComponent("contents"))
    try FileManager.default.createSymbolicLink(
      atPath: directory.path + "/plugins/worker-bench", withDestinationPath: PoolConfiguration.executablePath)
    starts = StartPipe(in: directory.path)
    queue = directory.path + "/queue"
    store = directory.path + "/app.sqlite"
    process.executableURL = URL(fileURLWithPath: PoolConfiguration.executablePath)
    process.environment = ProcessInfo.processInfo.environment.merging(
      [Self.variable: "\(count) \(directory.path)", NoOperation.pipeVariable: starts.path],
      uniquingKeysWith: { $1 })
    process.standardError = FileHandle.nullDevice
    try process.run()
    (client, workers) = Self.connect(queue, workers: count)
  }

  /// Runs as the pool if this process was started as one.
  static func runIfWanted() throws {
    guard let value = ProcessInfo.processInfo.environment[variable] else { return }
    unsetenv(variable)
    let words = value.split(separator: " ", maxSplits: 1)
    guard words.count == 2, let workers = Int(words[0]) else { throw UsageError("\(variable) is \(value)") }
    let directory = String(words[1])
    var configuration = PoolConfiguration(
      store: directory + "/app.sqlite", model: directory + "/Empty.xcdatamodel", queue: directory + "/queue",
      workers: workers, pluginDirectories: [directory + "/plugins"])
    configuration.log = .silent
    configuration.extraEnvironment = ProcessInfo.processInfo.environment.filter { $0.key == NoOperation.pipeVariable }
    exit(try Pool.run(configuration))
  }

  private static func connect(_ queue: String, workers count: Int) -> (StatusClient, [Int32]) {
    while true {
      // Until it answers the pool is starting, and is asked again.
      if let client = try? StatusClient(queue: queue), let status = try? client.request(StatusRequest(.status)).status {
        let up = status.workers.filter { $0.phase == "up" }
        if up.count == count { return (client, up.compactMap(\.pid)) }
      }
      usleep(10_000)
    }
  }

  /// Ends the pool and removes its files.
  func end() {
    process.terminate()
    process.waitUntilExit()
    // A directory that stays is a temporary one.
    try? FileManager.default.removeItem(at: directory)
  }

  /// A path on the file system of `incoming/`.
  func path(_ name: String) -> String { queue + "/" + name }

  /// Whether every file is taken and its jobs are on disk: only then it is removed.
  func hasTakenAll() throws -> Bool {
    // A file goes from the first directory to the second.
    try ["incoming", "taken"].allSatisfy {
      // The pool's own file in `taken`, by which it knows the directory again, stays.
      try FileManager.default.contentsOfDirectory(atPath: path($0)).allSatisfy { $0.hasPrefix(".") }
    }
  }

  var logBytes: Int {
    var status = stat()
    return stat(store + "-wal", &status) == 0 ? Int(status.st_size) : 0
  }
}

/// The kernel's counters of a process at one moment. Source: proc(5).
struct ProcessSample {
  let processorSeconds: Double
  /// The voluntary context switches of each thread: each one is a wake-up.
  private var switches: [String: Int] = [:]
  private(set) var proportionalKiB = 0

  init(_ pid: Int32) {
    processorSeconds = ProcessUsage.processorSeconds(of: pid) ?? 0
    // A process that has ended has no threads.
    for thread in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? [] {
      switches[thread] = Self.number("voluntary_ctxt_switches:", in: "/proc/\(pid)/task/\(thread)/status")
    }
    proportionalKiB = Self.number("Pss:", in: "/proc/\(pid)/smaps_rollup")
  }

  var mebibytes: Double { Double(proportionalKiB) / 1024 }

  /// A thread that ended since counts once: it woke up to end.
  func wakeUps(since before: ProcessSample) -> Int {
    let ended = before.switches.keys.filter { switches[$0] == nil }.count
    return switches.reduce(ended) { $0 + $1.value - before.switches[$1.key, default: 0] }
  }

  private static func number(_ name: String, in path: String) -> Int {
    // A thread that has ended meanwhile counts as 0.
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
    return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
  }
}
