/// How often a job is tried, and how long it waits between two attempts.
///
/// ```swift
/// let policy = RetryPolicy(maxAttempts: 5, base: 1, cap: 60)
/// print((1...4).map { policy.delay(afterFailures: $0) })  // [1.0, 2.0, 4.0, 8.0]
/// ```
///
/// The defaults leave people time to find and repair the cause: the last of 20 attempts comes a week after the
/// first. A job's own values come before those of its kind, and these before the defaults.
public struct RetryPolicy: Hashable, Sendable {
  /// Attempts that throw before the job is dead. Default 20. 1 or less never tries again.
  public var maxAttempts: Int
  /// Crashes before the job is dead, counted apart from attempts that throw. Default 3. A crash is an attempt whose
  /// process died: by a signal, by exit(3), or because memory ran out.
  public var maxCrashes: Int
  /// The wait after the first failed attempt, in seconds; it doubles with each further one. Default 15.
  public var base: Double
  /// The wait grows up to this, in seconds. Default one day.
  public var cap: Double

  /// The part by which a wait may be shorter or longer than its value, so that jobs that failed together do not run
  /// together again.
  static let jitter = 0.2

  /// A policy. Values that are left out are at their defaults.
  public init(maxAttempts: Int = 20, maxCrashes: Int = 3, base: Double = 15, cap: Double = 86_400) {
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
  ///
  /// ```swift
  /// for job in try context.fetch(Job.fetchRequest()) {
  ///   print(job.kind, RetryPolicy(maxAttempts: 5).applied(to: job).maxAttempts)
  /// }
  /// ```
  public func applied(to job: PoolJob) -> RetryPolicy {
    var policy = self
    if let attempts = job.maxAttempts { policy.maxAttempts = attempts }
    let options = job.options
    if let backoff = options.backoff { policy.base = backoff }
    if let longest = options.maxBackoff { policy.cap = longest }
    return policy
  }

  /// The wait before the next attempt, in seconds: the value of ``delay(afterFailures:)``, up to a fifth shorter or
  /// longer.
  ///
  /// - Parameter failures: attempts or crashes so far, from 1.
  public func delay(afterFailures failures: Int, using generator: inout some RandomNumberGenerator) -> Double {
    delay(afterFailures: failures) * .random(in: 1 - Self.jitter...1 + Self.jitter, using: &generator)
  }

  /// The wait before the next attempt, in seconds, without the random part: exponential, up to ``cap``.
  public func delay(afterFailures failures: Int) -> Double {
    let doublings = max(0, min(failures - 1, 62))
    return min(cap, base * Double(UInt64(1) << UInt64(doublings)))
  }
}
