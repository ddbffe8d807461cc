import Testing

@testable import WorkerPool

/// How many jobs a pool claims ahead in a store that it shares.
struct ClaimPaceTests {
  @Test func aPoolWithoutWorkersClaimsNothing() {
    #expect(ClaimPace().size(now: 0) == 0)
  }

  @Test func eachWorkerFindsAJob() {
    var pace = ClaimPace()
    pace.workers = 1
    #expect(pace.size(now: 100) == 1)
    pace.workers = 8
    #expect(pace.size(now: 100) == 8)
  }

  @Test func aPoolWhoseWorkersAreAllBusyForLongClaimsNothing() {
    var pace = ClaimPace()
    pace.workers = 2
    pace.note(0, now: 100)
    pace.note(100, now: 100.1)
    #expect(pace.size(slow: 2, now: 100.2) == 0)
    #expect(pace.size(slow: 1, now: 102) == 1)
  }

  @Test func theJobsOfAQuarterOfASecondAreClaimed() {
    var pace = ClaimPace()
    pace.workers = 2
    pace.note(0, now: 100)
    pace.note(100, now: 100.1)
    #expect((240...260).contains(pace.size(now: 100.2)))
    // What was fast long ago says nothing.
    #expect(pace.size(now: 102) == 2)
  }

  @Test func aPoolThatHasGivenJobsBackIsCautious() {
    var pace = ClaimPace()
    pace.workers = 2
    #expect(pace.sizeWithHands() == nil)
    pace.gaveBack()
    #expect(pace.sizeWithHands() == 2)
    #expect(pace.sizeWithHands(slow: 1) == 1)
    pace.note(400, now: 1)
    #expect(pace.sizeWithHands() == 100)
    // As many may come between the next two times.
    pace.gaveBack()
    pace.gaveBack()
    #expect(pace.sizeWithHands() == 100)
    pace.note(8, now: 2)
    pace.gaveBack()
    #expect(pace.sizeWithHands() == 2)
  }
}
