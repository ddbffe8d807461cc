/// When a slot whose process died gets its next process.
///
/// A process that had worked is replaced at once; one that had not is replaced after a wait that doubles each time,
/// with jitter, so that a plugin which dies at its start does not keep the machine busy. After a few failures to start
/// in a row the plugin is given up.
struct RestartPolicy: Equatable, Sendable {
  /// Failures to start in a row after which the plugin is given up.
  static let mostFailures = 5
  /// The first wait in seconds, and the longest.
  static let firstDelay = 0.1
  static let longestDelay = 30.0

  private(set) var failuresToStart = 0
  private(set) var fruitlessDeaths = 0
  /// Processes in a row that said hello, and broke the protocol before they had begun a job.
  private(set) var idleBreaches = 0

  /// Whether no further process should be started.
  var hasGivenUp: Bool { max(failuresToStart, idleBreaches) >= Self.mostFailures }

  /// A process said hello.
  mutating func cameUp() { failuresToStart = 0 }

  /// A process finished a job.
  mutating func worked() {
    failuresToStart = 0
    fruitlessDeaths = 0
    idleBreaches = 0
  }

  /// A process did not come up: the wait before the next, or `nil` when it is time to give up.
  mutating func failedToStart(jitter: Double) -> Double? {
    failuresToStart += 1
    return hasGivenUp ? nil : delay(after: failuresToStart, jitter: jitter)
  }

  /// A process said hello, and broke the protocol before it had begun a job: the wait before the next, or `nil` when it
  /// is time to give up.
  mutating func brokeProtocolIdly(jitter: Double) -> Double? {
    idleBreaches += 1
    return hasGivenUp ? nil : delay(after: idleBreaches, jitter: jitter)
  }

  /// A process died that had come up: the wait before the next.
  mutating func died(hadWorked: Bool, jitter: Double) -> Double {
    if hadWorked {
      fruitlessDeaths = 0
      return 0
    }
    fruitlessDeaths += 1
    return delay(after: fruitlessDeaths, jitter: jitter)
  }

  /// `jitter` is between 0 and 1 and takes away up to half of the wait.
  private func delay(after count: Int, jitter: Double) -> Double {
    let full = min(Self.longestDelay, Self.firstDelay * Double(1 << min(count - 1, 20)))
    return full * (1 - jitter / 2)
  }
}
