import Jobs

/// How many processors the workers of a pool keep busy, from one status to the next.
///
/// ```swift
/// import PoolClient
///
/// var meter = ProcessorMeter()
/// let client = try StatusClient(queue: "queue/")
/// for second in 0..<10 {
///   if let status = try client.request(StatusRequest(.status, local: true)).status {
///     meter.note(status, at: Double(second))
///     print(meter.total)  // 0 at first, then 1.7 for nearly two processors
///   }
///   try await Task.sleep(for: .seconds(1))
/// }
/// ```
///
/// A worker counts from the second status in which it appears. A process that was replaced leaves `shares`. The figures
/// do not include the pool itself.
public struct ProcessorMeter: Sendable {
  /// The processors that each worker has kept busy between the last two statuses, by process ID.
  public private(set) var shares: [Int32: Double] = [:]
  private var last: (times: [Int32: Double], moment: Double)?

  /// - Parameter start: the moment before which the pool had no workers; nil where that is not known: the first status
  ///   then only begins to measure.
  public init(start: Double? = nil) { last = start.map { ([:], $0) } }

  /// The processors that all workers have kept busy between the last two statuses.
  public var total: Double { shares.values.reduce(0, +) }

  /// Takes a status.
  ///
  /// - Parameter moment: seconds of a monotonic clock at which the pool was asked.
  public mutating func note(_ status: PoolStatus, at moment: Double) {
    let times = Dictionary(
      status.workers.compactMap { worker in worker.pid.flatMap { pid in worker.processorTime.map { (pid, $0) } } },
      uniquingKeysWith: { first, _ in first })
    if let last, moment > last.moment {
      shares = times.reduce(into: [:]) { shares, entry in
        // A worker that is new has used its time since the last status.
        shares[entry.key] = max(0, entry.value - (last.times[entry.key] ?? 0)) / (moment - last.moment)
      }
    }
    last = (times, moment)
  }
}

extension HistoryGauges {
  /// How the pool stood by its status.
  ///
  /// - Parameter processors: see ``ProcessorMeter/total``.
  public init(_ status: PoolStatus, processors: Double) {
    self.init()
    func jobs(_ states: String...) -> Double { Double(states.reduce(0) { $0 + (status.jobs?[$1] ?? 0) }) }
    waiting = jobs(JobState.available.name)
    later = jobs(JobState.scheduled.name, JobState.retryable.name, JobState.blocked.name)
    running = jobs(JobText.runningName)
    memory = status.workers.reduce(0) { $0 + Double($1.memory ?? 0) }
    self.processors = processors
  }
}
