import Foundation
import Jobs
import LinuxSystem
import PoolClient

/// How the pool stood in the last minutes, every few seconds. The history in the store has one value for each minute.
struct RecentGauges: Sendable {
  struct Sample: Sendable {
    var date: Date
    var gauges: HistoryGauges
    /// The processor time that jobs of each kind have used since the pool was started.
    var processorTimes: [String: Double] = [:]
  }

  /// In their order.
  private(set) var samples: [Sample] = []
  private var meter = ProcessorMeter()

  /// Seconds between two samples.
  private static let step = 4.0
  /// Seconds for which they are kept: the shortest period that pages show, and a little more.
  private static let length = 330.0

  /// - Parameter moment: seconds of a monotonic clock at which the pool was asked.
  mutating func add(_ status: PoolStatus, at date: Date, moment: Double = Clock.now) {
    // Pages that ask at once have the pool asked more often.
    if let last = samples.last, date.timeIntervalSince(last.date) < Self.step / 2 { return }
    meter.note(status, at: moment)
    // Without a count of the jobs, or with an old one, there is no depth to remember.
    guard status.jobs != nil, status.storeAge == nil else { return }
    let times = (status.kinds ?? []).compactMap { kind in kind.use.map { (kind.kind, $0.processorTime) } }
    samples.append(
      Sample(
        date: date, gauges: HistoryGauges(status, processors: meter.total),
        processorTimes: Dictionary(times, uniquingKeysWith: { first, _ in first })))
    samples.removeAll { $0.date < date - Self.length }
  }

  /// The processor time of the jobs of a kind that ended in each interval of a grid, in seconds; nil where the pool was
  /// not asked. Between two samples it grows evenly.
  func processorTime(of kind: String, _ grid: TimeGrid) -> [Double?] {
    func time(at date: Date) -> Double? {
      guard let index = samples.firstIndex(where: { $0.date >= date }) else { return nil }
      let later = samples[index]
      guard later.date > date else { return later.processorTimes[kind] ?? 0 }
      guard index > 0 else { return nil }
      let earlier = samples[index - 1]
      let part = date.timeIntervalSince(earlier.date) / later.date.timeIntervalSince(earlier.date)
      let start = earlier.processorTimes[kind] ?? 0
      return start + part * ((later.processorTimes[kind] ?? 0) - start)
    }
    return grid.times.map { date in
      guard let start = time(at: date), let end = time(at: date + grid.step) else { return nil }
      // A new pool counts from zero.
      return max(0, end - start)
    }
  }

  /// The intervals of a grid with the gauges that plots show: what the pool has kept in its store, and for the last
  /// minutes the mean of the samples.
  func filling(_ intervals: [HistoryInterval], step: Double) -> [HistoryInterval] {
    guard let start = intervals.first?.start else { return [] }
    let recent = Dictionary(grouping: samples.filter { $0.date >= start }) {
      Int($0.date.timeIntervalSince(start) / step)
    }
    let minute = JobStore.HistoryStep.minute.rawValue
    // Where intervals are shorter than the time between two looks, the last value holds; a minute that the pool has
    // kept lasts a minute.
    let held = Int((PoolMonitor.longestPause / step).rounded(.up))
    let heldMinute = Int((minute / step).rounded(.up)) - 1
    // In shorter intervals the end of a minute, at which the pool notes how it stands, would show as its beginning.
    let isFine = step < minute
    var last: (gauges: HistoryGauges, end: Int)?
    return intervals.enumerated().map { index, interval in
      var interval = interval
      let sampled = HistoryGauges(meanOf: recent[index]?.map(\.gauges) ?? [])
      if let sampled, isFine || interval.gauges == nil {
        last = (sampled, index + held)
      } else if let kept = interval.gauges {
        last = (kept, index + heldMinute)
      } else if let earlier = last, index > earlier.end {
        last = nil
      }
      interval.gauges = last?.gauges
      return interval
    }
  }
}
