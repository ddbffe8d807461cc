import CSQLite
import CoreData
import Foundation
import Jobs
import LinuxSystem
import WorkerPool

/// The pool with real processes: jobs per second, and the time from a job file to its running job.
enum PoolBenchmarks {
  static var measures: [Measure] {
    [
      Measure(name: "jobs") { try [noOperations($0)] },
      Measure(name: "latency") { try latency($0) },
    ]
  }

  /// No-op jobs with two workers, each committed, beside one process in C that commits as many updates of single rows.
  private static func noOperations(_ options: Options) throws -> Figure {
    let count = min(options.rows, 50_000)
    var figure = Figure(name: "no-op jobs, 2 workers", unit: .rate, ours: [], rows: count)
    for _ in 0..<options.rounds {
      let pool = try BenchmarkPool(workers: 2)
      try pool.warmUp()
      _ = try pool.client.request(StatusRequest(.pause))
      try pool.insert((1..<count).map { _ in JobRequest(kind: NoOperation.kind) } + [BenchmarkPool.mark])
      let start = MachineClock.now
      _ = try pool.client.request(StatusRequest(.resume))
      let time = pool.nextMark() - start
      guard try pool.waitForSuccess(of: count) == count else { throw UsageError("jobs were not done once") }
      try pool.end()
      figure.ours.append(Double(count) / time)
      figure.plain.append(Double(count) / commits(count, in: pool.store.url.path))
    }
    return figure
  }

  /// The seconds for `count` commits of one changed row, in plain C.
  private static func commits(_ count: Int, in path: String) -> Double {
    let sqlite = PlainSQLite(path)
    sqlite.execute("CREATE TABLE job (id INTEGER PRIMARY KEY, state INTEGER, version INTEGER)")
    sqlite.execute("BEGIN")
    for id in 1...count { sqlite.execute("INSERT INTO job VALUES (\(id), 0, 1)") }
    sqlite.execute("COMMIT")
    let update = sqlite.prepare("UPDATE job SET state = 3, version = 2 WHERE id = ? AND version = 1")
    defer { sqlite3_finalize(update) }
    return seconds {
      for id in 1...count {
        sqlite.execute("BEGIN IMMEDIATE")
        sqlite3_bind_int64(update, 1, Int64(id))
        guard sqlite3_step(update) == SQLITE_DONE else { fatalError("the row could not be updated") }
        sqlite3_reset(update)
        sqlite.execute("COMMIT")
      }
    }
  }

  /// The time from the rename of a job file to the start of its job.
  private static func latency(_ options: Options) throws -> [Figure] {
    let pool = try BenchmarkPool(workers: 1)
    try pool.warmUp()
    var median = Figure(name: "job file renamed → job started, median", unit: .seconds, ours: [])
    var slow = Figure(name: "job file renamed → job started, p99", unit: .seconds, ours: [])
    for round in 0..<options.rounds {
      var times: [Double] = []
      for number in 0..<300 {
        let path = pool.directory.path + "/queue/job.tmp"
        try Data(#"{"kind": "no-operation", "parameters": {}}"#.utf8).write(to: URL(fileURLWithPath: path))
        let start = MachineClock.now
        rename(path, pool.directory.path + "/queue/incoming/\(round)-\(number).json")
        times.append(pool.nextMark() - start)
      }
      median.ours.append(times.median)
      slow.ours.append(times.percentile(0.99))
    }
    try pool.end()
    return [median, slow]
  }
}

/// A pool on a thread of this process that runs this executable as its plugin.
final class BenchmarkPool {
  let directory: URL
  let store: JobStore
  let client: StatusClient
  private let pipe: StartPipe
  private let ended = DispatchSemaphore(value: 0)

  /// - Parameter people: the file of the app's store, which stays; nil for an empty one.
  init(workers: Int, people: URL? = nil) throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("benchmark-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      atPath: directory.path + "/plugins", withIntermediateDirectories: true)
    let model = try people == nil ? Self.makeEmptyModel(in: directory) : PersonModel.url
    try FileManager.default.createSymbolicLink(
      atPath: directory.path + "/plugins/worker-bench", withDestinationPath: PoolConfiguration.executablePath)
    let url = people ?? directory.appendingPathComponent("app.sqlite")
    guard let loaded = NSManagedObjectModel(contentsOf: model) else { fatalError("The model above is good.") }
    store = try JobStore(url: url, model: loaded, options: [NSSQLitePragmasOption: ["wal_autocheckpoint": "0"]])

    pipe = StartPipe(in: directory.path)
    var configuration = PoolConfiguration(
      store: url.path, model: model.path, queue: directory.path + "/queue", workers: workers,
      pluginDirectories: [directory.path + "/plugins"])
    configuration.handlesSignals = false
    // All finished jobs stay in the store, because they are counted.
    configuration.retention.count = nil
    configuration.log = .silent
    configuration.extraEnvironment = [NoOperation.pipeVariable: pipe.path]
    let ended = ended
    let thread = Thread { [configuration] in
      do {
        _ = try Pool.run(configuration)
      } catch {
        FileHandle.standardError.write(Data("the pool did not start: \(error)\n".utf8))
      }
      ended.signal()
    }
    thread.start()
    client = try Self.connect(configuration.queue)
  }

