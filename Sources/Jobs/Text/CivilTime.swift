/// The proleptic Gregorian calendar, in whole days counted from 0000-03-01: years begin in March there, so that the
/// leap day is the last.
///
/// ```text
/// day(year: 0, month: 3, day: 1)          0
/// day(year: 2001, month: 1, day: 1)       730,791, daysTo2001
/// ```
///
/// `Calendar` and `DateFormatter` give the same, but cost more for each job and each line of a log; here a date takes
/// some divisions.
enum CivilTime {
  /// 2001-01-01, where Foundation's dates begin.
  static let daysTo2001 = day(year: 2001, month: 1, day: 1)

  /// The number of a day. The term (153 × month + 2) / 5 gives the days before a month that is counted from March: the
  /// lengths 31, 30, 31, 30, 31 repeat every five months.
  static func day(year: Int, month: Int, day: Int) -> Int {
    let year = month > 2 ? year : year - 1
    let monthFromMarch = (month + 9) % 12
    let (leap4, leap100, leap400) = (floorDivide(year, 4), floorDivide(year, 100), floorDivide(year, 400))
    return 365 * year + leap4 - leap100 + leap400 + (153 * monthFromMarch + 2) / 5 + day - 1
  }

  /// The date of a day's number: an era is 400 years, 146,097 days. The three divisions take out the leap days, of
  /// which every fourth year has one, but not every hundredth.
  static func civil(day: Int) -> (year: Int, month: Int, day: Int) {
    let (era, dayOfEra) = day.quotientAndRemainder(flooring: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
  }

  /// The day of the week, 0 for Sunday.
  static func weekday(day: Int) -> Int { (day - daysTo2001 + 1).quotientAndRemainder(flooring: 7).remainder }

  static func daysIn(_ month: Int, _ year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  static func floorDivide(_ value: Int, _ divisor: Int) -> Int {
    value.quotientAndRemainder(flooring: divisor).quotient
  }
}

extension Int {
  func quotientAndRemainder(flooring divisor: Int) -> (quotient: Int, remainder: Int) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
