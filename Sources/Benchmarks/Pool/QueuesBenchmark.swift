import Foundation
import Jobs
import WorkerPool

/// The cost of jobs that are each alone in their queue, beside as many jobs in one queue, and the time to answer a
/// status request meanwhile.
enum QueuesBenchmark {
  static var measures: [Measure] { [Measure(name: "queues") { try measure($0) }] }

  private static func measure(_ options: Options) throws -> [Figure] {
    let count = min(options.rows, 100_000)
    let one = try run(count) { _ in JobRequest(kind: NoOperation.kind) }
    let queues = try run(count) { JobRequest(kind: NoOperation.kind, queue: "queue-\($0)") }
    let keys = try run(count) { number in
      var request = JobRequest(kind: NoOperation.kind)
      request.limitKey = "key-\(number)"
      return request
    }
    func figures(_ name: String, _ result: Result) -> [Figure] {
      let rate = Figure(
        name: "\(count) no-op jobs, \(name)", unit: .rate, ours: [Double(count) / result.seconds],
        plain: [Double(count) / one.seconds], comparedWith: "one queue")
      guard let longest = result.status.max() else { return [rate] }
      return [
        rate, Figure("status meanwhile, \(name): median", .seconds, result.status.median),
        Figure("status meanwhile, \(name): longest", .seconds, longest),
      ]
    }
    return figures("one queue", one) + figures("a queue for each", queues) + figures("a limit key for each", keys)
  }

  private struct Result {
    let seconds: Double
    let status: [Double]
  }

  private static func run(_ count: Int, request: (Int) -> JobRequest) throws -> Result {
    let pool = try BenchmarkPool(workers: 2)
    try pool.warmUp()
    _ = try pool.client.request(StatusRequest(.pause))
    for start in stride(from: 0, to: count - 1, by: 10_000) {
      try pool.insert((start..<min(start + 10_000, count - 1)).map(request))
    }
    try pool.insert([BenchmarkPool.mark])

    let start = MachineClock.now
    _ = try pool.client.request(StatusRequest(.resume))
    var times: [Double] = []
    while !pool.waitForMark(milliseconds: 100) {
      let asked = MachineClock.now
      _ = try pool.client.request(StatusRequest(.status))
      times.append(MachineClock.now - asked)
    }
    let seconds = pool.nextMark() - start
    _ = try pool.waitForSuccess(of: count)
    try pool.end()
    return Result(seconds: seconds, status: times)
  }
}
