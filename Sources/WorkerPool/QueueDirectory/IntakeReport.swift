import Jobs

/// What one transaction of the intake brought.
struct IntakeReport: Sendable {
  var files = 0
  var jobs = 0
  /// The keys of the new jobs where they follow each other, which is known of few jobs only.
  var keys: ClosedRange<JobKey>?
  /// The jobs that may run now, unless they are too many to list.
  var ready: [JobSummary] = []
  /// Whether some of the jobs wait for others.
  var someWait = false
  /// Names of bad files, each with the reason.
  var rejected: [(name: String, reason: String)] = []
  /// Files for the next scan: fresh ones, and ones that could not be read or removed.
  var postponed = 0
  /// Why files could not be taken or removed although nothing is wrong with them: the first few reasons.
  private(set) var failures: [String] = []
  private var failureCount = 0
  /// Directories that others have replaced.
  var replaced: [QueuePart] = []

  /// A fault of the file system can concern very many files.
  private static let mostFailures = 10

  init() {}

  init(failure: String) { fail(failure) }

  mutating func fail(_ reason: String) {
    failureCount += 1
    if failures.count < Self.mostFailures { failures.append(reason) }
  }

  /// The failures, and how many more there are.
  var messages: [String] {
    failureCount > failures.count ? failures + ["\(failureCount - failures.count) more files have failed so"] : failures
  }
}
