/// How often a job is tried, and how long it waits between two attempts.
public struct RetryPolicy: Hashable, Sendable {
  /// Attempts that throw before the job is dead. Default 5.
  public var maxAttempts: Int
  /// Crashes before the job is dead, counted apart from attempts that throw. Default 3.
  public var maxCrashes: Int
  /// The longest wait after the first attempt, in seconds; it doubles with each further one. Default 1.
  public var base: Double
  /// No wait is longer, in seconds. Default one hour.
  public var cap: Double

  /// A policy. Values that are left out are at their defaults.
  public init(maxAttempts: Int = 5, maxCrashes: Int = 3, base: Double = 1, cap: Double = 3600) {
    self.maxAttempts = maxAttempts
    self.maxCrashes = maxCrashes
    self.base = base
    self.cap = cap
  }

  /// A kind's policy. Values that are nil are at their defaults.
  public init(maxAttempts: Int?, maxCrashes: Int?, backoff: Double?, maxBackoff: Double?) {
    self.init()
    if let maxAttempts { self.maxAttempts = maxAttempts }
    if let maxCrashes { self.maxCrashes = maxCrashes }
    if let backoff { base = backoff }
    if let maxBackoff { cap = maxBackoff }
  }

  /// This policy with the job's own values, which come first. Called on the queue of the job's context.
  public func applied(to job: PoolJob) -> RetryPolicy {
    var policy = self
    if let attempts = job.maxAttempts { policy.maxAttempts = attempts }
    let options = job.options
    if let backoff = options.backoff { policy.base = backoff }
    if let longest = options.maxBackoff { policy.cap = longest }
    return policy
  }

  /// The wait before the next attempt, in seconds: exponential with full jitter.
  ///
  /// Evenly spread between 0 and the longest wait, so that jobs that failed together do not run together again.
  /// - Parameter failures: attempts or crashes so far, from 1.
  public func delay(afterFailures failures: Int, using generator: inout some RandomNumberGenerator) -> Double {
    .random(in: 0...longestDelay(afterFailures: failures), using: &generator)
  }

  /// The upper bound of ``delay(afterFailures:using:)``.
  public func longestDelay(afterFailures failures: Int) -> Double {
    let doublings = max(0, min(failures - 1, 62))
    return min(cap, base * Double(UInt64(1) << UInt64(doublings)))
  }
}
