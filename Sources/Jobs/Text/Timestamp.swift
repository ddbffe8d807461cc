import CoreData

/// Points in time as text, the same everywhere: RFC 3339, always written in UTC.
///
/// The text is exact: a date that Core Data keeps, seconds since 2001 as a `Double`, comes back from its text as it
/// was, between the years 1 and 9999.
public enum Timestamp {
  /// The date, with as many digits of the second as it needs: `2026-01-01T00:00:00Z`, `…:00.25Z`.
  ///
  /// ```swift
  /// print(Timestamp.text(Date(timeIntervalSinceReferenceDate: 0)))  // 2001-01-01T00:00:00Z
  /// print(Timestamp.text(Date(timeIntervalSinceReferenceDate: 0.25)))  // 2001-01-01T00:00:00.25Z
  /// ```
  ///
  /// Years beyond four digits are written with more, which RFC 3339 does not allow: see ``canWrite(_:)``. What is no
  /// date, such as an infinity, becomes its number.
  public static func text(_ date: Date) -> String {
    let seconds = date.timeIntervalSinceReferenceDate
    guard seconds.isFinite, abs(seconds) < 1e12 else { return String(seconds) }
    let whole = seconds.rounded(.down)
    let (day, second) = Int(whole).quotientAndRemainder(flooring: 86_400)
    let (year, month, dayOfMonth) = CivilTime.civil(day: day + CivilTime.daysTo2001)
    var text = "\(digits(year, 4))-\(digits(month, 2))-\(digits(dayOfMonth, 2))T"
    text += "\(digits(second / 3600, 2)):\(digits(second / 60 % 60, 2)):\(digits(second % 60, 2))"
    text += fraction(of: seconds, after: whole)
    return text + "Z"
  }

  /// Whether RFC 3339 can write the date: its years have four digits, from 0000 to 9999. `.distantPast` and
  /// `.distantFuture` are among them.
  public static func canWrite(_ date: Date) -> Bool {
    (seconds(year: 0)..<seconds(year: 10_000)).contains(date.timeIntervalSinceReferenceDate)
  }

  /// The beginning of a year, in seconds since 2001.
  private static func seconds(year: Int) -> Double {
    Double((CivilTime.day(year: year, month: 1, day: 1) - CivilTime.daysTo2001) * 86_400)
  }

  /// The digits of the second's fraction: the fewest that lead back to the same number, in groups of three up to nine.
  private static func fraction(of seconds: Double, after whole: Double) -> String {
    let fraction = seconds - whole
    if fraction == 0 { return "" }
    for (count, scale) in [(3, 1e3), (6, 1e6), (9, 1e9)] {
      let parts = (fraction * scale).rounded()
      guard parts > 0, parts < scale else { continue }
      var text = digits(Int(parts), count)
      guard whole + (Double("0." + text) ?? 0) == seconds else { continue }
      while text.hasSuffix("0") { text.removeLast() }
      return "." + text
    }
    // Close to 2001 numbers lie nearer to each other: 18 digits are always enough there.
    return "." + digits(Int((fraction * 1e18).rounded()), 18)
  }

  /// The date that the text names, nil if it names none: `2026-01-01`, `2026-01-01T00:00:00Z`, with fractions of the
  /// second and another offset than `Z` if need be.
  ///
  /// ```swift
  /// print(Timestamp.date("2026-01-01T01:00:00+01:00") == Timestamp.date("2026-01-01"))  // true
  /// print(Timestamp.date("2026-02-30") as Any)  // nil
  /// ```
  ///
  /// A date without a time is midnight in UTC. A time without an offset is refused: it would be another moment on each
  /// machine. Second 60 is taken for the first of the next minute. Up to 18 digits of a fraction are read.
  public static func date(_ text: String) -> Date? {
    var scanner = Scanner(unread: Array(text.utf8)[...])
    guard let year = scanner.number(4), scanner.skip("-"), let month = scanner.number(2), scanner.skip("-"),
      let day = scanner.number(2), (1...12).contains(month), (1...CivilTime.daysIn(month, year)).contains(day)
    else { return nil }
    var seconds = (CivilTime.day(year: year, month: month, day: day) - CivilTime.daysTo2001) * 86_400
    if scanner.unread.isEmpty { return Date(timeIntervalSinceReferenceDate: Double(seconds)) }
    guard scanner.skip("T") || scanner.skip("t") || scanner.skip(" "), let hour = scanner.number(2), scanner.skip(":"),
      let minute = scanner.number(2), scanner.skip(":"), let second = scanner.number(2), hour < 24, minute < 60,
      second <= 60, let fraction = scanner.fraction(), let offset = scanner.offset(), scanner.unread.isEmpty
    else { return nil }
    seconds += hour * 3600 + minute * 60 + second - offset
    return Date(timeIntervalSinceReferenceDate: Double(seconds) + fraction)
  }

  private static func digits(_ value: Int, _ count: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, count - text.count)) + text
  }
}

/// Takes the parts of a date from the front of its text. Each function takes what it finds, or nothing.
private struct Scanner {
  var unread: ArraySlice<UInt8>

  mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard unread.first == UInt8(ascii: character) else { return false }
    unread.removeFirst()
    return true
  }

  /// A number of exactly that many digits.
  mutating func number(_ count: Int) -> Int? {
    let digits = unread.prefix(count)
    guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    unread = unread.dropFirst(count)
    return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }

  /// `.` and digits, or nothing.
  mutating func fraction() -> Double? {
    guard skip(".") else { return 0 }
    let digits = unread.prefix { (0x30...0x39).contains($0) }
    guard (1...18).contains(digits.count) else { return nil }
    unread = unread.dropFirst(digits.count)
    return Double("0." + String(decoding: digits, as: UTF8.self))
  }

  /// `Z`, or hours and minutes from it; in seconds.
  mutating func offset() -> Int? {
    if skip("Z") || skip("z") { return 0 }
    let sign = skip("+") ? 1 : skip("-") ? -1 : 0
    guard sign != 0, let hours = number(2), skip(":"), let minutes = number(2), hours < 24, minutes < 60 else {
      return nil
    }
    return sign * (hours * 3600 + minutes * 60)
  }
}
