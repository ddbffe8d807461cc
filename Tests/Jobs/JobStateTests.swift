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

  @Test func everyTransitionIsTheDrawnOne() {
    let expected: [JobState: [JobState?]] = [
      .available: [
        nil, .succeeded, .retryable, .dead, .retryable, .dead, .cancelled, nil, .scheduled, nil, nil, nil,
      ],
      .scheduled: [.available, nil, nil, nil, nil, nil, .cancelled, .available, nil, nil, nil, nil],
      .retryable: [.available, nil, nil, nil, nil, nil, .cancelled, .available, nil, nil, nil, nil],
      .succeeded: [nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil],
      .dead: [nil, nil, nil, nil, nil, nil, nil, .available, nil, nil, nil, nil],
      .cancelled: [nil, nil, nil, nil, nil, nil, nil, .available, nil, nil, nil, nil],
      .pending: [
        nil, nil, nil, nil, nil, nil, .cancelled, .available, nil, .blocked, .available, .scheduled,
      ],
      .blocked: [
        nil, nil, nil, nil, nil, nil, .cancelled, .available, nil, .blocked, .available, .scheduled,
      ],
    ]
    for state in JobState.allCases {
      #expect(events.map { state.after($0, policy: policy) } == expected[state])
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
    #expect(waits.count == 19 && (12...18).contains(waits[0]))
    #expect((5 * 86_400...9 * 86_400).contains(waits.reduce(0, +)))
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
