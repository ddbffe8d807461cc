import CoreData
import Foundation
import Jobs

/// What a person wants to know of single jobs.
extension StoreJobSource {
  func readReady(_ job: JobKey, ticket: Int) {
    work { [self] context in
      let summaries = try store.wholeJobs(keys: [job], in: context).compactMap { JobSummary($0) }
      report(.ready(ticket: ticket, windowJobs(summaries).first))
    } onFailure: { [self] error in
      report(.trouble("the row of a job cannot be read: \(ErrorText.text(error))"))
      report(.ready(ticket: ticket, nil))
    }
  }

  func readFailures(_ jobs: [JobKey]) {
    work { [self] context in
      var failures: [JobKey: FailureSummary] = [:]
      for job in try store.wholeJobs(keys: jobs, in: context) {
        guard let key = job.objectID.key, let failure = job.failures.last else { continue }
        failures[key] = FailureSummary(
          kind: job.kind, reason: "\(failure.type): \(failure.message)", isDead: job.state == .dead, runAt: job.runAt)
      }
      report(.failures(failures))
    } onFailure: { [self] error in
      report(.trouble("why jobs failed cannot be read: \(ErrorText.text(error))"))
      report(.failures([:]))
    }
  }
}

/// Why an attempt failed, and what comes next. The reason is that of the job's row, which has no values of objects.
struct FailureSummary: Equatable, Sendable {
  var kind: String
  var reason: String
  var isDead = false
  var runAt: Date?
}
