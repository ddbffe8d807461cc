import Testing

@testable import WorkerPool

/// A flight that `#expect` may change: the macro takes no mutating calls on values.
private final class Flight {
  private(set) var value = SingleFlight()
  var isRunning: Bool { value.isRunning }
  func request() -> Bool { value.request() }
  func ended() -> Bool { value.ended() }
}

@Suite struct SingleFlightTests {
  @Test func oneRunIsUnderWayAtATime() {
    let flight = Flight()
    #expect(!flight.isRunning)
    #expect(flight.request(), "nothing is under way")
    #expect(flight.isRunning)
    #expect(!flight.request())
    #expect(!flight.request())
  }

  @Test func requestsDuringARunAreOneMoreRun() {
    let flight = Flight()
    _ = flight.request()
    _ = flight.request()
    _ = flight.request()
    #expect(flight.ended(), "somebody asked meanwhile")
    #expect(flight.request(), "so it is started again")
    #expect(!flight.ended(), "and nobody has asked since")
    #expect(!flight.isRunning)
  }

  @Test func aRunThatNobodyAskedForAgainIsTheLast() {
    let flight = Flight()
    _ = flight.request()
    #expect(!flight.ended())
    #expect(flight.request())
    #expect(!flight.ended())
  }

  /// An owner that has been stopped leaves the noted run out. The next request is the first one of a new story.
  @Test func aRunThatIsLeftOutIsForgotten() {
    let flight = Flight()
    _ = flight.request()
    _ = flight.request()
    #expect(flight.ended())
    #expect(flight.request())
    #expect(!flight.ended(), "the request before the end of the first run counts no more")
  }

  /// An answer that was not asked for, as a second report of the same work, starts nothing.
  @Test func anEndWithoutARunChangesNothing() {
    let flight = Flight()
    #expect(!flight.ended())
    #expect(flight.value == SingleFlight())
  }

  /// Every request is followed by a run that begins after it: checked against a log of all sequences of eight steps.
  @Test func noRequestGoesWithoutARunThatBeginsAfterIt() {
    for sequence in 0..<(1 << 8) {
      let flight = Flight()
      var unserved = 0
      for step in 0..<8 {
        if sequence >> step & 1 == 0 {
          unserved += 1
          if flight.request() { unserved = 0 }
        } else if flight.ended(), flight.request() {
          unserved = 0
        }
        #expect(flight.isRunning || unserved == 0, "sequence \(sequence), step \(step)")
      }
      while flight.isRunning {
        if flight.ended(), flight.request() { unserved = 0 }
      }
      #expect(unserved == 0, "sequence \(sequence)")
    }
  }
}
