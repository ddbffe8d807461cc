import CSystem
import CoreData
import Foundation
import Jobs
import Synchronization
import TestFiles
import Testing
import WorkerPool
import WorkerProtocol

/// A real pool with the tests' plugin on a store of its own with a few items, each with a `value` of 0.
final class JobPool {
  let directory: URL
  let store: JobStore
  let configuration: PoolConfiguration
  let items: [String]
  private(set) var log = LogLines()
  private var exit = Ended()
  private var observer: StatusClient?
  private var ended: Set<String> = []

  /// Lines of the pool's log, which its thread adds to.
  final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])
    /// Signalled when the pool has opened its store and listens, and when it could not start.
    let started = DispatchSemaphore(value: 0)
    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) {
      lines.withLock { $0.append(line) }
      if line.hasPrefix("running on") || line.hasPrefix("the pool did not start") { started.signal() }
    }
  }

  /// Set when the pool's thread is done.
  final class Ended: Sendable {
    let code = Mutex<Int32?>(nil)
    let semaphore = DispatchSemaphore(value: 0)
  }

  static let model = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" sourceLanguage="Swift">
      <entity name="Item" representedClassName="Item" syncable="YES">
        <attribute name="name" optional="YES" attributeType="String"/>
        <attribute name="value" optional="YES" attributeType="Integer 64" defaultValueString="0"
          usesScalarValueType="YES"/>
      </entity>
    </model>
    """

  init(items count: Int = 1, workers: Int = 1, environment: [String: String] = [:], isStarted: Bool = true) throws {
    directory = temporaryURL("jobs")
    let model = directory.appendingPathComponent("Items.xcdatamodel")
    let plugIns = directory.appendingPathComponent("plugins")
    for folder in [model, plugIns] {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }
    try Data(Self.model.utf8).write(to: model.appendingPathComponent("contents"))
    try FileManager.default.createSymbolicLink(
      atPath: plugIns.path + "/worker-test",
      withDestinationPath: PoolConfiguration.executableDirectory + "/test-worker")
    let url = directory.appendingPathComponent("app.sqlite")
    store = try JobStore(url: url, model: try #require(NSManagedObjectModel(contentsOf: model)))
    let context = store.makeContext(name: "test")
    items = try context.performAndWait {
      let items = (0..<count).map { number in
        let item = NSEntityDescription.insertNewObject(forEntityName: "Item", into: context)
        item.setValue("item \(number)", forKey: "name")
        return item
      }
      try context.save()
      return items.map(\.objectID.uriString)
    }
    var configuration = PoolConfiguration(
      store: url.path, model: model.path, queue: directory.path + "/queue", workers: workers,
      pluginDirectories: [plugIns.path])
    configuration.handlesSignals = false
    configuration.extraEnvironment = environment
    configuration.recording = directory.path + "/recording"
    let log = log
    configuration.log = Log { log.add($0) }
    self.configuration = configuration
    try QueueLayout(root: configuration.queue).create()
    if isStarted { try start() }
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  /// Starts the pool on a thread of its own and observes it; jobs that wait in the store are begun when all can be
  /// seen.
  func start(resuming: Bool = true) throws {
    if resuming { try pause() }
    exit = Ended()
    let exit = exit
    let log = log
    let configuration = configuration
    let thread = Thread {
      do {
        let code = try Pool.run(configuration)
        exit.code.withLock { $0 = code }
      } catch {
        log.add("the pool did not start: \(error)")
      }
      exit.semaphore.signal()
    }
    thread.start()
    let told = log.started.wait(timeout: TestLimit.time)
    try #require(told == .success && log.all.last?.hasPrefix("the pool did not start") == false, "\(log.all)")
    observer = try StatusClient(queue: configuration.queue)
    #expect(try observer?.request(StatusRequest(.observe)).ok == true, "\(log.all)")
    if resuming { #expect(try request(StatusRequest(.resume)).ok) }
  }

  /// Puts a job file into the queue directory.
  func drop(_ text: String, as name: String) throws {
    let path = configuration.queue + "/\(name).tmp"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    #expect(rename(path, configuration.queue + "/incoming/" + name) == 0)
  }

  /// Waits until the jobs in the store are as wanted, asking again with each that ends.
  func waitForJobs(until isSatisfied: ([Job]) -> Bool) throws {
    let context = store.makeContext(name: "check")
    func areAsWanted() throws -> Bool {
      try context.performAndWait {
        context.reset()
        return isSatisfied(try context.fetch(Job.fetchRequest()))
      }
    }
    while try !areAsWanted() { _ = try observer?.next() }
  }

  func jobURIs(_ keys: ClosedRange<Int64>) -> [String] { store.jobURIs.texts(keys) }

  /// Makes the pool start with its queue paused.
  private func pause() throws {
    let context = store.makeContext(name: "pause")
    try context.performAndWait {
      var pauses = JobPauses()
      pauses.all = true
      try store.setPauses(pauses, in: context)
      try context.save()
    }
  }

  // MARK: Jobs

  /// Inserts jobs into the store and tells the pool; their URIs.
  func submit(_ requests: [JobRequest]) throws -> [String] {
    let context = store.makeContext(name: "submit")
    let uris = try context.performAndWait {
      let jobs = try store.insert(requests, into: context)
      try context.save()
      return jobs.map(\.objectID.uriString)
    }
    if observer != nil { #expect(try request(StatusRequest(.nudge)).ok) }
    return uris
  }

  /// One job on one item.
  func submit(_ kind: String, item: Int = 0, parameters: String? = nil) throws -> String {
    try submit([JobRequest(kind: kind, objects: [items[item]], parameters: parameters)])[0]
  }

  /// Waits until an attempt of each job has ended since the last wait for it.
  func waitForEnd(of jobs: [String]) throws {
    var missing = Set(jobs).subtracting(ended)
    while !missing.isEmpty {
      guard let reply = try observer?.next() else { return }
      for uri in reply.ended ?? [] { if missing.remove(uri) == nil { ended.insert(uri) } }
    }
    ended.subtract(jobs)
  }

  /// The next thing that the pool tells: jobs that have ended, or what a worker has saved.
  func nextEvent() throws -> StatusReply? { try observer?.next() }

  /// Waits until a `wait` job has begun, by watching the recording for its progress.
  func waitForProgress(of job: String) throws {
    let watch = csystem_inotify()
    inotify_add_watch(watch, directory.path + "/recording", UInt32(IN_MODIFY))
    defer { close(watch) }
    while !recording.contains("< PROGRESS \(job) 1 2") {
      var ready = pollfd(fd: watch, events: Int16(POLLIN), revents: 0)
      try #require(poll(&ready, 1, 30_000) == 1, "the job did not begin: \(log.all)")
      var buffer = [UInt8](repeating: 0, count: 4096)
      _ = read(watch, &buffer, buffer.count)
    }
  }

  func request(_ request: StatusRequest) throws -> StatusReply {
    try StatusClient(queue: configuration.queue).request(request)
  }

  /// Asks for numbers of now: on a busy machine the store may need longer than a person likes to wait.
  func status() throws -> PoolStatus { try #require(try request(StatusRequest(.status, deadline: 5)).status) }

  /// Makes jobs run now that wait for their next attempt.
  func retry(_ jobs: [String]) throws { _ = try request(StatusRequest(.retry, jobs: jobs)) }

  /// Waits until the jobs have succeeded or are dead. One that waits for its next attempt gets it at once.
  func finish(_ jobs: [String]) throws {
    while true {
      let unfinished = try jobStates(jobs).filter { ![.succeeded, .dead].contains($0.value) }
      if unfinished.isEmpty { return }
      try retry(Array(unfinished.keys))
      guard let reply = try observer?.next(), reply.ended != nil || reply.saved != nil else { return }
      // The store is looked at once for all that has happened meanwhile.
      while try observer?.next(within: 0) != nil {}
    }
  }

  // MARK: What is in the store

  struct Row: Equatable {
    let state: JobState
    let attempt: Int
    let crashes: Int
    let failures: [AttemptFailure]
  }

  func row(_ uri: String) throws -> Row {
    let context = store.makeContext(name: "check")
    return try context.performAndWait {
      let id = try #require(store.coordinator.objectID(forURI: uri))
      let job = try #require(try context.existingObject(with: id) as? Job)
      return Row(state: job.state, attempt: job.attempt, crashes: job.crashes, failures: job.failures)
    }
  }

  func states(_ uris: [String]) throws -> [JobState: Int] {
    try jobStates(uris).values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
  }

  /// The state of each of these jobs.
  private func jobStates(_ uris: [String]) throws -> [String: JobState] {
    let context = store.makeContext(name: "check")
    let askedURIs = Set(uris)
    return try context.performAndWait {
      try context.fetch(Job.fetchRequest()).reduce(into: [:]) { states, job in
        let uri = job.objectID.uriString
        if askedURIs.contains(uri) { states[uri] = job.state }
      }
    }
  }

  func values() throws -> [Int] {
    let context = store.makeContext(name: "check")
    return try context.performAndWait {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
      request.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: true)]
      return try context.fetch(request).map { $0.value(forKey: "value") as? Int ?? -1 }
    }
  }

  var recording: String { (try? String(contentsOfFile: directory.path + "/recording", encoding: .utf8)) ?? "" }

  // MARK: The end

  /// Stops the pool and checks that nothing of it is left.
  func end(deadline: Double = 30) throws {
    let pids = try status().workers.compactMap(\.pid)
    _ = try request(StatusRequest(.stop, deadline: deadline))
    try waitForExit()
    for pid in pids { #expect(kill(-pid, 0) != 0, "process group \(pid) is left behind") }
  }

  func waitForExit() throws {
    #expect(exit.semaphore.wait(timeout: TestLimit.time) == .success, "the pool did not end: \(log.all)")
    #expect(exit.code.withLock { $0 } == 0, "\(log.all)")
    observer = nil
  }
}

/// Tells of files that come into a directory.
struct InotifyWatch {
  private let descriptor: Int32

  init(directory: String) throws {
    descriptor = csystem_inotify()
    guard inotify_add_watch(descriptor, directory, UInt32(IN_MOVED_TO)) >= 0 else {
      throw SystemCallError("inotify_add_watch", path: directory)
    }
  }

  /// Tries again with each change of the directory, for half a minute.
  func firstResult<T>(_ body: () -> T?) throws -> T {
    defer { close(descriptor) }
    while true {
      if let result = body() { return result }
      var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      try #require(poll(&ready, 1, 30_000) == 1, "nothing happened in the directory")
      var buffer = [UInt8](repeating: 0, count: 4096)
      _ = read(descriptor, &buffer, buffer.count)
    }
  }
}
