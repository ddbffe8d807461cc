import CoreData
import Foundation
import Jobs

/// What comes with time, and job files.
extension StoreJobSource {
  // MARK: What comes with time

  func submitPeriodic() {
    work { [self] context in
      let (entries, problems) = try periodic.entries()
      let round = try store.insertPeriodic(entries, keeping: Set(problems.keys), into: context)
      try context.save()
      for (name, last) in round.corrected.sorted(by: { $0.key < $1.key }) {
        let text =
          "periodic/\(name).json had run for \(Timestamp.text(last)), which is still to come, "
          + "since the clock was ahead then: it goes on from now"
        report(.said(LogRecord(event: .clockSet, text: text)))
      }
      let ready = round.jobs.compactMap(JobSummary.init)
      // Not a moment too early: what is due then is found with that look.
      let next = round.next.map { max(0.001, $0.timeIntervalSinceNow + 0.001) }
      report(.periodic(windowJobs(ready), next: next, messages: problems.values.sorted()))
    } onFailure: { [report] error in
      report(.periodic([], next: 1, messages: ["periodic jobs cannot be submitted: \(ErrorText.text(error))"]))
    }
  }

  func prune() {
    let context = pruningContext
    work(on: context) { [self] _ in
      while true {
        let count =
          try store.prune(retention, in: context) + store.forgetSubmissions(retention, in: context)
        guard count > 0 else { return }
        try context.save()
        context.reset()
      }
    } onFailure: { [report] error in
      report(.trouble("finished jobs cannot be deleted: \(ErrorText.text(error))"))
    }
    rejectedQueue.async { [self] in
      do {
        try intake.rejected.pruneNowAndThen(olderThan: retention.dead)
      } catch {
        report(.trouble("bad job files cannot be deleted: \(error)"))
      }
    }
  }

  // MARK: Files

  func findSubmissions(_ tokens: [String]) {
    work { [self] context in
      report(.submissions(try store.submissions(tokens, in: context)))
    } onFailure: { [report] error in
      report(.trouble("submissions cannot be looked up: \(ErrorText.text(error))"))
      report(.submissions([:]))
    }
  }

  func takeFiles(_ names: [String]?) {
    if let names { intake.take(names) } else { intake.takeAll() }
  }

  /// Tells what a transaction of the intake brought.
  func took(_ round: IntakeReport) {
    let rejected = round.rejected.map {
      LogRecord(event: .fileRejected, text: "\($0.name) is rejected: \($0.reason)", fields: [.path($0.name)])
    }
    let messages = rejected + round.messages.map { LogRecord(event: .trouble, text: $0) }
    report(
      .took(
        jobs: round.jobs, ready: windowJobs(round.ready), someWait: round.someWait, postponed: round.postponed,
        messages: messages))
    if !round.replaced.isEmpty { report(.replaced(round.replaced)) }
  }
}
