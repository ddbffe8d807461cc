import CoreData

/// The changes of a job's state. All of them go through `move`, which asks `JobState.after(_:policy:)`, and none of
/// them saves: what a worker changes and that its job is done is one transaction.
///
/// ```text
/// who calls                          what
/// WorkerKit, in the worker           markSucceeded, markFailed, markSnoozed
/// the pool, of a worker that died    markCrashed, markDiedWithHost
/// the pool, by time or dependents    markDue, markBlocked, markReleased
/// a person                           markCancelled, markRetried
/// ```
///
/// Two processes may change one job. The later save fails as a merge conflict (133020), since the row has another
/// version, and its process reads the row again:
///
/// ```text
/// the worker                             the pool
///                                        it counts as dead: markCrashed(…)
/// markSucceeded(…), with its work
///                                        save: state = retryable
/// save: conflict, nothing of its work
/// is written
/// ```
extension PoolJob {
  /// The number of the attempt that comes next, or is under way: attempts that failed and those that crashed count
  /// alike, no matter whether the worker or the pool writes how this one ends.
  package var attemptNumber: Int { attempt.counting(crashes).counting(1) }

  /// Marks the job done. WorkerKit calls it in the context of the plugin's changes, so that one save holds both.
  ///
  /// ```swift
  /// let job = try Job.insert(JobRequest(kind: "index"), into: context)
  /// book.isRead = true
  /// try job.markSucceeded(startedAt: Date())
  /// try context.save()  // the book and the job, or neither
  /// ```
  ///
  /// - Throws: ``JobTransitionError`` when the job is not `available`: another process has finished or cancelled it.
  public func markSucceeded(startedAt: Date, at now: Date = Date()) throws {
    try move(.succeeded, policy: RetryPolicy(), at: now)
    attempt = attempt.counting(1)
    self.startedAt = startedAt
  }

  /// Notes an attempt that threw: the job waits for the next one, or is dead after the last. Inserts the jobs of the
  /// hooks that report it; see ``JobHook``.
  ///
  /// ```swift
  /// let job = try Job.insert(JobRequest(kind: "index"), into: context)
  /// let failure = AttemptFailure(attempt: job.attempt + 1, date: Date(), type: "IOError", message: "no such file")
  /// try job.markFailed(failure, policy: RetryPolicy().applied(to: job))
  /// print(job.state.name, job.runAt ?? Date())  // retryable, in about 15 seconds
  /// ```
  ///
  /// - Throws: ``JobTransitionError`` when the job is not `available`, and what a fetch throws.
  public func markFailed(
    _ failure: AttemptFailure, policy: RetryPolicy, startedAt: Date? = nil, at now: Date = Date()
  ) throws {
    let attempts = attempt.counting(1)
    try move(.failed(attempts: attempts), policy: policy, at: now)
    attempt = attempts
    forgetHostDeaths()
    if let startedAt { self.startedAt = startedAt }
    try note(failure, failures: attempts, policy: policy, at: now)
  }

  /// Notes that a worker died of the job: it waits for the next attempt, or is dead after a few crashes. Inserts the
  /// jobs of the hooks that report it; see ``JobHook``.
  ///
  /// - Throws: ``JobTransitionError`` when the job is not `available`: the worker saved it before it died. Also what a
  ///   fetch throws.
  public func markCrashed(
    _ failure: AttemptFailure, policy: RetryPolicy, startedAt: Date? = nil, at now: Date = Date()
  ) throws {
    let crashes = crashes.counting(1)
    try move(.crashed(crashes: crashes), policy: policy, at: now)
    self.crashes = crashes
    if let startedAt { self.startedAt = startedAt }
    try note(failure, failures: crashes, policy: policy, at: now)
  }

  /// Notes that the pool which ran the job alone among the suspects has died: it waits for the next attempt, or is dead
  /// after a few crashes. All deaths in a row count as crashes.
  ///
  /// - Throws: ``JobTransitionError`` when the job is not `available`.
  public func markDiedWithHost(_ failure: AttemptFailure, policy: RetryPolicy, at now: Date = Date()) throws {
    let deaths = max(0, hostDeaths ?? 0).counting(1)
    crashes = max(crashes, deaths - 1)
    try markCrashed(failure, policy: policy, at: now)
    if state.isUnfinished { hostDeaths = deaths }
  }

  /// Puts the job off at its own request: the attempt does not count, and there is another one later. A worker asks for
  /// it by throwing `JobSnoozed` of WorkerKit, when what it needs is not there yet.
  ///
  /// - Throws: ``JobTransitionError`` when the job is not `available`.
  public func markSnoozed(until date: Date, at now: Date = Date()) throws {
    try move(.snoozed, policy: RetryPolicy(), at: now)
    forgetHostDeaths()
    runAt = date
  }

  /// Notes that the job waits for another one.
  ///
  /// - Throws: ``JobTransitionError`` when the job waits for none.
  public func markBlocked() throws {
    let earliestRun = runAt
    try move(.blocked, policy: RetryPolicy(), at: Date())
    runAt = earliestRun
  }

