import CoreData
import Foundation
import Jobs

/// Work that time brings: periodic jobs, and the deletion of jobs that need not be kept.
extension StoreJobSource {
  func submitPeriodic() {
    guard leads else { return report(.periodic([], next: nil, messages: [])) }
    work { [self] context in
      let (entries, problems) = try periodic.entries()
      let round = try store.insertPeriodic(entries, keeping: Set(problems.keys), into: context)
      try context.save()
      for (name, last) in round.corrected.sorted(by: { $0.key < $1.key }) {
        let text =
          "periodic/\(name).json had run for \(Timestamp.text(last)), which is still to come, "
          + "since the clock was ahead then: it goes on from now"
        report(.logged(LogRecord(event: .clockSet, text: text)))
      }
      let ready = round.jobs.compactMap(JobSummary.init)
      // Never too early, so that the next call finds what is due.
      let next = round.next.map { max(0.001, $0.timeIntervalSince(store.now) + 0.001) }
      let kinds = Dictionary(entries.map { ($0.name, $0.job.kind) }, uniquingKeysWith: { first, _ in first })
      report(.periodic(offered(ready), next: next, messages: problems.values.sorted(), kinds: kinds))
    } onFailure: { [report] error in
      report(.periodic([], next: 1, messages: ["periodic jobs cannot be submitted: \(ErrorText.text(error))"]))
    }
  }

  func noteHistory(_ minutes: [HistoryGauges]) {
    work(on: pruningContext) { [self] context in
      // One pool notes for all: the intervals are in the same settings.
      guard leads else { return }
      let now = store.now
      try store.retryingConflicts(in: context) {
        var isNew = false
        for (index, gauges) in minutes.enumerated() {
          let end = now - Double(minutes.count - 1 - index) * JobStore.HistoryStep.minute.rawValue
          if try store.noteHistory(gauges, at: end, in: context) { isNew = true }
        }
        if isNew { try context.save() }
      }
    } onFailure: { [report] error in
      report(.trouble("the pool's history lacks a minute: \(ErrorText.text(error))"))
    }
  }

  func prune() {
    let context = pruningContext
    work(on: context) { [self] _ in
      guard leads else { return }
      try store.forgetGoneMembers(in: context)
      let pruning = JobPruning(retention, in: store)
      while true {
        // A person may retry or delete one of the jobs meanwhile, a job may come that waits for one, or another process
        // deletes, too.
        let count = try store.retryingConflicts(in: context) {
          let count = try pruning.deleteNext(in: context) + store.forgetSubmissions(retention, in: context)
          if count > 0 { try context.save() }
          return count
        }
        if count == 0 { return }
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
}
