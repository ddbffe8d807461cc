/// Dates in the server's binary format: microseconds since 2000. In memory a date is a number of seconds since 2001.
///
/// ```text
/// Date(timeIntervalSinceReferenceDate: 0)     2001-01-01 00:00:00+00      31,622,400,000,000 µs since 2000
/// .distantPast (year 1)                       0001-01-01 00:00:00+00      within the server's range
/// .distantFuture (year 4001)                  4001-01-01 00:00:00+00      within the server's range
/// 'infinity' at the server                    the largest Int64           a date after all others
/// '-infinity' at the server                   the smallest Int64          a date before all others
/// ```
///
/// A `Date` has about 0.1 µs around the year 2025, so a date that was saved and is read again may differ from the
/// object's former one in its last digits.
///
/// Source: the page "Date/Time Types"; timestamp.h of PostgreSQL 15.
enum ServerDate {
  /// 2000 was a leap year.
  private static let microsecondsUntil2001: Int64 = 366 * 86_400 * 1_000_000
  /// The server's last moment is in the year 294276, some 9.22 × 10¹² seconds after 2001.
  private static let latest = 9.2e12

  /// The microseconds for seconds since 2001, rounded as the server rounds; nil for a date out of the server's range,
  /// for NaN and for infinities. The two dates that stand for the server's infinities become these again.
  static func microseconds(_ seconds: Double) -> Int64? {
    // The server's first moment is in 4713 BC.
    guard seconds < latest, seconds > -2.1e11 else {
      return [Int64.min, .max].first { Self.seconds($0) == seconds }
    }
    return Int64((seconds * 1e6).rounded(.toNearestOrEven)) + microsecondsUntil2001
  }

  /// The server's "infinity" and "-infinity", its greatest and least numbers, become dates that are later and earlier
  /// than all others.
  static func seconds(_ microseconds: Int64) -> Double {
    Double(max(microseconds, .min + microsecondsUntil2001) - microsecondsUntil2001) / 1e6
  }
}