  private static func makeEmptyModel(in directory: URL) throws -> URL {
    let model = directory.appendingPathComponent("Empty.xcdatamodel")
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
    let text = #"<model type="com.apple.IDECoreDataModeler.DataModel"><entity name="Thing"/></model>"#
    try Data(text.utf8).write(to: model.appendingPathComponent("contents"))
    return model
  }

  /// A connection to the running pool. While the pool opens its store another socket answers, which closes then.
  private static func connect(_ queue: String) throws -> StatusClient {
    for _ in 0..<60_000 {
      // Until it answers the pool is starting, and is asked again.
      if let client = try? StatusClient(queue: queue),
        let reply = try? client.request(StatusRequest(.status)), reply.status?.phase == "running"
      {
        return client
      }
      usleep(1000)
    }
    return try StatusClient(queue: queue)
  }

  deinit {
    // A directory that stays is a temporary one.
    try? FileManager.default.removeItem(at: directory)
  }

  /// Waits until every worker runs jobs.
  func warmUp() throws {
    try insert((1..<200).map { _ in JobRequest(kind: NoOperation.kind) } + [Self.mark])
    _ = try client.request(StatusRequest(.nudge))
    _ = nextMark()
    while try client.request(StatusRequest(.status)).status?.workers.contains(where: { $0.phase != "up" }) != false {
      usleep(1000)
    }
    _ = try waitForSuccess(of: 200)
    try clear()
  }

  /// Deletes the jobs that succeeded.
  func clear() throws {
    let context = store.makeContext(name: "clear")
    try context.performAndWait {
      for job in try context.fetch(Job.fetchRequest()) where job.state == .succeeded { context.delete(job) }
      try context.save()
    }
  }

  /// A job that reports its start. It has the lowest priority, so all other jobs have been handed out by then.
  static let mark = JobRequest(kind: NoOperation.kind, parameters: "{}", priority: -1)

  func insert(_ requests: [JobRequest]) throws {
    let context = store.makeContext(name: "insert")
    try context.performAndWait {
      try store.insert(requests, into: context)
      try context.save()
    }
  }

  /// The time at which the next ``mark`` starts, in seconds since boot.
  func nextMark() -> Double { pipe.next() }

  /// Whether ``nextMark()`` has an answer within this time.
  func waitForMark(milliseconds: Int32) -> Bool { pipe.wait(milliseconds: milliseconds) }

  /// The number of jobs of the kind that succeeded at their first attempt.
  func succeeded(kind: String = NoOperation.kind) throws -> Int {
    let context = store.makeContext(name: "count")
    return try context.performAndWait {
      let request = Job.fetchRequest()
      request.predicate = NSPredicate(
        format: "kind == %@ AND state == %d AND attempt == 1", kind, Int(JobState.succeeded.rawValue))
      return try context.count(for: request)
    }
  }

  /// When the last job of the kind ended, as its row says; nil if none has.
  func lastEnd(of kind: String) throws -> Date? {
    let context = store.makeContext(name: "end")
    return try context.performAndWait {
      let request = Job.fetchRequest()
      request.predicate = NSPredicate(format: "kind == %@ AND finishedAt != nil", kind)
      request.sortDescriptors = [NSSortDescriptor(key: "finishedAt", ascending: false)]
      request.fetchLimit = 1
      return try context.fetch(request).first?.finishedAt
    }
  }

  /// The number of ``succeeded(kind:)``, once it has reached `count`.
  func waitForSuccess(of count: Int, kind: String = NoOperation.kind) throws -> Int {
    while true {
      let succeeded = try succeeded(kind: kind)
      if succeeded >= count { return succeeded }
      usleep(10_000)
    }
  }

  func end() throws {
    _ = try client.request(StatusRequest(.stop))
    ended.wait()
  }
}
