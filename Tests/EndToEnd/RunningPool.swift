import Foundation
import Synchronization
import TestFiles
import Testing
import WorkerPool

/// `workerpool run` in a process of its own.
final class RunningPool {
  let store: String
  let model: String
  let queue: String
  private let process = Process()
  private let log: LineReader

  /// Starts a pool and waits until it says that it runs.
  ///
  /// - Parameters:
  ///   - prefix: a program with arguments that runs the pool, and is replaced by it.
  ///   - program: the `workerpool` of another version.
  init(
    _ place: TestPlace, store: String, model: String?, plugins: String, workers: Int = 2, record: String? = nil,
    options: [String] = [], environment: [String: String] = [:], queue name: String = "queue", bundled: Bool = false,
    behind prefix: [String] = [], program: String = Built.path("workerpool")
  ) throws {
    self.store = store
    self.model = model ?? store
    queue = place.path(name)
    var arguments = [
      "run", "--workers", String(workers), "--store", store, "--queue", queue, "--plugins", plugins,
    ]
    if let model { arguments += ["--model", model] }
    if !bundled { arguments.append("--without-bundled") }
    if let record { arguments += ["--record", record] }
    arguments += options
    for name in environment.keys { arguments += ["--env", name] }
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let pipe = Pipe()
    log = LineReader(pipe.fileHandleForReading)
    let words = prefix + [program] + arguments
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = pipe
    try process.run()
    try pipe.fileHandleForWriting.close()
    var said: [String] = []
    while let line = log.next() {
      said.append(line)
      if line.contains("running on") { break }
    }
    try #require(process.isRunning && !said.isEmpty, "the pool did not start: \(said.joined(separator: "\n"))")
    log.drain()
  }

  var pid: Int32 { process.processIdentifier }
  var isRunning: Bool { process.isRunning }
  /// The last lines of its log.
  var lastLines: String { log.lastLines.joined(separator: "\n") }

  func submit(_ arguments: String...) throws {
    let finished = try run(Built.path("workerpool"), ["submit", "--queue", queue] + arguments)
    try #require(finished.code == 0, "\(finished.errors)")
  }

  func command(_ arguments: String...) throws -> Finished {
    try run(Built.path("workerpool"), [arguments[0], "--queue", queue] + arguments.dropFirst())
  }

  /// Asks for numbers of now: on a busy machine the store may need longer than a person likes to wait.
  private static let question = StatusRequest(.status, deadline: 5)

  func status() throws -> PoolStatus {
    try #require(try StatusClient(queue: queue).request(Self.question).status)
  }

  /// Follows the pool until the condition holds.
  func wait(until condition: (PoolStatus) throws -> Bool) throws {
    let start = ContinuousClock.now
    do {
      let client = try StatusClient(queue: queue)
      while true {
        let status = try #require(try client.request(Self.question).status)
        if try condition(status) { return }
        if ContinuousClock.now - start > LineReader.timeout {
          Issue.record("what was waited for has not come in \(LineReader.timeout): \(status)\n\(lastLines)")
          throw TestTimeout()
        }
        poll(nil, 0, Self.pause)
      }
    } catch let failure as StatusClient.Failure {
      Issue.record("the pool ended before what was waited for: \(failure)\n\(lastLines)")
    }
  }

  /// Milliseconds between two questions to the pool, and at most between two looks at what a program tells.
  fileprivate static let pause: Int32 = 25

  /// Waits until a worker runs a job, and returns its process.
  @discardableResult
  func waitForRunningWorker() throws -> Int32 {
    var worker: Int32?
    try wait { status in
      worker = status.workers.first { !$0.running.isEmpty }?.pid
      return worker != nil
    }
    return try #require(worker)
  }

  /// Waits until so many jobs have succeeded and none is left to run; a dead one fails the test.
  func waitForJobs(_ count: Int) throws {
    try wait { status in
      let jobs = status.jobs ?? [:]
      guard (jobs["dead"] ?? 0) == 0 else {
        let dead = try run(Built.path("workerpool"), ["jobs", "--store", store, "--state", "dead", "--json"])
        Issue.record("dead jobs: \(dead.output)")
        return true
      }
      return (jobs["succeeded"] ?? 0) >= count
    }
  }

