import Foundation
import Jobs
import LinuxSystem
import WorkerPool

/// A thousand workers: how long they take to come up, what they cost while they have nothing to do, how many jobs they
/// run, how long they take to end, and how long a status request takes meanwhile. With fewer `--rows`, as many workers.
enum ManyWorkers {
  static var measures: [Measure] { [Measure(name: "workers", run: run)] }
  private static let idleTime = 10.0

  private static func run(_ options: Options) throws -> [Figure] {
    let count = min(options.rows, PoolLimit.workers)
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
}
