import CoreData
import Foundation
import Jobs
import LinuxSystem
import WorkerProtocol

/// What people ask for, and pauses.
extension StoreJobSource {
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
