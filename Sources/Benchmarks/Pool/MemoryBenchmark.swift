import Foundation
import Jobs
import WorkerPool

/// The memory of a pool with a million queued jobs, and of its processes after these jobs have run.
enum MemoryBenchmark {
  static var measures: [Measure] { [Measure(name: "memory") { try measure($0) }] }
  private static let jobsPerFile = 10_000
  /// Seconds after which a pool has done what it does when nothing comes any more.
  private static let quiet = 3.0

  private static func measure(_ options: Options) throws -> [Figure] {
    let count = options.backlog
    let pool = try PoolProcess(workers: 2)
    defer { pool.end() }
    _ = try pool.client.request(StatusRequest(.pause))
    var longest = 0
    for (number, start) in stride(from: 0, to: count, by: jobsPerFile).enumerated() {
      let requests = Array(repeating: JobRequest(kind: NoOperation.kind), count: min(jobsPerFile, count - start))
      try Data(JobFile.text(requests).utf8).write(to: URL(fileURLWithPath: pool.path("job.tmp")))
      rename(pool.path("job.tmp"), pool.path("incoming/\(number).json"))
    }
    while try !pool.hasTakenAll() {
      longest = max(longest, pool.logBytes)
      usleep(10_000)
    }
    Thread.sleep(forTimeInterval: quiet)
    let queued = ProcessSample(pool.pid).mebibytes
    _ = try pool.client.request(StatusRequest(.resume))
    let start = MachineClock.now
    var most = 0.0
    while try pool.client.request(StatusRequest(.status)).status?.counters.done ?? 0 < count {
      most = max(most, ProcessSample(pool.pid).mebibytes)
      longest = max(longest, pool.logBytes)
      usleep(500_000)
    }
    let seconds = MachineClock.now - start
    Thread.sleep(forTimeInterval: quiet)
    let workers = pool.workers.map { ProcessSample($0).mebibytes }
    return [
      Figure("\(count) jobs queued: memory of the pool (PSS)", .mebibytes, queued),
      Figure("\(count) short jobs, 2 workers", .rate, Double(count) / seconds),
      Figure("while they run: most memory of the pool (PSS)", .mebibytes, most),
      Figure("after them: memory of the pool (PSS)", .mebibytes, ProcessSample(pool.pid).mebibytes),
      Figure("after them: memory of a worker (PSS)", .mebibytes, workers.reduce(0, +) / Double(workers.count)),
      Figure("longest log (WAL) of all that time", .mebibytes, Double(longest) / 1_048_576),
    ]
  }
}
