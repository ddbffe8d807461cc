import Foundation
import Jobs
import LinuxSystem
import WorkerPool

/// A thousand workers: how long they take to come up, what they cost while they have nothing to do, how many jobs they
/// run, how long they take to end, and how long a status request takes meanwhile. Then what a job costs that comes
/// alone, which does not depend on the idle workers. With fewer `--rows`, as many workers.
enum ManyWorkers {
  static var measures: [Measure] { [Measure(name: "workers", run: run)] }
  private static let idleTime = 10.0
  private static let fewWorkers = 10
  private static let jobsAlone = 300

  private static func run(_ options: Options) throws -> [Figure] {
    let count = min(options.rows, PoolLimit.workers)
    return try figures(workers: count)
      + Set([fewWorkers, count]).sorted().flatMap { try figuresOfJobsAlone(workers: $0, options) }
  }

  private static func figures(workers count: Int) throws -> [Figure] {
    let start = MachineClock.now
    let pool = try BenchmarkPool(workers: count)
    var times: [Double] = []
    func isUp() throws -> Bool {
      let asked = MachineClock.now
      let status = try pool.client.request(StatusRequest(.status)).status
      times.append(MachineClock.now - asked)
      if let failure = status?.plugins.first?.failure { throw UsageError("the workers did not start: \(failure)") }
      return status?.workers.count { $0.phase == "up" } == count
    }
    while try !isUp() { usleep(10_000) }
    let up = MachineClock.now - start

    let before = ProcessSample(getpid())
    Thread.sleep(forTimeInterval: idleTime)
    let idle = ProcessSample(getpid()).processorSeconds - before.processorSeconds

    let jobs = 20 * count
    _ = try pool.client.request(StatusRequest(.pause))
    try pool.insert((1..<jobs).map { _ in JobRequest(kind: NoOperation.kind) } + [BenchmarkPool.mark])
    let resumed = MachineClock.now
    _ = try pool.client.request(StatusRequest(.resume))
    let working = pool.nextMark() - resumed
    guard try pool.waitForSuccess(of: jobs) == jobs else { throw UsageError("jobs were not done once") }

    let told = MachineClock.now
    try pool.end()
    let ended = MachineClock.now - told
    return [
      Figure("\(count) workers: until all are up", .seconds, up),
      Figure("\(count) workers: status meanwhile, median", .seconds, times.median),
      Figure("\(count) workers: status meanwhile, longest", .seconds, times.max() ?? 0),
      Figure("\(count) workers: the pool's processor time in \(Int(idleTime)) idle seconds", .seconds, idle),
      Figure("\(count) workers: no-op jobs", .rate, Double(jobs) / working),
      Figure("\(count) workers: until all have ended", .seconds, ended),
    ]
  }

  /// Jobs of which each is put into the queue when the one before it has ended, while the other workers are idle.
  private static func figuresOfJobsAlone(workers count: Int, _ options: Options) throws -> [Figure] {
    let pool = try PoolProcess(workers: count)
    defer { pool.end() }
    _ = try pool.client.request(StatusRequest(.observe))
    var number = 0
    /// The seconds from the renaming of a job file to the start of its job.
    func runJob() throws -> Double {
      number += 1
      let file = pool.path("job.tmp")
      try Data(#"{"kind": "no-operation", "parameters": {}}"#.utf8).write(to: URL(fileURLWithPath: file))
      let renamed = MachineClock.now
      rename(file, pool.path("incoming/\(number).json"))
      let seconds = pool.starts.next() - renamed
      while try pool.client.next().ended == nil {}
      return seconds
    }
    // The first ones come while the pool still does the work of its start.
    for _ in 0..<jobsAlone { _ = try runJob() }
    var processor = Figure(
      name: "\(count) workers: the pool's processor time for a job that comes alone", unit: .seconds, ours: [])
    var latency = Figure(name: "\(count) workers: job file renamed → job started, median", unit: .seconds, ours: [])
    for _ in 0..<options.rounds {
      let before = ProcessSample(pool.pid)
      latency.ours.append(try (0..<jobsAlone).map { _ in try runJob() }.median)
      let used = ProcessSample(pool.pid).processorSeconds - before.processorSeconds
      processor.ours.append(used / Double(jobsAlone))
    }
    return [processor, latency]
  }
}
