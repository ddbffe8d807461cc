import TestFiles
import Testing

@testable import WorkerPool

/// Which kinds count as stalled, with a clock of the test's own.
@Suite(.ownThreads) struct StallTests {
  private func kind(
    _ ready: Int, progress: Int = 0, isRunning: Bool = false, mustWait: Bool = false
  ) -> [String: Stalls.Kind] {
    ["a": Stalls.Kind(ready: ready, progress: progress, isRunning: isRunning, mustWait: mustWait)]
  }

  @Test func aKindThatStandsStillIsToldOfOnceAndItsRecoveryToo() {
    var stalls = Stalls(limit: 10)
    #expect(stalls.note(kind(3), now: 0).isEmpty)
    #expect(stalls.note(kind(3), now: 5).isEmpty)
    #expect(stalls.note(kind(3), now: 9).isEmpty)
    #expect(stalls.note(kind(4), now: 10) == [.init(kind: "a", isStalled: true, ready: 4, seconds: 10)])
    #expect(stalls.note(kind(4), now: 30).isEmpty)
    #expect(stalls.note(kind(3, progress: 1), now: 31) == [.init(kind: "a", isStalled: false, ready: 3, seconds: 31)])
    for now in [36.0, 40] { #expect(stalls.note(kind(3, progress: 1), now: now).isEmpty) }
    #expect(stalls.note(kind(3, progress: 1), now: 41).map(\.isStalled) == [true], "it may stall again")
    #expect(stalls.note(kind(0, progress: 1), now: 42).map(\.isStalled) == [false], "its jobs were cancelled")
    #expect(stalls.kinds.isEmpty)
  }

  @Test func aKindWhoseJobsRunOrEndIsNotStalled() {
    var stalls = Stalls(limit: 10)
    for second in 0..<10 {
      #expect(stalls.note(kind(3, progress: second), now: Double(second) * 9).isEmpty)
      #expect(stalls.note(kind(3, progress: second, isRunning: true), now: Double(second) * 9 + 8).isEmpty)
    }
  }

  @Test func timeInWhichTheJobsMustWaitDoesNotCount() {
    var stalls = Stalls(limit: 10)
    _ = stalls.note(kind(3), now: 0)
    #expect(stalls.note(kind(3, mustWait: true), now: 100).isEmpty)
    for now in [105.0, 109] { #expect(stalls.note(kind(3), now: now).isEmpty) }
    #expect(stalls.note(kind(3), now: 110).map(\.isStalled) == [true])
  }

  /// As after SIGSTOP and SIGCONT.
  @Test func timeInWhichNobodyLooksDoesNotCount() {
    var stalls = Stalls(limit: 10)
    for now in [0.0, 4, 1000, 1005] { #expect(stalls.note(kind(3), now: now).isEmpty) }
    #expect(stalls.note(kind(3), now: 1006).map(\.isStalled) == [true])
  }
}
