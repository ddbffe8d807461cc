import Foundation

/// Times in five fields: minute, hour, day of the month, month, day of the week, as cron has them.
///
/// ```swift
/// let nightly = try CronExpression("30 2 * * mon-fri")
/// print(nightly.next(after: Date(), in: .gmt)?.description ?? "never")
/// ```
///
/// Each field is `*`, a number, a range `1-5`, one of these with a step `*/15`, or a list of them with commas. Months
/// and days of the week have names, too (`jan`, `mon`); Sunday is 0 and 7. When both days are given, either will do.
/// `@hourly`, `@daily`, `@weekly`, `@monthly` and `@yearly` stand for what they say.
///
/// ```text
/// 0 * * * *         each hour            0 0 1,15 * *      the first and the fifteenth of each month
/// */15 9-17 * * *   each quarter, from 9 to 17:45
/// 0 0 13 * fri      each 13th and each Friday, as in cron
/// 0 0 */2 * fri     each Friday that is an odd day: a field with a star restricts together with the other
/// ```
///
/// Source: crontab(5).
public struct CronExpression: Hashable, Sendable {
  /// The expression as it was written.
  public let text: String
  private let minutes: Set<Int>
  private let hours: Set<Int>
  private let days: Set<Int>
  private let months: Set<Int>
  private let weekdays: Set<Int>
  private let eitherDay: Bool
  private let isOfEveryHour: Bool

  private static let macros = [
    "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
  ]

