import CoreData

/// Points in time as text, the same everywhere: RFC 3339 in UTC.
public enum Timestamp {
  /// The date with milliseconds: `2026-01-01T00:00:00.000Z`.
  public static func text(_ date: Date) -> String {
    date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }

  /// The date that the text names, with or without fractions of a second; nil if it names none.
  public static func date(_ text: String) -> Date? {
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: text.utf8.contains(UInt8(ascii: ".")))
    return try? style.parse(text)
  }
}
