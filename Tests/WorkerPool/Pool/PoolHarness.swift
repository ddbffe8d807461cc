import CSystem
import CoreData
import Foundation
import Jobs
import StoreTools
import Synchronization
import TestFiles
import Testing
import WorkerProtocol

@testable import WorkerPool

/// How long a test waits for something that should happen soon, before it says that it did not.
private let timeout = Double(TestLimit.seconds)

/// A list that one thread adds to and another waits on.
///
/// `@unchecked Sendable`: `elements` is only touched while `condition` is locked.
final class Collected<Element: Sendable>: @unchecked Sendable {
  private let condition = NSCondition()
  private var elements: [Element] = []

  func add(_ element: Element) {
    condition.lock()
    elements.append(element)
    condition.broadcast()
    condition.unlock()
  }

  var all: [Element] {
    condition.lock()
    defer { condition.unlock() }
    return elements
  }

  /// Waits until the list satisfies a condition, and returns whether it did in time.
  func wait(until isSatisfied: ([Element]) -> Bool) -> Bool {
    condition.lock()
    defer { condition.unlock() }
    let deadline = Date(timeIntervalSinceNow: timeout)
    while !isSatisfied(elements) {
      if !condition.wait(until: deadline) { return isSatisfied(elements) }
    }
    return true
  }
}

/// Ready jobs in memory instead of a store.
final class MemoryJobSource: JobSource {
  private struct State {
    var ready: [WindowJob] = []
    /// All jobs that were ready once.
    var all: [JobKey: WindowJob] = [:]
    var failures: [JobKey: FailureSummary] = [:]
    var report: (@Sendable (JobSourceEvent) -> Void)?

    mutating func add(_ jobs: [WindowJob]) {
      ready += jobs
      for job in jobs { all[job.key] = job }
    }
  }

  private let state: Mutex<State>
  /// As a store that does not answer.
  let isSilent = Atomic<Bool>(false)
  /// What it answers.
  let overview = Mutex(StoreOverview())
  let settled = Collected<Settlement>()
  /// The number of settlements that fail, as in a store that cannot be written.
  let failingSettlements = Atomic<Int>(0)
  let cancelled = Collected<JobKey>()
  /// What it was asked for that comes with time.
  let asked = Collected<String>()
  let checkpoints = Collected<WALCheckpointer.Effort>()
  let prunings = Collected<Void>()
  /// The names of the files that it was asked to take; `nil`: all.
  let takes = Collected<[String]?>()
  /// As a log that a reader keeps long.
  let isLogHeld = Atomic<Bool>(false)

  init(_ jobs: [WindowJob]) {
    var state = State()
    state.add(jobs)
    self.state = Mutex(state)
  }

  func add(_ jobs: [WindowJob]) {
    state.withLock { $0.add(jobs) }
    report(.took(jobs: jobs.count, ready: [], someWait: false, postponed: 0, messages: []))
  }

  private func report(_ event: JobSourceEvent) { state.withLock { $0.report }?(event) }

  func start(reporting report: @escaping @Sendable (JobSourceEvent) -> Void) {
    state.withLock { $0.report = report }
    report(.started(JobSourceStart(jobURIs: FakeJob.uris)))
  }

  func fetchReady(_ query: ReadyQuery) {
    let all = state.withLock { state in
      let isWanted: (WindowJob) -> Bool = { $0.kind == query.kind }
      defer { state.ready.removeAll(where: isWanted) }
      // What was handed out is gone from here: the fake workers write no rows.
      return state.ready.filter(isWanted)
    }
    report(.fetched(query, all, isComplete: true, seconds: 0))
  }

  func release(after ended: [JobKey]) { report(.released([], remain: false, reason: nil)) }

  func settle(_ jobs: [JobKey], _ settlement: Settlement) {
    settled.add(settlement)
    if failingSettlements.load(ordering: .relaxed) > 0 {
      failingSettlements.subtract(1, ordering: .relaxed)
      report(.settlementFailed(jobs, settlement, reason: "the disk is full"))
    } else {
      report(.settled(jobs))
    }
  }

  func promoteDueJobs() {
    asked.add("due jobs")
    report(.promoted([], areMore: false, next: nil))
  }

