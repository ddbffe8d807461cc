import CoreData
import Foundation
import Jobs
import LinuxSystem
import WorkerProtocol

/// The ends of attempts that the pool writes, and the files for workers that leave that to the pool.
extension StoreJobSource {
  func settle(_ jobs: [JobKey], _ settlement: Settlement) {
    work { [self] context in
      for job in try store.jobs(keys: jobs, in: context) {
        if isDue(settlement, job) {
          try write(settlement, job)
        } else {
          // A worker in another language has written a failure without a hook, and died before it could send FAILED.
          try job.tellOfFailure(at: store.now)
        }
      }
      try context.save()
      sheets.remove(jobs)
      report(.settled(jobs))
    } onFailure: { [self] error in
      // On a conflict another process has written the row, such as the worker before it died, and the row is right.
      let isConflict = (error as NSError).code == CocoaError.Code.managedObjectMerge.rawValue
      if isConflict, settlement != .cancelled {
        sheets.remove(jobs)
        return report(.settled(jobs))
      }
      report(.settlementFailed(jobs, settlement, reason: ErrorText.text(error)))
    }
  }

  /// Whether the row still stands as it did when the attempt began. What a worker told counts only for that attempt,
  /// and at a server only while this pool has the job.
  private func isDue(_ settlement: Settlement, _ job: Job) -> Bool {
    switch settlement {
    case .cancelled: job.state.isUnfinished
    case .crashed, .timedOut: job.state == .available
    case .told(let end):
      job.state == .available && job.attemptNumber == end.attempt
        && (membership == nil || job.claimant == membership?.member.identity)
    }
  }

  private func write(_ settlement: Settlement, _ job: Job) throws {
    switch settlement {
    case .crashed(let obituary):
      try job.markCrashed(
        failure(of: job, type: "crash", message: obituary.reason, obituary), policy: policy(of: job), at: store.now)
    case .timedOut(let obituary, let seconds):
      let (type, message) =
        if case .usedTooMuch(let limit) = obituary.cause {
          ("processor-time", "used more than \(Clock.text(limit)) of processor time")
        } else {
          ("timeout", "took longer than \(Clock.text(seconds)), and did not stop when asked")
        }
      try job.markFailed(
        failure(of: job, type: type, message: message, obituary), policy: policy(of: job), at: store.now)
    case .cancelled: try job.markCancelled(at: store.now)
    case .told(let end): try write(end, job)
    }
  }

  private func write(_ end: ToldEnd, _ job: Job) throws {
    let startedAt = store.now - (Clock.now - end.begunAt)
    var outcome = ToldOutcome()
    do {
      if let key = job.objectID.key { outcome = try sheets.outcome(of: key, run: end.run) }
    } catch {
      // What the worker did is done, and its text is lost.
      report(.trouble("\(job.objectID.uriString): \(error)"))
      outcome.message = "\(error)"
    }
    if let output = outcome.output { job.output = output }
    guard end.outcome == .failed else { return try job.markSucceeded(startedAt: startedAt, at: store.now) }
    var policy = policy(of: job)
    if outcome.isPermanent { policy.maxAttempts = 0 }
    let failure = AttemptFailure(
      attempt: job.attemptNumber, date: store.now, type: outcome.type ?? "error",
      message: outcome.message ?? "the worker has given no reason", host: ProcessInfo.processInfo.hostName,
      pid: end.pid)
    try job.markFailed(failure, policy: policy, startedAt: startedAt, at: store.now)
  }

  /// How often a job runs. Called on the context's queue.
  func policy(of job: Job) -> RetryPolicy {
    let kind = kind(job.kind)
    return RetryPolicy(
      maxAttempts: kind?.maxAttempts, maxCrashes: kind?.maxCrashes, backoff: kind?.backoff, maxBackoff: kind?.maxBackoff
    ).applied(to: job)
  }

  private func failure(of job: Job, type: String, message: String, _ obituary: Obituary) -> AttemptFailure {
    var failure = AttemptFailure(
      attempt: job.attemptNumber, date: store.now, type: type, message: message,
      host: ProcessInfo.processInfo.hostName, pid: obituary.pid, signal: obituary.death.signal,
      standardError: obituary.lastLines)
    failure.stack = obituary.stack
    return failure
  }

  // MARK: Sheets

  func writeSheets(_ jobs: [JobKey: Int], for worker: WorkerID) {
    work { [self] context in
      var ended = Set(jobs.keys)
      var failed: [JobKey] = []
      for job in try store.wholeJobs(keys: Array(jobs.keys), in: context) where job.state == .available {
        guard let key = job.objectID.key, let run = jobs[key] else { continue }
        ended.remove(key)
        do {
          try sheets.write(job, key, run: run, timeout: job.timeout ?? kind(job.kind)?.timeout)
        } catch let error as JSONError {
          // No worker can ever get it, and it would keep the others of its kind.
          try markUnreadable(job, error)
          failed.append(key)
        }
      }
      if !failed.isEmpty { try context.save() }
      report(.wroteSheets(for: worker, ended: ended.sorted(), failed: failed, reason: nil))
    } onFailure: { [self] error in
      sheets.remove(Array(jobs.keys))
      report(.wroteSheets(for: worker, ended: [], failed: [], reason: ErrorText.text(error)))
    }
  }

  private func markUnreadable(_ job: Job, _ error: JSONError) throws {
    let failure = AttemptFailure(
      attempt: job.attemptNumber, date: store.now, type: "parameters",
      message: "its parameters are not a JSON object: \(error)", host: ProcessInfo.processInfo.hostName, pid: getpid())
    try job.markFailed(failure, policy: RetryPolicy(maxAttempts: 0), at: store.now)
  }

  func removeSheets(_ jobs: [JobKey]) {
    context.perform { [self] in sheets.remove(jobs) }
  }
}
