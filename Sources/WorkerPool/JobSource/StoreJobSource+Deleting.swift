import CoreData
import Jobs
import WorkerProtocol

/// Deletes jobs that people name.
extension StoreJobSource {
  func delete(_ asked: [JobKey], in states: [JobState], evenIfAwaited: Bool, ticket: Int) {
    work { [self] context in
      let awaited = evenIfAwaited ? nil : AwaitedJobs(in: store, countsPassing: true)
      var deleted: [JobKey] = []
      var awaitedCount = 0
      var elsewhereCount = 0
      var problem: String?
      for start in stride(from: 0, to: asked.count, by: Self.deletionsPerSave) {
        let group = Array(asked[start..<min(start + Self.deletionsPerSave, asked.count)])
        do {
          // A worker of an earlier pool may have written one of the rows, a job may have come that waits for one, or
          // another process deletes, too.
          let result = try store.retryingConflicts(in: context) {
            let chosen = try store.jobs(keys: group, in: context).filter { states.contains($0.state) }
            let jobs = chosen.filter { !isElsewhere($0) }
            let awaitedCount = try store.delete(jobs, except: awaited, in: context)
            let deleted = Set(jobs.filter(\.isDeleted).compactMap(\.objectID.key))
            try context.save()
            return (deleted: deleted, awaitedCount: awaitedCount, elsewhereCount: chosen.count - jobs.count)
          }
          deleted += group.filter(result.deleted.contains)
          awaitedCount += result.awaitedCount
          elsewhereCount += result.elsewhereCount
        } catch {
          // All of them stay.
          context.rollback()
          problem = ErrorText.text(error)
        }
        context.reset()
      }
      report(
        .deleted(
          ticket: ticket, asked: asked, deleted: deleted, awaited: awaitedCount, elsewhere: elsewhereCount,
          reason: problem))
    } onFailure: { [report] error in
      report(.deleted(ticket: ticket, asked: asked, deleted: [], awaited: 0, reason: ErrorText.text(error)))
    }
  }

  /// Whether another pool has claimed the job, and may run it.
  private func isElsewhere(_ job: Job) -> Bool {
    guard let membership, job.state == .available, let claimant = job.claimant else { return false }
    return claimant != membership.member.identity && !membership.gone.contains(claimant)
  }

  /// Jobs that are deleted in one transaction.
  private static let deletionsPerSave = 200
}
