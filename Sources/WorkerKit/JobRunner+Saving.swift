import Foundation
import LinuxSystem
import WorkerProtocol

/// While the store cannot be written, no job begins that could not be saved, and finished work is saved again instead
/// of being done again.
extension JobRunner {
  /// Whether a job that may have effects outside the store can begin. While the store cannot be written this waits, and
  /// then returns `false`: the jobs in hand may have gone back meanwhile.
  ///
  /// - Parameter asksForLock: whether to begin a writing transaction as a test; otherwise only the free space of the
  ///   disk is checked.
  func canBegin(asksForLock: Bool) -> Bool {
    guard let trouble = storeTrouble(asksForLock: asksForLock) else { return true }
    complain("no job begins: \(trouble)")
    var pause = GrowingPause()
    var latest: StoreTrouble? = trouble
    while let trouble = latest {
      connection.waitsForStore(trouble.reason)
      guard connection.pause(seconds: pause.take(), until: { $0.isDraining || $0.notBegun.isEmpty }) else {
        return false
      }
      latest = storeTrouble(asksForLock: true)
    }
    complain("the store can be written again")
    connection.waitsForStore(.over)
    return false
  }

  private func storeTrouble(asksForLock: Bool) -> StoreTrouble? {
    do {
      try StoreTrouble.checkRoom(store)
      guard asksForLock else { return nil }
      connection.usesStore(true)
      defer { connection.usesStore(false) }
      try store.coordinator.checkWritable()
      return nil
    } catch {
      return StoreTrouble(error)
    }
  }

  /// Saves what jobs have done. While the store cannot be written the same changes are saved again, for up to
  /// `timeout` seconds.
  ///
  /// - Throws: ``CommitFailure`` after that time; ``JobStopped`` when one of the jobs should stop meanwhile; other
  ///   errors of the save.
  func commit(_ context: NSManagedObjectContext, of jobs: [ObjectURI], timeout: Double) throws {
    let start = Clock.now
    var pause = GrowingPause()
    var hasWaited = false
    while true {
      do {
        try context.save()
        if hasWaited {
          complain("\(names(jobs)) is saved after \(Int(Clock.now - start)) s")
          connection.waitsForStore(.over)
        }
        return
      } catch {
        guard let trouble = StoreTrouble(error) else { throw error }
        guard Clock.now - start < timeout else {
          throw CommitFailure(trouble: trouble, seconds: Clock.now - start)
        }
        if !hasWaited { complain("\(names(jobs)) waits to be saved, for up to \(Clock.text(timeout)): \(trouble)") }
        hasWaited = true
        connection.waitsForStore(trouble.reason)
        let secondsLeft = max(0, timeout - (Clock.now - start))
        guard connection.pause(seconds: min(pause.take(), secondsLeft), until: { $0.isStopping(jobs) }) else {
          throw JobStopped()
        }
      }
    }
  }

  private func names(_ jobs: [ObjectURI]) -> String {
    jobs.count == 1 ? jobs[0].description : "\(jobs.first?.description ?? "") with \(jobs.count - 1) more"
  }

  // MARK: Failures

  /// Writes the failure into the job's row. While the store cannot be written this tries again: without its failure the
  /// job would run again at once, uncounted and without a pause.
  func noteFailure(of uri: ObjectURI, _ error: any Error, startedAt: Date) -> JobEnd {
    var pause = GrowingPause()
    var hasComplained = false
    while true {
      if connection.stopReason(uri) == .terminated { return .returned }
      do {
        return try writeFailure(of: uri, error, startedAt: startedAt)
      } catch let failure {
        // Another process has written the job's row, and the next worker reads it again.
        if MergeFailure(failure) != nil { return .returned }
        if !hasComplained { complain("the failure of \(uri) cannot be noted yet: \(FailureText.text(failure))") }
        hasComplained = true
        connection.waitsForStore(StoreTrouble(failure)?.reason ?? .failing)
        _ = connection.pause(seconds: pause.take(), until: \.isTerminated)
      }
    }
  }

  /// Writes the row once, in a context of its own.
  private func writeFailure(of uri: ObjectURI, _ error: any Error, startedAt: Date) throws -> JobEnd {
    let reason = connection.stopReason(uri)
    let context = store.makeContext(name: "failure")
    return try context.performAndWait {
      guard let job = try JobAttempt.job(uri, in: context), job.state == .available else { return .done }
      let now = store.now
      let details = error as? any DetailedFailure
      if let output = details?.output { job.output = output }
      if reason == .cancelled {
        try job.markCancelled(at: now)
      } else if let snooze = error as? JobSnoozed, reason == nil {
        try job.markSnoozed(until: now + snooze.seconds, at: now)
      } else {
        var policy = retryPolicy(of: job)
        if error is PermanentFailure || details?.isPermanent == true { policy.maxAttempts = 0 }
        try job.markFailed(failure(error, reason, job), policy: policy, startedAt: startedAt, at: now)
      }
      try context.save()
      FaultPoint.failureNoted.pass()
      if job.state == .scheduled { return .snoozed }
      return reason == .cancelled ? .done : .failed
    }
  }

  private func failure(_ error: any Error, _ reason: StopReason?, _ job: Job) -> AttemptFailure {
    let isLate = reason == .timedOut && !(error is CommitFailure)
    let details = error as? any DetailedFailure
    var failure = AttemptFailure(
      attempt: job.attemptNumber, date: store.now, type: isLate ? "timeout" : FailureText.type(error),
      message: isLate ? "took longer than \(timeout(of: job) ?? 0) seconds" : FailureText.text(error),
      host: ProcessInfo.processInfo.hostName, pid: getpid(), signal: details?.signal,
      standardError: details?.standardError ?? [])
    if isLate, let uri = job.objectID.objectURI { failure.stack = connection.lateStack(of: uri) }
    return failure
  }
}
