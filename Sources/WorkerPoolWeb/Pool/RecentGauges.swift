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
}