  func signal(_ signal: Int32) { process.send(signal) }

  /// Waits until the pool has ended; its exit code, or the number of the signal that killed it.
  func waitForExit() -> Int32 {
    process.waitUntilExit(within: TestLimit.seconds)
    return process.terminationStatus
  }

  /// Stops the pool in good order and checks that nothing of it is left.
  func stop() throws {
    process.terminate()
    process.waitUntilExit(within: TestLimit.seconds)
    #expect(process.terminationStatus == 0)
    #expect(try leftovers().isEmpty)
  }

  /// Kills the pool and waits until its workers are gone, too.
  func kill9() throws {
    signal(SIGKILL)
    process.waitUntilExit()
    log.waitForEnd()
  }

  /// Processes that were started for this pool, by their environment.
  func leftovers() throws -> [Int32] {
    let mark = Data("WORKERPOOL_QUEUE=\(queue)\0".utf8)
    return try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }.filter { pid in
      let environment = FileManager.default.contents(atPath: "/proc/\(pid)/environ")
      return environment?.range(of: mark) != nil
    }
  }

  deinit {
    if process.isRunning {
      kill(pid, SIGKILL)
      process.waitUntilExit()
    }
  }
}

/// What a test waited for has not come. A fault must end a run of the tests, and not stop it for ever.
struct TestTimeout: Error {}

/// Asks again and again until the condition holds, and fails the test when it does not within ``LineReader/timeout``.
///
/// For conditions that no descriptor reports, such as a row that another process writes. A condition that never holds
/// must end the test, since a test run that does not end tells nobody what is wrong.
func waitUntil(
  _ what: String, timeout: Duration = LineReader.timeout, location: SourceLocation = #_sourceLocation,
  _ condition: () throws -> Bool
) throws {
  let start = ContinuousClock.now
  var pause: Int32 = 5
  while try !condition() {
    if ContinuousClock.now - start > timeout {
      Issue.record("not in \(timeout): \(what)", sourceLocation: location)
      throw TestTimeout()
    }
    // A test that asks without a pause takes a processor from the programs for which it waits: most conditions start a
    // program.
    poll(nil, 0, pause)
    pause = min(2 * pause, RunningPool.pause)
  }
}

/// Reads lines from a pipe as they come.
final class LineReader: @unchecked Sendable {
  // `@unchecked Sendable`: one thread at a time uses it: the test's, and after `drain` the thread that it starts. The
  // drained lines are locked.
  private let handle: FileHandle
  private var unread: [UInt8] = []
  private let drained = Mutex<[String]>([])
  private let end = DispatchSemaphore(value: 0)

  init(_ handle: FileHandle) { self.handle = handle }

  /// How long a test waits for a line, or for a status that it wants: far longer than it takes on the slowest machine.
  static let timeout = Duration.seconds(TestLimit.seconds)

  /// The next line; nil when the other end is closed, and when nothing comes for so long that nothing will.
  func next(timeout: Duration? = timeout) -> String? {
    while true {
      if let newline = unread.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: unread[..<newline], as: UTF8.self)
        unread.removeSubrange(...newline)
        return line
      }
      var ready = pollfd(fd: handle.fileDescriptor, events: Int16(POLLIN), revents: 0)
      let milliseconds = timeout.map { Int32($0.components.seconds * 1000) } ?? -1
      if poll(&ready, 1, milliseconds) == 0 {
        Issue.record("nothing was said for \(milliseconds / 1000) s")
        return nil
      }
      let data = handle.availableData
      if data.isEmpty { return nil }
      unread += data
    }
  }

  /// Reads all further lines on a thread of its own, so that the writer never blocks, and keeps the last ones.
  func drain() {
    Thread.detachNewThread { [self] in
      while let line = next(timeout: nil) { drained.withLock { $0 = $0.suffix(Self.keptLines - 1) + [line] } }
      end.signal()
    }
  }

  private static let keptLines = 20

  /// The last lines that were drained.
  var lastLines: [String] { drained.withLock { $0 } }

  /// Waits until every process that has the other end is gone.
  func waitForEnd() {
    if end.wait(timeout: TestLimit.time) == .timedOut { Issue.record("a process still has the pipe open") }
  }
}