  /// Ends a job's wait for others: it is available at once, or at its time if that is still to come.
  ///
  /// - Throws: ``JobTransitionError`` when the job waits for no other.
  public func markReleased(at now: Date = Date()) throws {
    let earliestRun = runAt
    let isEarly = earliestRun.map { $0 > now } ?? false
    try move(.released(isEarly: isEarly), policy: RetryPolicy(), at: now)
    if isEarly { runAt = earliestRun }
  }

  /// Cancels the job, for good unless a person retries it.
  ///
  /// ```swift
  /// let waiting = Job.fetchRequest()
  /// waiting.predicate = JobState.scheduled.predicate
  /// for job in try context.fetch(waiting) { try job.markCancelled() }
  /// try context.save()
  /// ```
  ///
  /// A job that a worker has in hand goes on, and its save fails. `StatusRequest.Command.cancel` of PoolClient asks the
  /// pool, which ends the attempt as well.
  ///
  /// - Throws: ``JobTransitionError`` when the job is finished already.
  public func markCancelled(at now: Date = Date()) throws {
    try move(.cancelled, policy: RetryPolicy(), at: now)
  }

  /// Makes a dead, cancelled or waiting job available at once, no matter what it waits for; its attempts and crashes
  /// are counted from zero.
  ///
  /// ```swift
  /// let dead = Job.fetchRequest()
  /// dead.predicate = JobState.dead.predicate
  /// for job in try context.fetch(dead) where job.kind == "import" { try job.markRetried() }
  /// try context.save()
  /// ```
  ///
  /// The save fails with a constraint conflict when another job has taken the unique key meanwhile.
  ///
  /// - Throws: ``JobTransitionError`` when the job is available or succeeded.
  public func markRetried() throws {
    try move(.retried, policy: RetryPolicy(), at: Date())
    attempt = 0
    crashes = 0
    forgetHostDeaths()
    if let uniqueKey { activeKey = uniqueKey }
  }

  /// Makes a job whose time has come available.
  ///
  /// - Throws: ``JobTransitionError`` when the job waits for no time.
  public func markDue() throws {
    // The time stays: the job has been waiting for a worker since then.
    let due = runAt
    try move(.due, policy: RetryPolicy(), at: Date())
    runAt = due
  }

  /// Since when the job could run: when it came, or when its time came.
  package var couldBeginAt: Date { runAt.map { max($0, createdAt) } ?? createdAt }

  /// Changes the state, and what every change of the state does: the claim goes, and so does the time to run at; a job
  /// that has ended gets the time of its end, and gives up its unique key unless it reserves it.
  private func move(_ event: JobEvent, policy: RetryPolicy, at now: Date) throws {
    guard let next = state.after(event, policy: policy) else {
      throw JobTransitionError(job: objectID.uriString, state: state, event: event)
    }
    // Any pool may claim it when it is available again.
    dropClaim()
    if !next.isUnfinished { forgetHostDeaths() }
    state = next
    runAt = nil
    finishedAt = next.isUnfinished ? nil : now
    if !next.isUnfinished, activeKey != nil, !isKeyTaken(at: now) { activeKey = nil }
  }

  /// Whether this job, once it is finished, still reserves its unique key: `uniqueFor` counts from when it came.
  func isKeyTaken(at now: Date) -> Bool {
    options.uniqueFor.map { createdAt + $0 > now } ?? false
  }

  /// Adds a failure to the job's, sets the time of the next attempt, and inserts the jobs of hooks.
  private func note(_ failure: AttemptFailure, failures count: Int, policy: RetryPolicy, at now: Date) throws {
    failures += [failure.bounded]
    if state == .retryable {
      var generator = SystemRandomNumberGenerator()
      runAt = now + policy.delay(afterFailures: count, using: &generator)
    }
    try tellOfFailure(at: now)
  }
}

/// An event that a job cannot have in its state.
public struct JobTransitionError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The job's URI.
  public let job: String
  /// The state that the job is in.
  public let state: JobState
  /// The event.
  public let event: JobEvent

  /// A sentence with the job, its state and the event.
  public var description: String {
    let happened =
      switch event {
      case .due: "become due"
      case .succeeded: "succeed"
      case .failed: "fail"
      case .crashed: "crash"
      case .snoozed: "be put off"
      case .blocked: "wait for others"
      case .released: "be released"
      case .cancelled: "be cancelled"
      case .retried: "be retried"
      }
    return "\(job) is \(state.name) and cannot \(happened)"
  }
}

// MARK: - Pools that share the store

extension PoolJob {
  /// Lets any pool claim the job when it is available the next time.
  private func dropClaim() {
    if claimant != nil { claimant = nil }
  }

  /// An attempt has ended with its host alive.
  private func forgetHostDeaths() {
    if hostDeaths != nil { hostDeaths = nil }
  }
}

extension Int {
  /// The sum, or the largest number. A row at a server may hold any.
  fileprivate func counting(_ more: Int) -> Int {
    let (sum, isTooLarge) = addingReportingOverflow(more)
    return isTooLarge ? .max : sum
  }
}