  func cancel(_ jobs: [JobKey], ticket: Int?) {
    for job in jobs { cancelled.add(job) }
    if let ticket { report(.replied(ticket: ticket, count: jobs.count, error: nil)) }
  }

  func retry(_ jobs: [JobKey], ticket: Int) { report(.replied(ticket: ticket, count: jobs.count, error: nil)) }
  func delete(_ jobs: [JobKey], in states: [JobState], evenIfAwaited: Bool, ticket: Int) {
    report(.deleted(ticket: ticket, asked: jobs, deleted: jobs, awaited: 0, reason: nil))
  }
  func savePauses(_ pauses: JobPauses, ticket: Int) { report(.replied(ticket: ticket, count: 0, error: nil)) }
  func findNewestJob() {}
  func submitPeriodic() {
    asked.add("periodic entries")
    report(.periodic([], next: nil, messages: []))
  }

  func prune() { prunings.add(()) }
  func noteHistory(_ minutes: [HistoryGauges]) { _ = minutes }
  func readOverview(at ended: [JobKey], running: [JobKey], completion: @escaping @Sendable (StoreOverview) -> Void) {
    if !isSilent.load(ordering: .relaxed) { completion(overview.withLock(\.self)) }
  }
  func setKinds(_ kinds: [PluginDescription.Kind], areAll: Bool) {}
  func takeFiles(_ names: [String]?) {
    takes.add(names)
    report(.took(jobs: 0, ready: [], someWait: false, postponed: 0, messages: []))
  }
  func takeFilesHere(_ names: [String]?) { takeFiles(names) }
  func checkpoint(_ effort: WALCheckpointer.Effort, ticket: Int?) {
    checkpoints.add(effort)
    report(.checkpointed(isLogHeld.load(ordering: .relaxed) ? .held : .quiet))
    if let ticket { report(.replied(ticket: ticket, count: 0, error: nil)) }
  }
  func findNames(_ asked: [AskedName], ticket: Int) {
    report(.foundNames(ticket: ticket, unknown: []))
  }
  func readReady(_ job: JobKey, ticket: Int) {
    report(.ready(ticket: ticket, state.withLock { $0.all[job] }))
  }
  func readFailures(_ jobs: [JobKey]) {
    report(.failures(state.withLock { state in state.failures.filter { jobs.contains($0.key) } }))
  }
  /// What the store says of a failed job.
  func setFailure(_ job: JobKey, _ failure: FailureSummary) { state.withLock { $0.failures[job] = failure } }
  func findSubmissions(_ tokens: [String]) { report(.submissions([:])) }
  var isBusy: Bool { false }
  func beginWatch() -> Bool { false }
  func cancelWatch() -> Bool { false }
  func endWatch() -> Double? { nil }
  func takeDelay() -> Bool { false }
  func finish() { report(.finished) }
}

/// A pool with fake workers on a thread of its own, in a directory of its own.
final class PoolHarness {
  let source: MemoryJobSource
  let log = Collected<String>()
  let effects = Collected<String>()
  private let directory: URL
  private let ended = Collected<Int32>()
  private let effectsPipe: Int32
  private let reader: Thread

  /// The executable that is built beside the tests.
  static let fakeWorker: String = PoolConfiguration.executableDirectory + "/fake-worker"

  /// Starts a pool with a fake plugin for each name.
  init(
    plugins: [String] = ["fake"], workers: Int = 1, credit: Int = 1, jobs: [WindowJob] = [], recording: Bool = false,
    configure: (inout PoolConfiguration) -> Void = { _ in }
  ) throws {
    source = MemoryJobSource(jobs)
    directory = temporaryURL("pool")
    let plugIns = directory.appendingPathComponent("plugins")
    let queue = directory.appendingPathComponent("queue")
    for folder in [plugIns, queue.appendingPathComponent("incoming"), queue.appendingPathComponent("run")] {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }
    for name in plugins {
      try FileManager.default.createSymbolicLink(
        atPath: plugIns.path + "/worker-\(name)", withDestinationPath: Self.fakeWorker)
    }
    let pipe = directory.path + "/effects"
    #expect(mkfifo(pipe, 0o600) == 0)
    // Opened for both, so that there is a reader whenever a worker writes, and no end of file when none does.
    effectsPipe = open(pipe, O_RDWR | O_CLOEXEC)
    let descriptor = effectsPipe
    let effects = effects
    reader = Thread {
      var decoder = LineDecoder()
      var chunk = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = read(descriptor, &chunk, chunk.count)
        guard count > 0 else { return }
        decoder.append(chunk[..<count])
        while let line = try? decoder.next() {
          if line == "END OF TEST" { return }
          effects.add(line)
        }
      }
    }
    reader.start()

