import Foundation
import Jobs
import LinuxSystem
import PoolClient

/// How the pool stood in the last minutes, every few seconds. The history in the store has one value for each minute.
struct RecentGauges: Sendable {
  struct Sample: Sendable {
    var date: Date
    var gauges: HistoryGauges
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
    // Without a count of the jobs there is no depth to remember.
    guard status.jobs != nil else { return }
    samples.append(Sample(date: date, gauges: HistoryGauges(status, processors: meter.total)))
    samples.removeAll { $0.date < date - Self.length }
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
