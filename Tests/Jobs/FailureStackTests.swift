import Foundation
import Testing

@testable import Jobs

/// The stack of a job that took too long, among its failures.
@Suite struct FailureStackTests {
  private func failure(_ attempt: Int, stack: [String]) -> AttemptFailure {
    var failure = AttemptFailure(attempt: attempt, date: Date(timeIntervalSince1970: 0), type: "timeout", message: "")
    failure.stack = stack
    return failure
  }

  @Test func aJobKeepsTheStackOfTheLastFailureThatHasOne() {
    let failures = [failure(1, stack: ["a"]), failure(2, stack: ["b", "c"]), failure(3, stack: [])]
    let read = AttemptFailure.list(AttemptFailure.text(failures))
    #expect(read.map(\.stack) == [[], ["b", "c"], []])
  }

  @Test func aStackHasABound() {
    let line = String(repeating: "x", count: 99)
    let stack = failure(1, stack: Array(repeating: line, count: 1000)).bounded.stack
    #expect(stack.count == AttemptFailure.longestStack / 100 && stack.allSatisfy { $0 == line })
    #expect(failure(1, stack: [String(repeating: "x", count: 9000)]).bounded.stack[0].count == 2000)
  }
}
