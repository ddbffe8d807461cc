import CoreData
import Foundation
import LinuxSystem
import Testing
import WorkerProtocol

@testable import Jobs

/// A rate of jobs that nobody claims: the pool takes places ahead, and the next pool counts what was done with them.
///
/// Only the pool of a file does so; any store keeps the places by the same rules.
@Suite struct RatePlaceTests {
  private static let rate = JobRate(jobs: 3, period: 1000)

  private func makeRate() -> PoolRate { PoolRate(Self.rate, hasClaims: false) }

  @Test(arguments: JobStoreKind.allCases) func noMorePlacesAreTakenThanTheRateHas(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let pool = makeRate()
      #expect(try store.takePlaces(0, of: "a", pool, for: 1, in: context) == TakenPlaces(count: 0))
      #expect(try store.takePlaces(2, of: "a", pool, for: 1, in: context) == TakenPlaces(count: 2))
      // The third place is the last; until a job begins, nobody knows when there is another.
      #expect(try store.takePlaces(2, of: "a", pool, for: 1, in: context) == TakenPlaces(count: 1))
      pool.begin([1, 2, 3])
      let taken = try store.takePlaces(1, of: "a", pool, for: 1, in: context)
      #expect(taken.count == 0 && taken.retryAfter.map { (990...1000).contains($0) } == true)
    }
  }

  /// A pool is killed before it has told what began in its places.
  @Test(arguments: JobStoreKind.allCases)
  func thePlacesOfAKilledPoolCountAsBegunForThePoolAfterIt(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let killed = makeRate()
      #expect(try store.takePlaces(2, of: "a", killed, for: 1, in: context).count == 2)
      killed.begin([7])
      let next = makeRate()
      let taken = try store.takePlaces(3, of: "a", next, for: 2, in: context)
      #expect(taken.count == 1 && taken.retryAfter.map { $0 > 990 } == true)
      next.begin([8])
      try RateRow.age(by: 1000, in: context)
      // What began in the third place is told now, and the two others are over.
      #expect(try store.takePlaces(3, of: "a", next, for: 2, in: context).count == 2)
    }
  }

  @Test(arguments: JobStoreKind.allCases) func aPoolThatEndsGivesItsPlacesBack(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let pool = makeRate()
      _ = try store.takePlaces(3, of: "a", pool, for: 1, in: context)
      pool.begin([1])
      pool.giveUpPlaces()
      #expect(try store.tellBeginnings(pool, of: "a", for: 1, in: context) == false)
      #expect(try RateRow.lines(in: context).allSatisfy { !$0.hasPrefix("held") })
      #expect(try store.takePlaces(3, of: "a", makeRate(), for: 2, in: context).count == 2)
    }
  }

  /// A job leaves no effect, and begins again later: it is dated anew, whether its first beginning was told or not.
  @Test(arguments: JobStoreKind.allCases, [false, true])
  func aBeginningThatIsTakenBackGivesItsPlaceBack(kind: JobStoreKind, isTold: Bool) throws {
    try withStore(kind) { store, context in
      let pool = makeRate()
      _ = try store.takePlaces(3, of: "a", pool, for: 1, in: context)
      pool.begin([1, 2])
      if isTold { _ = try store.tellBeginnings(pool, of: "a", for: 1, in: context) }
      pool.takeBack(1, from: Clock.now)
      _ = try store.tellBeginnings(pool, of: "a", for: 1, in: context)
      let lines = try RateRow.lines(in: context)
      #expect(lines.count == 2 && lines[0].hasSuffix(" 1") && lines[1] == "held 1 2")
    }
  }

  /// Else the store would forget the places that are taken next, as many as began without one.
  @Test(arguments: JobStoreKind.allCases)
  func placesThatWereTakenAfterADebtWasForgottenAreHeld(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let pool = makeRate()
      pool.begin([1, 2])
      pool.forgetDebt()
      _ = try store.takePlaces(1, of: "a", pool, for: 1, in: context)
      #expect(try RateRow.lines(in: context).last == "held 1 1")
    }
  }

  /// Beginnings are written with those of a save that has failed.
  @Test(arguments: JobStoreKind.allCases) func aTurnThatFailsTellsItsNewsAgain(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let pool = makeRate()
      _ = try store.takePlaces(3, of: "a", pool, for: 1, in: context)
      pool.begin([1])
      _ = pool.takeNews()
      pool.begin([2])
      _ = try store.tellBeginnings(pool, of: "a", for: 1, in: context)
      let lines = try RateRow.lines(in: context)
      // The two may be in different steps.
      let begun = lines.dropLast().compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
      #expect(begun.reduce(0, +) == 2 && lines.last == "held 1 1")
    }
  }

  /// The clock was a year ahead when jobs began: they count for one period from now on.
  @Test(arguments: JobStoreKind.allCases) func timesThatAreFarAheadCountAsOfNow(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let pool = makeRate()
      _ = try store.takePlaces(3, of: "a", pool, for: 1, in: context)
      pool.begin([1, 2, 3])
      _ = try store.tellBeginnings(pool, of: "a", for: 1, in: context)
      try RateRow.age(by: -31_536_000, in: context)
      #expect(try store.takePlaces(1, of: "a", pool, for: 1, in: context).count == 0)
      try RateRow.age(by: 1000, in: context)
      #expect(try store.takePlaces(1, of: "a", pool, for: 1, in: context).count == 1)
    }
  }
}