    let log = log
    var configuration = PoolConfiguration(
      store: directory.path + "/app.sqlite", model: directory.path + "/App.xcdatamodeld", queue: queue.path,
      workers: workers, pluginDirectories: [plugIns.path])
    configuration.handlesSignals = false
    configuration.log = Log { log.add($0) }
    configuration.recording = recording ? directory.path + "/recording" : nil
    configuration.extraEnvironment = [
      "FAKE_WORKER_EFFECTS": pipe, "FAKE_WORKER_CREDIT": "\(credit)",
      "FAKE_WORKER_BEHAVIOURS": FakeJob.behaviours.joined(separator: ","),
    ]
    configure(&configuration)
    let ended = ended
    let source = source
    // The thread must live as long as its workers: the kernel signals them when the thread that started them ends.
    let thread = Thread { [configuration] in
      do {
        let server = try PoolServer(configuration, source: source)
        ended.add(server.run())
      } catch {
        log.add("the pool did not start: \(error)")
      }
    }
    thread.start()
    #expect(log.wait { $0.contains { $0.hasPrefix("running on") } }, "\(log.all)")
    queuePath = queue.path
  }

  let queuePath: String
  func pluginPath(_ name: String) -> String { directory.path + "/plugins/worker-\(name)" }
  var recording: String { (try? String(contentsOfFile: directory.path + "/recording", encoding: .utf8)) ?? "" }

  func request(_ request: StatusRequest) throws -> StatusReply {
    try StatusClient(queue: queuePath).request(request)
  }

  func status() throws -> PoolStatus {
    try #require(try request(StatusRequest(.status)).status)
  }

  /// Waits for a log line that contains the text.
  func waitForLog(_ text: String, count: Int = 1) -> Bool {
    log.wait { $0.count { $0.contains(text) } >= count }
  }

  /// Waits until the pool has ended by itself; its exit code.
  func waitForExit() -> Int32? { ended.wait { !$0.isEmpty } ? ended.all.first : nil }

  /// Stops the pool, and checks that it leaves no process behind.
  func end(deadline: Double = 30) throws {
    let pids = try status().workers.compactMap(\.pid)
    if ended.all.isEmpty { _ = try request(StatusRequest(.stop, deadline: deadline)) }
    #expect(ended.wait { !$0.isEmpty }, "the pool did not stop: \(log.all)")
    for pid in pids { #expect(kill(-pid, 0) != 0, "process group \(pid) is left behind") }
  }

  deinit {
    var line = "END OF TEST\n"
    _ = line.withUTF8 { write(effectsPipe, $0.baseAddress, $0.count) }
    close(effectsPipe)
    try? FileManager.default.removeItem(at: directory)
  }
}

/// Jobs whose keys tell the fake worker what to do: the behaviour is in their last two digits.
enum FakeJob {
  static let behaviours = [
    "ok", "save", "crash", "exit", "stopped", "flood", "describe", "hold", "hang", "chatter", "nonsense", "orphan",
    "fail",
  ]
  static let uris = JobURIs(store: "POOL")

  static func key(_ behaviour: String, _ number: Int) -> JobKey {
    JobKey(number * 100 + behaviours.firstIndex(of: behaviour)!)
  }

  static func uri(_ behaviour: String, _ number: Int) -> String { uris[key(behaviour, number)].description }
}

func fakeJob(_ behaviour: String, _ number: Int, kind: String = "fake", timeout: Double? = nil) -> WindowJob {
  WindowJob(key: FakeJob.key(behaviour, number), kind: kind, queue: "default", priority: 0, timeout: timeout)
}
