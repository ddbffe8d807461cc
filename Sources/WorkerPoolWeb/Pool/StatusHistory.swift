import Foundation
import PoolClient

/// Queue depth, memory and processor use as they were, since this program runs: every few seconds for an hour, every
/// two minutes for a week.
struct StatusHistory: Sendable {
  struct Sample: Sendable {
    var date: Date
    /// Jobs that could run now and do not.
    var waiting: Double
    /// Jobs that wait for a time.
    var later: Double
    var running: Double
    /// Bytes of all workers.
    var memory: Double
    /// Processors that the workers kept busy since the sample before.
    var processors: Double
  }

  private var fine: [Sample] = []
  private var coarse: [Sample] = []
  private var times: [Int32: Double] = [:]
  private var last: Date?

  private static let fineStep = 4.0
  private static let fineLength = 3600.0
  private static let coarseStep = 120.0
  private static let coarseLength = 7 * 86_400.0

  /// The samples since a time, in their order.
  func samples(since start: Date) -> [Sample] {
    let covered = fine.first?.date ?? .distantFuture
    return coarse.filter { $0.date >= start && $0.date < covered } + fine.filter { $0.date >= start }
  }

  mutating func add(_ status: PoolStatus, at date: Date) {
    if let last, date.timeIntervalSince(last) < Self.fineStep / 2 { return }
    var processors = 0.0
    var times: [Int32: Double] = [:]
    for worker in status.workers {
      guard let time = worker.processorTime, let pid = worker.pid else { continue }
      times[pid] = time
      // A worker that is new has used its time since the last look.
      processors += max(0, time - (self.times[pid] ?? min(time, 0)))
    }
    let seconds = last.map { date.timeIntervalSince($0) } ?? 0
    let isFirst = last == nil
    self.times = times
    last = date
    let jobs = status.jobs ?? [:]
    let sample = Sample(
      date: date, waiting: Double(jobs["available"] ?? 0),
      later: Double((jobs["scheduled"] ?? 0) + (jobs["retryable"] ?? 0) + (jobs["blocked"] ?? 0)),
      running: Double(jobs["running"] ?? 0), memory: Double(status.workers.reduce(0) { $0 + ($1.memory ?? 0) }),
      processors: isFirst || seconds <= 0 ? 0 : processors / seconds)
    // Without a count of the jobs there is no depth to remember.
    guard status.jobs != nil else { return }
    if fine.last.map({ date.timeIntervalSince($0.date) >= Self.fineStep }) ?? true { fine.append(sample) }
    if coarse.last.map({ date.timeIntervalSince($0.date) >= Self.coarseStep }) ?? true { coarse.append(sample) }
    Self.forget(&fine, before: date - Self.fineLength)
    Self.forget(&coarse, before: date - Self.coarseLength)
  }

  private static func forget(_ samples: inout [Sample], before date: Date) {
    if let kept = samples.firstIndex(where: { $0.date >= date }), kept > 0 { samples.removeFirst(kept) }
  }
}
