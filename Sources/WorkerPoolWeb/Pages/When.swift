import Foundation
import Jobs
import PoolClient

/// Times for people.
enum When {
  /// `14:05`, with seconds where intervals are shorter than a minute, with the day where they are long.
  static func short(_ date: Date, step: Double) -> String {
    let text = Timestamp.text(whole(date))
    let time = text.dropFirst(11)
    switch step {
    case ..<60: return String(time.prefix(8))
    case ..<1800: return String(time.prefix(5))
    default: return "\(text.dropFirst(5).prefix(5)) \(time.prefix(5))"
    }
  }

  /// `2026-01-01 14:05:07 UTC`
  static func full(_ date: Date) -> String {
    Timestamp.text(whole(date)).replacingOccurrences(of: "T", with: " ").replacingOccurrences(of: "Z", with: " UTC")
  }

  /// `2026-01-01 14:05:07.250 UTC`
  static func exact(_ date: Date) -> String {
    let fraction = date.timeIntervalSinceReferenceDate - whole(date).timeIntervalSinceReferenceDate
    return "\(full(date).dropLast(4)).\(String(1000 + min(999, Int(fraction * 1000))).dropFirst()) UTC"
  }

  /// How long ago, or in how long, with the whole time as a hint; the day of a date that is far away.
  static func age(_ date: Date, now: Date = Date()) -> HTML {
    let seconds = now.timeIntervalSince(date)
    let text =
      abs(seconds) > far
      ? String(full(date).prefix(10)) : seconds >= 0 ? "\(coarse(seconds)) ago" : "in \(coarse(-seconds))"
    return tag("time", Attribute("datetime", Timestamp.text(whole(date))), Attribute("title", full(date))) { text }
  }

  /// The whole time in UTC, which the script shows in the browser's own time zone.
  ///
  /// - Parameter isExact: whether it has milliseconds.
  static func moment(_ date: Date, isExact: Bool = false) -> HTML {
    let text = isExact ? exact(date) : full(date)
    let stamp = text.replacingOccurrences(of: " UTC", with: "Z").replacingOccurrences(of: " ", with: "T")
    return tag("time", .class("moment"), Attribute("datetime", stamp)) { text }
  }

  /// Seconds from which on a number of days says less than a date.
  private static let far = 100.0 * 86_400

  /// In one unit: `40 s`, `12 min`, `5 h`, `3 d`.
  static func coarse(_ seconds: Double) -> String {
    switch seconds {
    case ..<100: "\(Int(seconds)) s"
    case ..<5400: "\(Int(seconds / 60)) min"
    case ..<172_800: "\(Int(seconds / 3600)) h"
    default: "\(Int(seconds / 86_400)) d"
    }
  }

  private static func whole(_ date: Date) -> Date {
    Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate.rounded(.down))
  }
}
