/// Dates in the server's binary format: microseconds since 2000.
enum ServerDate {
  /// 2000 was a leap year.
  private static let microsecondsUntil2001: Int64 = 366 * 86_400 * 1_000_000
  /// The server's last moment is in the year 294276.
  private static let latest = 9.2e12

  /// The moment for seconds since 2001, rounded as the server rounds; nil for one that the server has not.
  static func microseconds(_ seconds: Double) -> Int64? {
    // Its first moment is in 4713 BC.
    guard seconds < latest, seconds > -2.1e11 else {
      return [Int64.min, .max].first { Self.seconds($0) == seconds }
    }
    return Int64((seconds * 1e6).rounded(.toNearestOrEven)) + microsecondsUntil2001
  }

  /// The server's "infinity" and "-infinity", its greatest and least numbers, become dates that are later and earlier
  /// than all others, and these become the same again.
  static func seconds(_ microseconds: Int64) -> Double {
    Double(max(microseconds, .min + microsecondsUntil2001) - microsecondsUntil2001) / 1e6
  }
}
