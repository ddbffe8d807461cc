import Foundation
import Jobs
import TestFiles
import Testing

@Suite struct JobStateTests {
  private let policy = RetryPolicy(maxAttempts: 3, maxCrashes: 2)
  private let events: [JobEvent] = [
    .due, .succeeded, .failed(attempts: 1), .failed(attempts: 3), .crashed(crashes: 1), .crashed(crashes: 2),
    .cancelled, .retried, .snoozed, .blocked, .released(isEarly: false), .released(isEarly: true),
  ]

  /// What happens to a job without a person.
  private var ownEvents: [JobEvent] {
    events.filter { ![.cancelled, .retried].contains($0) }
  }

  private let finished: Set<JobState> = [.succeeded, .dead, .cancelled]

  /// The states that can come after one, over any number of events.
  private func reached(from start: JobState, by events: [JobEvent]) -> Set<JobState> {
    var states: Set<JobState> = []
    var next = [start]
    while let state = next.popLast() {
      for event in events {
        if let after = state.after(event, policy: policy), states.insert(after).inserted { next.append(after) }
      }
    }
    return states
  }

  @Test func aJobThatHasEndedComesBackByAPersonOnlyAndNeverAfterItsSuccess() {
    for state in JobState.allCases {
      #expect(finished.contains(state) != state.isUnfinished)
      guard finished.contains(state) else { continue }
      #expect(ownEvents.allSatisfy { state.after($0, policy: policy) == nil }, "\(state)")
    }
    #expect(events.allSatisfy { JobState.succeeded.after($0, policy: policy) == nil })
    for state in [JobState.dead, .cancelled] { #expect(state.after(.retried, policy: policy) == .available) }
  }

  /// Whatever a job waits for, it runs in the end, and can succeed.
  @Test func everyUnfinishedJobCanSucceedWithoutAPerson() {
    for state in JobState.allCases where state.isUnfinished {
      #expect(reached(from: state, by: ownEvents).contains(.succeeded), "\(state)")
    }
  }

  /// Success, failures and crashes are those of an attempt, and only an available job has one.
  @Test func onlyAnAvailableJobRuns() {
    let endings: [JobEvent] = [.succeeded, .failed(attempts: 1), .crashed(crashes: 1), .snoozed]
    for state in JobState.allCases {
      for event in endings { #expect((state.after(event, policy: policy) != nil) == (state == .available)) }
    }
  }

  @Test func aPersonCancelsAnyUnfinishedJobAndNoOther() {
    for state in JobState.allCases {
      #expect(state.after(.cancelled, policy: policy) == (finished.contains(state) ? nil : .cancelled), "\(state)")
    }
  }

  /// It neither runs twice at once, nor again after its success.
  @Test func aPersonMakesEveryJobRunAtOnceThatWaitsOrWasGivenUp() {
    for state in JobState.allCases where ![.available, .succeeded].contains(state) {
      #expect(state.after(.retried, policy: policy) == .available, "\(state)")
    }
    for state in [JobState.available, .succeeded] { #expect(state.after(.retried, policy: policy) == nil) }
  }

  @Test(arguments: [1, 2, 20]) func aJobRunsAsManyTimesAsItMayFailOrCrash(most: Int) {
    let policy = RetryPolicy(maxAttempts: most, maxCrashes: most)
    for ending in [JobEvent.failed(attempts:), JobEvent.crashed(crashes:)] {
      var (state, runs) = (JobState.available, 0)
      while state == .available, runs < 100 {
        runs += 1
        // It may snooze as often as it likes.
        #expect(state.after(.snoozed, policy: policy)?.after(.due, policy: policy) == .available)
        guard let after = state.after(ending(runs), policy: policy) else { break }
        state = after.after(.due, policy: policy) ?? after
      }
      #expect(runs == most && state == .dead)
    }
  }

  @Test func aJobThatWaitsForOthersRunsAfterThemAndNotBeforeItsTime() {
    for state in [JobState.pending, .blocked] {
      #expect(state.after(.blocked, policy: policy) == .blocked && state.after(.due, policy: policy) == nil)
      #expect(state.after(.released(isEarly: false), policy: policy) == .available)
      let early = state.after(.released(isEarly: true), policy: policy)
      #expect(early == .scheduled && early?.after(.due, policy: policy) == .available)
    }
    for state in JobState.allCases where ![.pending, .blocked].contains(state) {
      for event in [JobEvent.blocked, .released(isEarly: false)] { #expect(state.after(event, policy: policy) == nil) }
    }
  }

  @Test func namesLeadBackToTheirStates() {
    for state in JobState.allCases { #expect(JobState(name: state.name) == state) }
    #expect(JobState(name: "running") == nil)
  }

  @Test func theWaitDoublesUpToItsCapAndIsSpreadAroundThat() {
    let policy = RetryPolicy(base: 2, cap: 60)
    #expect((1...7).map { policy.delay(afterFailures: $0) } == [2, 4, 8, 16, 32, 60, 60])
    #expect(policy.delay(afterFailures: 10_000) == 60)
    var generator = SeededGenerator(seed: 1)
    let delays = (0..<1000).map { _ in policy.delay(afterFailures: 5, using: &generator) }
    #expect(delays.allSatisfy { (25.6...38.4).contains($0) })
    #expect(delays.contains { $0 < 28 } && delays.contains { $0 > 36 })
  }

  /// Who mends what makes jobs fail sleeps at night, and is away at weekends.
  @Test func aJobThatFailsIsTriedForDaysUnlessItSaysOtherwise() {
    let policy = RetryPolicy()
    var generator = SeededGenerator(seed: 1)
    let waits = (1..<policy.maxAttempts).map { policy.delay(afterFailures: $0, using: &generator) }
    #expect(waits.count == 19)
    #expect((12...18).contains(waits[0]))
    let days: Double = waits.reduce(0, +) / 86_400
    #expect((5...9).contains(days))
  }

  /// The pages state what ``RetryPolicy`` does.
  @Test func thePagesStateTheDefaults() throws {
    let policy = RetryPolicy()
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..").standardized
    func page(_ path: String) throws -> String {
      try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }
    let (attempts, base, cap) = (policy.maxAttempts, Int(policy.base), Int(policy.cap))
    let protocolPage = try page("Protocol/PROTOCOL.md")
    for row in [
      "before the job is dead | \(attempts) |", "is dead | \(policy.maxCrashes) |", "in seconds | \(base) |",
      "in seconds | \(cap) |", "`maxAttempts`, else \(attempts))", "from the kind, else \(base) and \(cap)",
    ] { #expect(protocolPage.contains(row), "\(row)") }
    let submitting = try page("Sources/WorkerPool/WorkerPool.docc/SubmittingJobs.md")
    #expect(submitting.contains("without it the kind's own, else \(attempts) |"))
    #expect(submitting.contains("without them the kind's own, else \(base) and \(cap) |"))
  }
}

@Suite struct SpellingTests {
  private let words = ["status", "stop", "submit", "scale", "retry", "workers"]

  @Test(arguments: [
    ("statsu", "status"), ("Submitt", "submit"), ("stp", "stop"), ("worker", "workers"), ("sta", "status"),
    ("rtery", "retry"),
  ])
  func theNearestWordIsFound(word: String, expected: String) {
    #expect(Spelling.nearest(to: word, among: words) == expected)
  }

  @Test func wordsThatAreFarOffFindNothing() {
    #expect(Spelling.nearest(to: "frobnicate", among: words) == nil)
    #expect(Spelling.nearest(to: "x", among: words) == nil)
    // Words of any length cost little: a comparison of these two letter by letter would take an hour.
    let long = String(repeating: "q", count: 1_000_000)
    #expect(Spelling.nearest(to: long, among: [String(repeating: "y", count: 1_000_000)]) == nil)
    #expect(Spelling.nearest(to: "stop", among: [long]) == nil)
  }
}
