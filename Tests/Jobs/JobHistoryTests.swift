import CoreData
import Foundation
import Testing

@testable import Jobs

/// The history that a pool keeps in its store.
@Suite struct JobHistoryTests {
  private static let start = JobStore.HistoryStep.halfHour.start(of: Date(timeIntervalSince1970: 1_790_000_000))

  private static func gauges(_ waiting: Double) -> HistoryGauges {
    var gauges = HistoryGauges()
    gauges.waiting = waiting
    gauges.memory = 3 * 1_048_576
    gauges.processors = 0.25
    return gauges
  }

  @Test func linesAreReadAsTheyWereWritten() throws {
    var interval = HistoryInterval(start: Self.start, counts: [1_000_000, 2, 3])
    interval.gauges = Self.gauges(7)
    interval.waiting = [0.0123, 4, 3600.5]
    #expect(try #require(HistoryInterval(line: Substring(interval.line))) == interval)
    for wrong in ["", "1 2 3", "x 1 2 3 - - - - - - - - - - -", "1 x 2 3 - - - - - - - - - - -"] {
      #expect(HistoryInterval(line: Substring(wrong)) == nil)
    }
  }

  @Test func percentilesAreNearestRanks() {
    #expect(JobStore.percentiles([]) == nil)
    #expect(JobStore.percentiles([3]) == [3, 3, 3])
    #expect(JobStore.percentiles((1...100).map(Double.init)) == [50, 95, 99])
  }

  @Test func anIdleMinuteIsNotWritten() throws {
    try withStore { store, context in
      let isNoted = try store.noteHistory(HistoryGauges(), at: Self.start, in: context)
      #expect(!isNoted)
      #expect(!context.hasChanges)
    }
  }

  /// Jobs are in the history after their rows are gone, in minutes and in half-hours.
  @Test func jobsStayInTheHistoryWhenTheyAreDeleted() throws {
    try withStore { store, context in
      let jobs = try store.insert((0..<3).map { _ in request() }, into: context, at: Self.start + 10)
      for job in jobs { try job.markSucceeded(startedAt: Self.start + 12, at: Self.start + 13) }
      try context.save()
      // Given the minute's end, and a half-hour later
      let isNoted = try store.noteHistory(Self.gauges(4), at: Self.start + 60.5, in: context)
      let isJoined = try store.noteHistory(HistoryGauges(), at: Self.start + 1800.5, in: context)
      #expect(isNoted && isJoined)
      try context.save()
      // When the jobs are deleted
      for job in jobs { context.delete(job) }
      try context.save()
      context.reset()
      // Then both lengths tell of them
      for step in JobStore.HistoryStep.allCases {
        let kept = try JobStore.history(step, since: Self.start, in: context)
        #expect(kept.count == 1 && kept[0].start == Self.start && kept[0].counts == [3, 0, 0], "\(kept)")
        #expect(kept[0].waiting == [2, 2, 2] && kept[0].running == [1, 1, 1] && kept[0].gauges?.waiting == 4)
      }
    }
  }

  /// A pool that stood still at the end of a half-hour notes it later.
  @Test func aHalfHourThatWasMissedIsNotedLater() throws {
    try withStore { store, context in
      _ = try store.noteHistory(Self.gauges(1), at: Self.start + 60, in: context)
      _ = try store.noteHistory(Self.gauges(3), at: Self.start + 120, in: context)
      _ = try store.noteHistory(Self.gauges(9), at: Self.start + 4 * 1800 + 60, in: context)
      try context.save()
      let kept = try JobStore.history(.halfHour, since: .distantPast, in: context)
      #expect(kept.map(\.start) == [Self.start] && kept[0].gauges?.waiting == 2)
    }
  }

  /// Ten days: the number of settings and of their lines have bounds, which are 100 kB in all, and the newest week is
  /// there.
  @Test func theHistoryIsBounded() throws {
    try withStore { store, context in
      let minutes = 10 * 24 * 60
      // Each half-hour has a minute, and the last ones have all.
      for minute in stride(from: 1, through: minutes, by: 1) where minute > minutes - 150 || minute % 30 == 0 {
        _ = try store.noteHistory(Self.gauges(Double(minute)), at: Self.start + Double(minute) * 60, in: context)
        if minute % 300 == 0 {
          try context.save()
          context.reset()
        }
      }
      try context.save()
      let settings = try context.fetch(PoolSetting.fetchRequest()).filter { $0.name.hasPrefix("history.") }
      #expect(settings.count <= 23)
      let texts = settings.map { ($0.value ?? "").split(separator: "\n") }
      for (setting, lines) in zip(settings, texts) {
        #expect(lines.count <= (setting.name.hasPrefix("history.60.") ? 30 : 48), "\(setting.name)")
      }
      let longest = texts.joined().map(\.utf8.count).max() ?? 0
      #expect(longest > 0 && (14 * 30 + 9 * 48) * longest < 100_000)
      let end = Self.start + Double(minutes) * 60
      let recent = try JobStore.history(.minute, since: end - 2 * 3600, in: context)
      #expect(recent.count == 120)
      let week = try JobStore.history(.halfHour, since: end - 7 * 86_400, in: context)
      #expect(week.count == 336)
    }
  }
}
