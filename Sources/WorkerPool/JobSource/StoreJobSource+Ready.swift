import CoreData
import Jobs
import LinuxSystem
import WorkerProtocol

/// Ready jobs, dependents, and due jobs.
extension StoreJobSource {
  func fetchReady(_ query: ReadyQuery) {
    work { [self] context in
      let start = Clock.now
      let (jobs, areMore) = try readyJobs(query, context)
      report(.fetched(query, windowJobs(jobs), isComplete: !areMore, seconds: Clock.now - start))
    } onFailure: { [report] error in
      report(.fetchFailed(query, reason: ErrorText.text(error)))
    }
  }

  func findNewestJob() {
    // The next commit asks again.
    work { [self] context in
      report(.newest(try JobStore.newestKey(in: context)))
    } onFailure: { _ in
    }
  }

  func windowJobs(_ jobs: [JobSummary]) -> [WindowJob] {
    let kinds = kinds.withLock(\.byName)
    return jobs.map { job in
      WindowJob(
        key: job.key, kind: job.kind, queue: job.queue, priority: Int(job.priority), attempt: job.attempt,
        timeout: job.timeout ?? kinds[job.kind]?.timeout, limitKey: job.limitKey,
        limit: job.limit ?? kinds[job.kind]?.limitPerKey ?? 1, readyAt: job.readyAt?.timeIntervalSinceReferenceDate)
    }
  }

  // MARK: Jobs that wait for others

  func release(after ended: [JobKey]) {
    work { [self] context in
      let adopts = leads
      var ready = adopts ? try adoptPending(context) : []
      var keys = mustCheckAll ? try store.blockers(in: context) : ended
      if adopts, !mustCheckAll { keys += try store.batchesThatCame(in: context) }
      ready += try release(after: keys, context)
      mustCheckAll = false
      let remain = try store.hasDependents(in: context)
      report(.released(offered(ready), remain: remain, reason: nil))
    } onFailure: { [self] error in
      mustCheckAll = true
      report(.released([], remain: true, reason: ErrorText.text(error)))
    }
  }

  private func adoptPending(_ context: NSManagedObjectContext) throws -> [JobSummary] {
    var ready: [JobSummary] = []
    while true {
      let adopted = try store.adoptPending(in: context)
      guard adopted.count > 0 else { return ready }
      try context.save()
      context.reset()
      for job in adopted.withoutBatch {
        report(.logged(record(job, hint: try JobStore.unknownName(.batch, job.batch, in: context)?.hint ?? "")))
      }
      ready += adopted.ready + (try release(after: adopted.cancelled, context))
    }
  }

  private func record(_ job: JobStore.WithoutBatch, hint: String) -> LogRecord {
    let uri = store.jobURIs[job.job].description
    return LogRecord(
      event: .batchUnknown,
      text: "\(uri) waits for the batch \(job.batch), which has no job\(hint)", fields: [.jobs([uri])])
  }

  /// Checks the dependents of these jobs, then those of the jobs that were cancelled by that, and so on.
  private func release(after keys: [Int64], _ context: NSManagedObjectContext) throws -> [JobSummary] {
    var ready: [JobSummary] = []
    var uncheckedKeys = keys[...]
    while !uncheckedKeys.isEmpty {
      let round = uncheckedKeys.prefix(500)
      uncheckedKeys = uncheckedKeys.dropFirst(500)
      let released = try store.release(after: Array(round), in: context)
      try context.save()
      context.reset()
      ready += released.ready
      uncheckedKeys += released.cancelled
    }
    return ready
  }

  func promoteDueJobs() {
    guard leads else { return report(.promoted([], areMore: false, next: nil)) }
    work { [self] context in
      var promoted: [JobSummary] = []
      var areMore = false
      while true {
        let jobs = try store.promoteDue(limit: 1000, in: context)
        try context.save()
        if promoted.isEmpty, jobs.count < 1000 { promoted = jobs } else { areMore = true }
        if jobs.count < 1000 { break }
        context.reset()
      }
      // The next call finds a job that is due by then. The timer must not fire too early.
      let next = try store.nextDue(in: context).map { max(0.001, $0.timeIntervalSince(store.now)) }
      let offered = offered(promoted)
      report(.promoted(offered, areMore: areMore || offered.count < promoted.count, next: next))
    } onFailure: { [report] error in
      // A worker may have written one of the rows meanwhile.
      report(.trouble("jobs whose time has come cannot be made available: \(ErrorText.text(error))"))
      report(.promoted([], areMore: true, next: 1))
    }
  }
}
