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
      tellOfFailures(jobs, in: context)
    } onFailure: { [self] error in
      report(.trouble("why jobs failed cannot be read: \(ErrorText.text(error))"))
      report(.failures([:]))
    }
  }

  /// Workers in other languages write a failure into the row and no hook's job. WorkerKit writes both, and here is
  /// nothing left to do.
  private func tellOfFailures(_ jobs: [JobKey], in context: NSManagedObjectContext) {
    guard published.hooks.contains(where: { !$0.events.isDisjoint(with: [.failed, .dead]) }) else { return }
    do {
      for job in try store.wholeJobs(keys: jobs, in: context) { try job.tellOfFailure(at: store.now) }
      guard !context.insertedObjects.isEmpty else { return }
      try context.save()
      report(.jobsCame)
    } catch {
      context.rollback()
      report(.trouble("hooks cannot be told that jobs failed: \(ErrorText.text(error))"))
    }
  }

  func tellHooks(_ event: JobHook.Event, _ details: [JSONMember]) {
    work { [self] context in
      guard try JobStore.tell(event, details, at: store.now, in: context) else { return }
      try context.save()
      report(.jobsCame)
    } onFailure: { [report] error in
      report(.trouble("hooks cannot be told of \(event.rawValue): \(ErrorText.text(error))"))
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
