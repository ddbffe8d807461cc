import Foundation
import Jobs
import Testing

@Suite struct TimestampTests {
  @Test(arguments: [
    ("2001-01-01T00:00:00Z", 0.0), ("2000-12-31T23:59:59.5Z", -0.5), ("2024-02-29T12:30:45Z", 730_902_645.0),
    ("1970-01-01T00:00:00Z", -978_307_200.0), ("9999-12-31T23:59:59Z", 252_423_993_599.0),
    ("0001-01-01T00:00:00Z", -63_113_904_000.0),
  ])
  func textAndDateNameEachOther(text: String, seconds: Double) {
    #expect(Timestamp.text(Date(timeIntervalSinceReferenceDate: seconds)) == text)
    #expect(Timestamp.date(text)?.timeIntervalSinceReferenceDate == seconds)
  }

  @Test func everyDateComesBackExactly() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<10_000 {
      let date = Date(timeIntervalSinceReferenceDate: .random(in: -3e9...3e9, using: &generator))
      #expect(Timestamp.date(Timestamp.text(date)) == date)
    }
  }

  @Test func foundationAgreesOnTheCalendar() throws {
    for day in stride(from: -800_000, to: 800_000, by: 977) {
      let date = Date(timeIntervalSinceReferenceDate: Double(day) * 86_400 + 3723)
      guard (1...9999).contains(Calendar(identifier: .iso8601).component(.year, from: date)), day > -150_000 else {
        continue
      }
      #expect(Timestamp.text(date) == date.formatted(.iso8601))
    }
  }

  @Test func otherFormsAreRead() {
    #expect(Timestamp.date("2026-01-01T02:00:00+02:00") == Timestamp.date("2026-01-01"))
    #expect(Timestamp.date("2026-01-01 00:00:00.000Z") == Timestamp.date("2026-01-01"))
  }

  @Test(arguments: [
    "", "2026", "2026-13-01", "2026-02-29", "2026-1-1", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00", "tomorrow",
    "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Zz", "2026-01-01T00:00:00+2",
  ])
  func whatIsNoDateIsRefused(text: String) {
    #expect(Timestamp.date(text) == nil)
  }
}
