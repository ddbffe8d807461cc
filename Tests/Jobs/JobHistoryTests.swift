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
    #expect(EndedJobTimes.percentiles([]) == nil)
    #expect(EndedJobTimes.percentiles([3]) == [3, 3, 3])
    #expect(EndedJobTimes.percentiles((1...100).map(Double.init)) == [50, 95, 99])
  }

  @Test func anIdleMinuteIsNotWritten() throws {
    try withStore { store, context in
      let isNoted = try store.noteHistory(HistoryGauges(), at: Self.start, in: context)
      #expect(!isNoted)
      #expect(!context.hasChanges)
    }
  }

  /// Jobs are in the history after their rows are gone, in minutes and in half-hours.
  @Test(arguments: JobStoreKind.allCases) func jobsStayInTheHistoryWhenTheyAreDeleted(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
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

  /// Inserts a job that ends in this state ten seconds later, after it has run for a second.
  private func insert(
    _ state: JobState, at time: Date, _ store: JobStore, _ context: NSManagedObjectContext
  ) throws {
    let job = try store.insert([request()], into: context, at: time)[0]
    switch state {
    case .succeeded: try job.markSucceeded(startedAt: time + 9, at: time + 10)
    case .cancelled: try job.markCancelled(at: time + 10)
    default:
      try job.markFailed(
        AttemptFailure(attempt: 1, date: time, type: "E", message: ""), policy: RetryPolicy(maxAttempts: 1),
        at: time + 10)
    }
  }

  private static let keepsNothing = JobRetention(finished: 0, dead: 0, count: 0)

  @Test func jobsThatAPassDeletesBeforeTheirMinuteIsNotedAreInTheHistory() throws {
    try withStore { store, context in
      // Given jobs of the last minute, which is not noted yet, and of the one before it
      let minute = Self.start + 60
      for state in [JobState.succeeded, .succeeded, .dead, .cancelled] {
        try insert(state, at: minute, store, context)
      }
      try insert(.succeeded, at: minute - 60, store, context)
      try context.save()
      // When two passes delete some and all of them, before and after the minute's end
      #expect(try JobPruning(Self.keepsNothing, in: store, at: minute + 15).deleteNext(limit: 2, in: context) == 2)
      try context.save()
      try insert(.succeeded, at: minute + 20, store, context)
      try context.save()
      let pass = JobPruning(Self.keepsNothing, in: store, at: minute + 60.2)
      while try pass.deleteNext(limit: 3, in: context) > 0 { try context.save() }
      try insert(.succeeded, at: minute + 49, store, context)
      try context.save()
      _ = try store.noteHistory(Self.gauges(1), at: minute + 60.5, in: context)
      try context.save()
      // Then the minute has all, the deleted ones with those that are there
      let noted = try JobStore.history(.minute, since: minute, in: context)
      #expect(noted.map(\.start) == [minute] && noted.map(\.counts) == [[4, 1, 1]], "\(noted)")
      #expect(noted.first?.waiting == [9, 9, 9] && noted.first?.running == [1, 1, 1], "\(noted)")
      #expect(noted.first?.gauges?.waiting == 1)
    }
  }

  /// The same when a person deletes them.
  @Test func jobsThatAPersonDeletesAreInTheHistory() throws {
    try withStore { store, context in
      let now = Date()
      let job = try store.insert([request()], into: context, at: now)[0]
      try job.markSucceeded(startedAt: now, at: now)
      try context.save()
      #expect(try store.delete([job], except: nil, in: context) == 0)
      try context.save()
      let end = JobStore.HistoryStep.minute.start(of: now) + 60
      _ = try store.noteHistory(HistoryGauges(), at: end + 0.5, in: context)
      try context.save()
      #expect(try JobStore.history(.minute, since: end - 60, in: context).map(\.counts) == [[1, 0, 0]])
    }
  }

  /// A minute that is noted has the jobs already, and another pool that notes it again has fewer rows.
  @Test func aMinuteCountsEachJobOnce() throws {
    try withStore { store, context in
      for _ in 0..<3 { try insert(.succeeded, at: Self.start + 10, store, context) }
      _ = try store.noteHistory(Self.gauges(1), at: Self.start + 60.5, in: context)
      try context.save()
      #expect(try JobPruning(Self.keepsNothing, in: store, at: Self.start + 61).deleteNext(limit: 2, in: context) == 2)
      try context.save()
      _ = try store.noteHistory(Self.gauges(2), at: Self.start + 61.5, in: context)
      try context.save()
      let noted = try JobStore.history(.minute, since: Self.start, in: context)
      #expect(noted.map(\.counts) == [[3, 0, 0]] && noted.first?.gauges?.waiting == 1, "\(noted)")
    }
  }

  /// A maintenance job deletes in one context, for longer than a minute.
  @Test func aPassGoesOnAfterAMinuteIsNoted() throws {
    try withStore { store, context in
      for minute in [0, 60.0] { try insert(.succeeded, at: Self.start + minute, store, context) }
      try context.save()
      let pass = JobPruning(Self.keepsNothing, in: store, at: Self.start + 100)
      #expect(try pass.deleteNext(limit: 1, in: context) == 1)
      try context.save()
      let other = store.makeContext(name: "pool")
      try other.performAndWait {
        _ = try store.noteHistory(Self.gauges(1), at: Self.start + 60.5, in: other)
        try other.save()
      }
      #expect(try pass.deleteNext(limit: 1, in: context) == 1)
      try context.save()
      let counts = try JobStore.history(.minute, since: Self.start, in: context).map(\.counts)
      #expect(counts == [[1, 0, 0], [1, 0, 0]])
    }
  }

  /// The minute is counted, a pass deletes its jobs, and the minute is saved: they would count twice.
  ///
  ///     history                   pass
  ///     counts 2 rows
  ///                               deletes 2, and counts them
  ///     saves 2: conflict
  ///     counts 2 deleted
  @Test(arguments: JobStoreKind.allCases, [false, true])
  func aMinuteThatIsCountedDuringADeletionIsCountedAgain(kind: JobStoreKind, hasRow: Bool) throws {
    try withStore(kind) { store, context in
      // Given, or not, an earlier minute in the same setting
      if hasRow {
        _ = try store.noteHistory(Self.gauges(1), at: Self.start + 60.5, in: context)
        try context.save()
        context.reset()
      }
      let minute = Self.start + 60
      for _ in 0..<2 { try insert(.succeeded, at: minute, store, context) }
      try context.save()
      // When a pass comes between
      _ = try store.noteHistory(Self.gauges(2), at: minute + 60.5, in: context)
      let other = store.makeContext(name: "pass")
      try other.performAndWait {
        let pass = JobPruning(Self.keepsNothing, in: store, at: minute + 60.2)
        #expect(try pass.deleteNext(in: other) == 2)
        try other.save()
      }
      // Then the save fails, and the next one has the right number
      let error = #expect(throws: NSError.self) { try context.save() }
      #expect(error.map(JobStore.isConflict) == true)
      context.rollback()
      context.reset()
      _ = try store.noteHistory(Self.gauges(2), at: minute + 60.5, in: context)
      try context.save()
      #expect(try JobStore.history(.minute, since: minute, in: context).map(\.counts) == [[2, 0, 0]])
    }
  }

  /// A pool that stood still at the end of a half-hour notes it later.
  @Test(arguments: JobStoreKind.allCases) func aHalfHourThatWasMissedIsNotedLater(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      _ = try store.noteHistory(Self.gauges(1), at: Self.start + 60, in: context)
      _ = try store.noteHistory(Self.gauges(3), at: Self.start + 120, in: context)
      _ = try store.noteHistory(Self.gauges(9), at: Self.start + 4 * 1800 + 60, in: context)
      try context.save()
      let kept = try JobStore.history(.halfHour, since: .distantPast, in: context)
      #expect(kept.map(\.start) == [Self.start] && kept[0].gauges?.waiting == 2)
    }
  }

  /// Ten days: the number of settings and of their lines have bounds, which are 100 kB in all, and the newest week is
  /// there. In a file only, since that is the faster store: the bounds are those of texts, in any store.
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
