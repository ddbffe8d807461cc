import Foundation
import Glibc
import LinuxSystem
import Synchronization
import TestFiles
import Testing

@testable import WorkerPool

/// Work that blocks as long as a test likes, beside the loop.
@Suite struct BlockingWorkTests {
  private let loop: EventLoop

  init() throws { loop = try EventLoop() }

  private func turn(until isSatisfied: () -> Bool) {
    let end = Date(timeIntervalSinceNow: Double(TestLimit.seconds))
    while !isSatisfied(), Date() < end { loop.turn(milliseconds: 100) }
    #expect(isSatisfied())
  }

  /// hanging: A waits | others
  @Test func whatHangsHoldsOnlyItsOwnSubject() {
    let gate = DispatchSemaphore(value: 0)
    var ended: [String] = []
    loop.blocking.run(on: "A", { gate.wait() }, then: { ended.append("A1") })
    loop.blocking.run(on: "A", {}, then: { ended.append("A2") })
    loop.blocking.run(on: "B", { 7 }, then: { ended.append("B\($0)") })
    turn { !ended.isEmpty }
    #expect(ended == ["B7"])
    gate.signal()
    turn { ended.count == 3 }
    #expect(ended == ["B7", "A1", "A2"], "work on one subject keeps its order")
  }

  @Test func theNumberOfThreadsHasABound() {
    let gate = DispatchSemaphore(value: 0)
    let running = Collected<Int>()
    var ended = 0
    let count = BlockingWork.mostThreads + 5
    for number in 0..<count {
      loop.blocking.run(
        on: "\(number)",
        {
          running.add(number)
          gate.wait()
        }, then: { ended += 1 })
    }
    #expect(running.wait { $0.count == BlockingWork.mostThreads })
    loop.turn(milliseconds: 0)
    #expect(running.all.count == BlockingWork.mostThreads && ended == 0)
    for _ in 0..<count { gate.signal() }
    turn { ended == count }
    #expect(Set(running.all) == Set(0..<count))
  }

  @Test func whereNoThreadIsToBeHadItIsTriedAgainAndSaidOnce() {
    var refusals = 3
    var told: [Int32] = []
    let start = loop.blocking.start
    loop.blocking.start = { work throws(SystemCallError) in
      refusals -= 1
      if refusals >= 0 { throw SystemCallError("pthread_create", number: EAGAIN) }
      try start(work)
    }
    loop.blocking.whenShort = { told.append($0.number) }
    var result: Int?
    loop.blocking.run(on: "A", { 1 }, then: { result = $0 })
    #expect(result == nil && told == [EAGAIN])
    turn { result == 1 }
    #expect(told == [EAGAIN])
  }

  @Test func aLongTurnIsKeptWithWhatTookIt() throws {
    let mailbox = try Mailbox<Double>()
    // A handler that computes for as long as it is told.
    try loop.deliver(from: mailbox) { seconds in
      let end = Clock.now + seconds
      while Clock.now < end {}
    }
    mailbox.post(0.03)
    loop.turn(milliseconds: 1000)
    mailbox.post(0)
    loop.turn(milliseconds: 1000)
    let turn = loop.meter.longestTurn
    #expect(turn.seconds >= 0.03 && turn.handler == "BlockingWorkTests", "\(turn)")
    #expect(turn.age >= 0)
  }
}
