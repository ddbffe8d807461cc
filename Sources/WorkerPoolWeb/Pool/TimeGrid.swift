import Foundation
import PoolClient

/// Intervals of one length, one after another, that begin at round times.
struct TimeGrid: Sendable {
  /// Seconds of an interval.
  let step: Double
  /// The beginnings of the intervals, the oldest first.
  let times: [Date]

  /// The intervals up to the one in which `end` lies.
  init(step: Double, count: Int, until end: Date) {
    self.step = step
    let last = (end.timeIntervalSinceReferenceDate / step).rounded(.down) * step
    times = (0..<count).reversed().map { Date(timeIntervalSinceReferenceDate: last - Double($0) * step) }
  }

  /// Steps that people read easily, in seconds.
  private static let roundSteps: [Double] = [
    1, 5, 10, 30, 60, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86_400, 7 * 86_400, 30 * 86_400,
  ]
  private static let most = 60.0

  /// At most sixty intervals over the last `seconds` before `end`.
  init(seconds: Double, until end: Date) {
    let step = Self.roundSteps.first { seconds / $0 <= Self.most } ?? (seconds / Self.most).rounded(.up)
    self.init(step: step, count: Int((seconds / step).rounded(.up)), until: end)
  }

  /// As in "jobs in 30 min".
  var stepTitle: String {
    StatusText.duration(step).replacingOccurrences(of: " 0 s", with: "").replacingOccurrences(of: " 0 min", with: "")
      .replacingOccurrences(of: " 0 h", with: "")
  }
}

/// A period that the overview shows, up to now.
enum Period: String, CaseIterable, Sendable {
  case fiveMinutes = "5min"
  case hour = "1h"
  case sixHours = "6h"
  case day = "24h"
  case week = "7d"

  var title: String {
    switch self {
    case .fiveMinutes: "5 minutes"
    case .hour: "1 hour"
    case .sixHours: "6 hours"
    case .day: "24 hours"
    case .week: "7 days"
    }
  }

  /// The intervals of the period up to now.
  func grid(until now: Date) -> TimeGrid { TimeGrid(step: step, count: count, until: now) }

  /// Seconds of one interval.
  private var step: Double {
    switch self {
    case .fiveMinutes: 5
    case .hour: 60
    case .sixHours: 360
    case .day: 1800
    case .week: 3 * 3600
    }
  }

  /// Intervals of the period.
  private var count: Int {
    switch self {
    case .fiveMinutes, .hour, .sixHours: 60
    case .day: 48
    case .week: 56
    }
  }
}
