import Foundation
import Jobs
import Testing

@Suite struct CronTests {
  private func date(_ text: String) throws -> Date { try #require(Timestamp.date(text)) }

  /// The next times after a moment, as text.
  private func times(_ expression: String, after start: String, zone: String = "UTC", count: Int = 3) throws -> [String]
  {
    let cron = try CronExpression(expression)
    let zone = try #require(TimeZone(identifier: zone))
    var time = try date(start)
    return try (0..<count).map { _ in
      time = try #require(cron.next(after: time, in: zone))
      return Timestamp.text(time)
    }
  }

  @Test(arguments: [
    ("* * * * *", "2026-01-01T00:00:30Z", ["2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z", "2026-01-01T00:03:00Z"]),
    ("*/20 3 * * *", "2026-01-01T03:20:00Z", ["2026-01-01T03:40:00Z", "2026-01-02T03:00:00Z", "2026-01-02T03:20:00Z"]),
    ("0 0 29 2 *", "2026-01-01", ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z", "2036-02-29T00:00:00Z"]),
    (
      "0 9 * * mon-fri", "2026-01-02T10:00:00Z",
      ["2026-01-05T09:00:00Z", "2026-01-06T09:00:00Z", "2026-01-07T09:00:00Z"]
    ),
    ("0 0 * * 7", "2026-01-01", ["2026-01-04T00:00:00Z", "2026-01-11T00:00:00Z", "2026-01-18T00:00:00Z"]),
    (
      "5,10 0 1 jan *", "2026-01-01T00:05:00Z",
      ["2026-01-01T00:10:00Z", "2027-01-01T00:05:00Z", "2027-01-01T00:10:00Z"]
    ),
    // When both days are given, either will do.
    ("0 0 13 * fri", "2026-01-08", ["2026-01-09T00:00:00Z", "2026-01-13T00:00:00Z", "2026-01-16T00:00:00Z"]),
    ("@monthly", "2026-01-15", ["2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z"]),
    (
      "10/25 0 1 1 *", "2026-01-01T00:00:00Z", ["2026-01-01T00:10:00Z", "2026-01-01T00:35:00Z", "2027-01-01T00:10:00Z"]
    ),
  ])
  func timesAreThoseOfCron(expression: String, start: String, expected: [String]) throws {
    #expect(try times(expression, after: start) == expected)
  }

  @Test func aTimeThatIsSkippedInSpringComesAtTheChange() throws {
    // 2026-03-29: 02:00 becomes 03:00 in Berlin, at 01:00 UTC.
    #expect(
      try times("30 2 * * *", after: "2026-03-28T00:00:00Z", zone: "Europe/Berlin")
        == ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"])
    #expect(
      try times("*/15 2 29 3 *", after: "2026-03-29T00:00:00Z", zone: "Europe/Berlin", count: 2)
        == ["2026-03-29T01:00:00Z", "2027-03-29T00:00:00Z"], "the four that are skipped are one")
  }

  @Test func aTimeThatComesTwiceInAutumnCountsOnce() throws {
    // 2026-10-25: 03:00 becomes 02:00 in Berlin, at 01:00 UTC.
    #expect(
      try times("30 2 * * *", after: "2026-10-24T12:00:00Z", zone: "Europe/Berlin", count: 2)
        == ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"])
  }

  /// What comes every hour comes every hour: no gap in autumn, nothing more in spring.
  @Test func everyHourGoesOnThroughAChangeOfTheClocks() throws {
    #expect(
      try times("30 * * * *", after: "2026-10-24T23:00:00Z", zone: "Europe/Berlin", count: 4)
        == ["2026-10-24T23:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"])
    #expect(
      try times("*/30 * * * *", after: "2026-10-25T00:10:00Z", zone: "Europe/Berlin", count: 4)
        == ["2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:00:00Z"])
    #expect(
      try times("30 * * * *", after: "2026-03-29T00:00:00Z", zone: "Europe/Berlin", count: 3)
        == ["2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", "2026-03-29T02:30:00Z"])
    // In Cairo the day of the change begins at one o'clock; all of it is another day than the one before.
    #expect(
      try times("30 * 24 4 *", after: "2026-04-20T00:00:00Z", zone: "Africa/Cairo", count: 2)
        == ["2026-04-23T22:30:00Z", "2026-04-23T23:30:00Z"])
    #expect(
      try times("0 * 26 10 *", after: "2026-10-24T23:30:00Z", zone: "Europe/Berlin", count: 1)
        == ["2026-10-25T23:00:00Z"])
  }

  @Test(arguments: [
    "", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "a * * * *",
    "5-1 * * * *", "*/0 * * * *", "1,,2 * * * *", "1-2-3 * * * *", "-1 * * * *", "@often", "0 0 30 2 *", "0 0 31 4,6 *",
  ])
  func whatIsNoExpressionIsRefused(text: String) {
    #expect(throws: CronError.self) { try CronExpression(text) }
  }

  // MARK: Entries

  private func entry(_ json: String) throws -> PeriodicEntry {
    try PeriodicEntry(name: "nightly", contents: Array(json.utf8))
  }

  @Test func anEntryIsRead() throws {
    let entry = try entry(
      #"{"cron": "0 3 * * *", "timeZone": "Europe/Berlin", "catchUp": "all", "job": {"kind": "report", "priority": 2}}"#
    )
    #expect(entry.catchUp == .all && entry.timeZone.identifier == "Europe/Berlin" && entry.job.priority == 2)
  }

  @Test(arguments: [
    (#"{"cron": "0 3 * * *"}"#, "\"job\" is missing"),
    (#"{"cron": "0 3 * *", "job": {"kind": "a"}}"#, "\"cron\" needs five fields"),
    (#"{"cron": "0 3 * * *", "job": {"knd": "a"}}"#, "did you mean \"kind\"?"),
    (#"{"crom": "0 3 * * *", "job": {"kind": "a"}}"#, "have no \"crom\"; did you mean \"cron\"?"),
    (#"{"cron": "0 3 * * *", "catchup": "all", "job": {"kind": "a"}}"#, "did you mean \"catchUp\"?"),
    (#"{"cron": "0 3 * * *", "catchUp": "some", "job": {"kind": "a"}}"#, "is none of the known words"),
    (#"{"cron": "0 3 * * *", "timeZone": "Berlin", "job": {"kind": "a"}}"#, "not a time zone"),
    (#"{"cron": "0 3 * * *", "job": {"kind": "a", "runAt": "2026-01-01"}}"#, "cannot have \"runAt\""),
    ("{", "periodic/nightly.json: "),
  ])
  func aBadEntrySaysWhatIsWrong(json: String, expected: String) {
    do {
      _ = try entry(json)
      Issue.record("it was read")
    } catch {
      #expect("\(error)".contains(expected), "\(error)")
    }
  }

  @Test func aTimeIsAWholeMinuteWheneverItIsAskedFor() throws {
    let zone = try #require(TimeZone(identifier: "Europe/Berlin"))
    let next = try CronExpression("30 * * * *").next(after: try date("2026-10-25T00:10:00Z") + 0.7, in: zone)
    #expect(next == (try date("2026-10-25T00:30:00Z")))
  }

  @Test func missedTimesAreCaughtUpAsTheEntrySays() throws {
    let cron = try CronExpression("0 * * * *")
    let (last, now) = (try date("2026-01-01T00:00:00Z"), try date("2026-01-01T05:30:00Z"))
    func due(_ catchUp: PeriodicEntry.CatchUp, _ now: Date) -> [String] {
      PeriodicEntry(name: "a", cron: cron, catchUp: catchUp, job: JobRequest(kind: "a")).due(after: last, at: now)
        .map(Timestamp.text)
    }
    #expect(due(.all, now).count == 5)
    #expect(due(.last, now) == ["2026-01-01T05:00:00Z"])
    #expect(due(.none, now) == [])
    #expect(due(.none, try date("2026-01-01T05:00:01Z")) == ["2026-01-01T05:00:00Z"])
    // Ten years of minutes later.
    let minutes = PeriodicEntry(
      name: "a", cron: try CronExpression("* * * * *"), catchUp: .all, job: JobRequest(kind: "a"))
    let end = try date("2036-01-01T00:00:00Z")
    let many = minutes.due(after: last, at: end)
    #expect(many.count == PeriodicEntry.mostCaughtUp && many.last == end)
  }
}
