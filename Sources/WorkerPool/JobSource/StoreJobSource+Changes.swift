import CoreData
import Foundation
import Jobs
import LinuxSystem
import WorkerProtocol

/// What the coordinator writes: settlements, what people ask for, and pauses.
extension StoreJobSource {
  func settle(_ jobs: [JobKey], _ settlement: Settlement) {
    work { [self] context in
      let isCancellation = settlement == .cancelled
      for job in try store.jobs(keys: jobs, in: context)
      where isCancellation ? job.state.isUnfinished : job.state == .available {
        let policy = policy(of: job)
        switch settlement {
        case .crashed(let obituary):
          try job.markCrashed(
            failure(of: job, type: "crash", message: obituary.reason, obituary), policy: policy, at: store.now)
        case .timedOut(let obituary, let seconds):
          let message = "took longer than \(Clock.text(seconds)), and did not stop when asked"
          try job.markFailed(
            failure(of: job, type: "timeout", message: message, obituary), policy: policy, at: store.now)
        case .cancelled: try job.markCancelled(at: store.now)
        }
      }
      try context.save()
      report(.settled(jobs))
    } onFailure: { [report] error in
      // On a conflict the worker's commit succeeded before it died, and the row is right.
      let isConflict = (error as NSError).code == CocoaError.Code.managedObjectMerge.rawValue
      if isConflict, settlement != .cancelled { return report(.settled(jobs)) }
      report(.settlementFailed(jobs, settlement, reason: ErrorText.text(error)))
    }
  }

  /// How often a job runs. Called on the context's queue.
  func policy(of job: Job) -> RetryPolicy {
    let kind = kind(job.kind)
    return RetryPolicy(
      maxAttempts: kind?.maxAttempts, maxCrashes: kind?.maxCrashes, backoff: kind?.backoff, maxBackoff: kind?.maxBackoff
    ).applied(to: job)
  }

  private func failure(of job: Job, type: String, message: String, _ obituary: Obituary) -> AttemptFailure {
    AttemptFailure(
      attempt: job.attemptNumber, date: store.now, type: type, message: message,
      host: ProcessInfo.processInfo.hostName, pid: obituary.pid, signal: obituary.death.signal,
      standardError: obituary.lastLines)
  }

  func cancel(_ jobs: [JobKey], ticket: Int?) {
    change(jobs, ticket) { [store] in
      try $0.markCancelled(at: store.now)
    } done: { [report] in
      report(.cancelled($0))
    }
  }

  func retry(_ jobs: [JobKey], ticket: Int) {
    change(jobs, ticket) {
      try $0.markRetried()
    } done: { _ in
    }
  }

  /// Changes rows that no worker writes at the moment, many in one save. If that fails, each row gets a save of its
  /// own, so that one that cannot be changed does not hold up the others.
  private func change(
    _ jobs: [JobKey], _ ticket: Int?, _ body: @escaping @Sendable (Job) throws -> Void,
    done: @escaping @Sendable ([JobKey]) -> Void
  ) {
    work { [self] context in
      var changed: [JobKey] = []
      var problem: String?
      for start in stride(from: 0, to: jobs.count, by: 200) {
        let group = Array(jobs[start..<min(start + 200, jobs.count)])
        do {
          let storedJobs = try store.jobs(keys: group, in: context)
          guard storedJobs.count == group.count else { throw JobSourceError.noJob("one of these") }
          for job in storedJobs { try body(job) }
          try context.save()
          changed += group
        } catch {
          context.rollback()
          for key in group {
            do {
              guard let job = try store.jobs(keys: [key], in: context).first else {
                throw JobSourceError.noJob(store.jobURIs[key].description)
              }
              try body(job)
              try context.save()
              changed.append(key)
            } catch {
              context.rollback()
              let isKeyTaken = (error as NSError).code == CocoaError.Code.managedObjectConstraintMerge.rawValue
              problem = ErrorText.text(isKeyTaken ? JobSourceError.keyTaken(store.jobURIs[key].description) : error)
            }
          }
        }
        context.reset()
      }
      done(changed)
      if let ticket {
        report(.replied(ticket: ticket, count: changed.count, error: changed.isEmpty ? problem : nil))
      }
    }
  }

  func savePauses(_ pauses: JobPauses, ticket: Int) {
    work { [self] context in
      let now = try store.changePauses(from: lastPauses, to: pauses, in: context)
      lastPauses = now
      if store.isShared { report(.pauses(now)) }
      report(.replied(ticket: ticket, count: 0, error: nil))
    } onFailure: { [report] error in
      let reason = "this holds until the pool ends, and could not be written into the store: \(ErrorText.text(error))"
      report(.trouble(reason))
      report(.replied(ticket: ticket, count: 0, error: reason))
    }
  }
}

/// Why a job cannot be changed.
private enum JobSourceError: Error, CustomStringConvertible {
  case noJob(String)
  case keyTaken(String)

  var description: String {
    switch self {
    case .noJob(let uri): "there is no job \(uri), or not any more"
    case .keyTaken(let uri): "\(uri) cannot run: another job has its unique key and is not finished"
    }
  }
}
