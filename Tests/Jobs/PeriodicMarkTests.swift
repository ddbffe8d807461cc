import CoreData
import Foundation
import Jobs
import Testing

/// Periodic entries and the marks that the store keeps of their times.
@Suite struct PeriodicMarkTests {
  /// As on a machine without a battery: its clock is years ahead at boot, and NTP sets it.
  @Test(arguments: JobStoreKind.allCases)
  func anEntryThatRanWhileTheClockWasAheadGoesOnWithTheRightTime(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let entry = PeriodicEntry(name: "tick", cron: try CronExpression("* * * * *"), job: request("tick"))
      let now = Date(timeIntervalSinceReferenceDate: 800_000_000)
      let ahead = now + 5 * 365 * 86_400
      _ = try store.insertPeriodic([entry], at: ahead, into: context)
      #expect(try store.insertPeriodic([entry], at: ahead + 61, into: context).jobs.count == 1)
      let late = try #require(try store.insert([request { $0.runAt = ahead + 3600 }], into: context, at: ahead).first)
      try context.save()

      let first = try store.insertPeriodic([entry], at: now, into: context)
      #expect(first.jobs.isEmpty)
      #expect(first.corrected["tick"].map { $0 > now + 86_400 } == true)
      #expect(first.next.map { $0 <= now + 60 } == true)
      try context.save()
      let second = try store.insertPeriodic([entry], at: now + 61, into: context)
      #expect(second.jobs.count == 1 && second.corrected.isEmpty)
      #expect(late.runAt == ahead + 3600, "a point in time stays")
    }
  }

  /// Steps of seconds are common: a time that has had its job gets no second one by them. Nothing is saved here, so the
  /// kind of the store does not matter.
  @Test func aClockThatIsPutBackALittleRepeatsNoTime() throws {
    try withStore { store, context in
      let entry = PeriodicEntry(name: "tick", cron: try CronExpression("* * * * *"), job: request("tick"))
      let start = Date(timeIntervalSinceReferenceDate: 800_000_000)
      _ = try store.insertPeriodic([entry], at: start, into: context)
      #expect(try store.insertPeriodic([entry], at: start + 60.5, into: context).jobs.count == 1)
      let back = try store.insertPeriodic([entry], at: start + 30, into: context)
      #expect(back.jobs.isEmpty && back.corrected.isEmpty)
      #expect(try store.insertPeriodic([entry], at: start + 61, into: context).jobs.isEmpty)
    }
  }

  /// Names of files that a Mac and a Linux program wrote may only look alike.
  @Test(arguments: JobStoreKind.allCases) func entriesWhoseNamesOnlyLookAlikeAreTwo(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let entries = try ["\u{e9}", "e\u{301}"].map { name in
        PeriodicEntry(name: name, cron: try CronExpression("* * * * *"), job: request("tick"))
      }
      let start = try #require(Timestamp.date("2026-01-01T00:00:30Z"))
      for (seconds, count) in [(0.0, 0), (1.0, 0), (30.0, 2), (31.0, 0)] {
        let round = try store.insertPeriodic(entries, at: start + seconds, into: context)
        try context.save()
        #expect(round.jobs.count == count)
      }
    }
  }

  @Test(arguments: JobStoreKind.allCases) func eachTimeHasOneJobAcrossRestarts(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let entry = PeriodicEntry(name: "tick", cron: try CronExpression("* * * * *"), job: request("tick"))
      let start = try #require(Timestamp.date("2026-01-01T00:00:30Z"))
      func jobs(at seconds: Double, in context: NSManagedObjectContext) throws -> Int {
        let round = try store.insertPeriodic([entry], at: start + seconds, into: context)
        try context.save()
        return round.jobs.count
      }
      #expect(try jobs(at: 0, in: context) == 0, "a new entry begins now")
      #expect(try jobs(at: 29, in: context) == 0)
      #expect(try jobs(at: 30, in: context) == 1)
      #expect(try jobs(at: 31, in: context) == 0)
      // As after a crash: another process, with nothing but the file.
      let restarted = store.makeContext(name: "restarted")
      try restarted.performAndWait {
        #expect(try jobs(at: 40, in: restarted) == 0)
        #expect(try jobs(at: 30 + 600, in: restarted) == 1, "one for all that were missed")
        let next = try store.insertPeriodic([entry], at: start + 640, into: restarted).next
        #expect(next == start + 690)
      }
    }
  }

  @Test(arguments: JobStoreKind.allCases) func aCrashBetweenTheJobAndItsMarkLosesBoth(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let entry = PeriodicEntry(name: "tick", cron: try CronExpression("* * * * *"), job: request("tick"))
      let start = try #require(Timestamp.date("2026-01-01T00:00:30Z"))
      _ = try store.insertPeriodic([entry], at: start, into: context)
      try context.save()
      #expect(try store.insertPeriodic([entry], at: start + 31, into: context).jobs.count == 1)
      context.rollback()
      #expect(try store.insertPeriodic([entry], at: start + 32, into: context).jobs.count == 1)
    }
  }
}