  private static let monthNames = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]
  private static let weekdayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

  /// - Throws: ``CronError`` that says which field is wrong, also for a time that never comes, such as 30 February.
  public init(_ text: String) throws(CronError) {
    self.text = text
    let fields = (Self.macros[text.lowercased()] ?? text).split(whereSeparator: { $0 == " " || $0 == "\t" })
    guard fields.count == 5 else {
      throw CronError("needs five fields (minute, hour, day, month, weekday), but has \(fields.count)")
    }
    minutes = try Self.field(fields[0], "minute", 0...59)
    hours = try Self.field(fields[1], "hour", 0...23)
    isOfEveryHour = hours.count == 24
    days = try Self.field(fields[2], "day of the month", 1...31)
    months = try Self.field(fields[3], "month", 1...12, names: Self.monthNames, firstName: 1)
    let weekdays = try Self.field(fields[4], "day of the week", 0...7, names: Self.weekdayNames, firstName: 0)
    self.weekdays = Set(weekdays.map { $0 % 7 })
    // As in cron, a field that begins with a star does not restrict the days, even with a step.
    eitherDay = !fields[2].hasPrefix("*") && !fields[4].hasPrefix("*")
    if nextDay(from: CivilTime.day(year: 2000, month: 1, day: 1)) == nil {
      throw CronError("names a day that never comes")
    }
  }

  /// The numbers of one field. A list is the union of its parts; a part is a range with a step.
  private static func field(
    _ field: Substring, _ what: String, _ range: ClosedRange<Int>, names: [String] = [], firstName: Int = 0
  ) throws(CronError) -> Set<Int> {
    func wrong() -> CronError {
      CronError(
        "has \"\(field)\" as \(what), which is a number from \(range.lowerBound) to \(range.upperBound), *, a range or "
          + "a list"
      )
    }
    func number(_ text: Substring) throws(CronError) -> Int {
      if let index = names.firstIndex(of: text.lowercased()) { return index + firstName }
      guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int(text), range.contains(value) else {
        throw wrong()
      }
      return value
    }
    var values: Set<Int> = []
    for element in field.split(separator: ",", omittingEmptySubsequences: false) {
      let parts = element.split(separator: "/", omittingEmptySubsequences: false)
      guard let span = parts.first, parts.count <= 2 else { throw wrong() }
      let ends = span.split(separator: "-", omittingEmptySubsequences: false)
      guard ends.count <= 2 else { throw wrong() }
      var (low, high) = (range.lowerBound, range.upperBound)
      if span != "*" {
        low = try number(ends[0])
        // "5/10" is from 5 on in steps of ten.
        if ends.count == 2 { high = try number(ends[1]) } else if parts.count == 1 { high = low }
      }
      var step = 1
      if parts.count == 2 {
        guard let value = Int(parts[1]), value > 0 else { throw wrong() }
        step = value
      }
      guard low <= high else { throw wrong() }
      values.formUnion(stride(from: low, through: high, by: step))
    }
    return values
  }

  // MARK: Times

  /// The first time after `date`, in that time zone; nil for none in the next forty years.
  ///
  /// ```swift
  /// let berlin = TimeZone(identifier: "Europe/Berlin") ?? .gmt
  /// let daily = try CronExpression("30 2 * * *")
  /// print(daily.next(after: Date(timeIntervalSince1970: 1_774_738_800), in: berlin)?.description ?? "")
  /// // 2026-03-29 01:00:00 +0000: half past two does not exist in that night
  /// ```
  ///
  /// Where clocks are put forward, a skipped time comes at the moment of the change; where they are put back, a time
  /// that comes twice counts the first time. An expression of every hour has no such times: it follows the hours,
  /// without a gap in autumn and without an extra time in spring.
  public func next(after date: Date, in zone: TimeZone) -> Date? {
    let local = Self.civil(date, in: zone)
    // Around a change of the clocks a time that is shown earlier may come later, so more times are tried.
    let isCalm = zone.secondsFromGMT(for: date - 86_400) == zone.secondsFromGMT(for: date + 86_400)
    if isOfEveryHour, !isCalm, let time = nextMinute(after: date, in: zone) { return time }
    let first = isCalm ? local : local - 86_400
    var from = CivilTime.floorDivide(first, 86_400) + CivilTime.daysTo2001
    let (hours, minutes) = (hours.sorted(), minutes.sorted())
    while let day = nextDay(from: from) {
      let midnight = (day - CivilTime.daysTo2001) * 86_400
      for hour in hours where midnight + hour * 3600 + 3599 >= first {
        for minute in minutes where midnight + hour * 3600 + minute * 60 >= first {
          let civil = midnight + hour * 3600 + minute * 60
          let time = Self.date(civil: civil, in: zone)
          if time > date, !isOfEveryHour || Self.civil(time, in: zone) == civil { return time }
        }
      }
      from = day + 1
    }
    return nil
  }

  /// The first minute of the two days after `date` at which clocks in that zone show a time that fits. For expressions
  /// of every hour around a change of the clocks:
  ///
  /// ```text
  /// 0 * * * * in Berlin, 25 October 2026          shown     UTC
  ///                                               02:00     00:00
  /// the clocks are put back at 01:00 UTC          02:00     01:00     the same time once more: an hour has passed
  ///                                               03:00     02:00
  /// ```
  private func nextMinute(after date: Date, in zone: TimeZone) -> Date? {
    let second = Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate.rounded(.down))
    let start = second - Double(Self.civil(second, in: zone).quotientAndRemainder(flooring: 60).remainder)
    return (1...(2 * 1440)).lazy.map { start + Double($0 * 60) }.first { time in
      let civil = Self.civil(time, in: zone)
      let day = CivilTime.floorDivide(civil, 86_400) + CivilTime.daysTo2001
      return minutes.contains(civil.quotientAndRemainder(flooring: 3600).remainder / 60) && fits(day: day)
    }
  }

  /// The time that clocks in that zone show at that moment, in seconds since 2001 by these clocks.
  private static func civil(_ date: Date, in zone: TimeZone) -> Int {
    Int(date.timeIntervalSinceReferenceDate.rounded(.down)) + zone.secondsFromGMT(for: date)
  }

  /// The first day from `first` on that fits; `CivilTime` counts days in the same way. Nil after 41 years, in which all
  /// combinations of a date and a day of the week have come.
  private func nextDay(from first: Int) -> Int? {
    // The calendar repeats itself after 28 years but for the turn of a century.
    (first..<(first + 41 * 366)).lazy.first(where: fits)
  }

  /// Whether the day is one of the expression's.
  private func fits(day: Int) -> Bool {
    let (_, month, dayOfMonth) = CivilTime.civil(day: day)
    guard months.contains(month) else { return false }
    let fitsDay = days.contains(dayOfMonth)
    let fitsWeekday = weekdays.contains(CivilTime.weekday(day: day))
    return eitherDay ? fitsDay || fitsWeekday : fitsDay && fitsWeekday
  }

  /// The first moment at which clocks in that zone show this time, or for a skipped time the moment of the change.
  ///
  /// ```text
  /// 02:30 on 29 March 2026 in Berlin      before: +1 h ─▶ 01:30 UTC, at which clocks show 03:30: not it
  ///                                       after: +2 h ─▶ 00:30 UTC, at which clocks show 01:30: not it
  ///                                       skipped: 01:00 UTC
  /// 02:30 on 25 October 2026              before: +2 h ─▶ 00:30 UTC, at which clocks show 02:30: the first of two
  /// ```
  static func date(civil: Int, in zone: TimeZone) -> Date {
    // An offset is less than a day, so these hold before and after any change here.
    let before = zone.secondsFromGMT(for: Date(timeIntervalSinceReferenceDate: Double(civil - 86_400)))
    let after = zone.secondsFromGMT(for: Date(timeIntervalSinceReferenceDate: Double(civil + 86_400)))
    for offset in [before, after] {
      let date = Date(timeIntervalSinceReferenceDate: Double(civil - offset))
      if zone.secondsFromGMT(for: date) == offset { return date }
    }
    let skipped = Date(timeIntervalSinceReferenceDate: Double(civil - after - 86_400))
    return zone.nextDaylightSavingTimeTransition(after: skipped)
      ?? Date(timeIntervalSinceReferenceDate: Double(civil - before))
  }
}

/// Why a text is not a cron expression; follows "the expression".
public struct CronError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong: continues a sentence that begins with the expression.
  public let description: String
  init(_ description: String) { self.description = description }
}
