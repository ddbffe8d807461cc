import Jobs
import PoolClient
import WorkerProtocol

/// How jobs leave a worker's hand: they end, come back, or their worker dies.
extension Coordinator {
  /// The worker's process has ended, and all that it had sent has been handled.
  mutating func workerDied(_ id: WorkerID, _ obituary: Obituary) {
    guard let worker = hands.remove(id) else { return }
    let begun = worker.begun
    let jobs = worker.held.compactMap { hands.jobs[$0]?.job }.sorted { $0.precedes($1) }
    let cancelled = worker.held.filter { hands.jobs[$0]?.isCancelled == true }
    // One that has begun while its worker printed its stacks is not the one that took too long.
    let isBystander = obituary.cause.isOverrun && !begun.contains { hands.jobs[$0]?.isLate(now: now) == true }
    let hasEndedByPool = obituary.cause == .stopped || isBystander
    if !hasEndedByPool { hands.keepLedgerEntries(of: begun) }
    let blamed = begun.count == 1 && !hasEndedByPool ? begun.subtracting(cancelled) : []
    noteEnd(of: blamed, obituary.cause.isOverrun ? \.timedOut : \.crashed)
    _ = release(worker.held)
    for job in jobs {
      if cancelled.contains(job.key) {
        settling.insert(job.key)
        effects.append(.settle([job.key], .cancelled))
      } else if !begun.contains(job.key) || hasEndedByPool {
        putBack(job)
      } else if begun.count > 1 {
        suspect(job)
      } else {
        settling.insert(job.key)
        if obituary.cause.isOverrun {
          statistics.count(\.timedOut, 1)
          effects.append(.settle([job.key], .timedOut(obituary, seconds: job.timeout ?? 0)))
        } else {
          statistics.count(\.crashed, 1)
          effects.append(.settle([job.key], .crashed(obituary)))
        }
      }
    }
    if hasEndedByPool || begun.count > 1 { giveBackBegun(jobs.filter { begun.contains($0.key) }) }
    dispatch()
  }

  /// A job that may have killed its worker together with others runs alone next time. Where the place of its claim is
  /// used, this pool or another one claims it again first.
  private mutating func suspect(_ job: WindowJob) {
    guard claimBringsPlace(job.kind) else { return kinds.addSuspect(job) }
    survivors.add(suspects: [job.key])
    ledger?.forget([job.key])
  }

  /// These jobs do not begin before their settlements are written.
  mutating func awaitSettlement(of jobs: [JobKey]) { settling.formUnion(jobs) }

  /// A worker of an earlier pool died of the job, and no row counts that crash.
  mutating func workerDiedUnseen(_ job: JobKey, _ obituary: Obituary) {
    settling.insert(job)
    statistics.count(\.crashed, 1)
    effects.append(.settle([job], .crashed(obituary)))
  }

  /// The settlements of these jobs are written.
  mutating func settled(_ jobs: [JobKey]) {
    settling.subtract(jobs)
    if hands.noteSettled(jobs) { mustDispatch = true }
    ledger?.settled(jobs)
    windows.noteEnded(jobs)
    claims?.noteEnded(jobs.count, now: now)
    releaseDependents(of: jobs)
    effects.append(.promoteDueJobs)
  }

  /// The worker has ended a job, and the pool writes the row for it. A late answer has the number of an earlier handing
  /// out, and means nothing. What a cancelled job has done stays done; one that failed does not run again.
  mutating func settle(_ outcome: JobOutcome, _ uri: ObjectURI, run: Int, _ id: WorkerID) {
    guard let job = inHand([uri], of: id).first, let held = hands.jobs[job], held.run == run else { return }
    switch outcome {
    case .succeeded:
      noteEnd(of: [job], \.done)
      statistics.count(\.done, 1)
    case .failed:
      noteEnd(of: [job], \.failed)
      statistics.count(\.failed, 1)
    }
    _ = release([job])
    settling.insert(job)
    hands.awaitSettlement(of: job, by: id)
    hands.noteWork(by: id)
    effects.append(.worked(id, jobs: 1))
    let end = ToldEnd(
      outcome: outcome, worker: id, run: run, attempt: held.job.attempt, begunAt: held.begunAt ?? held.handedOutAt)
    effects.append(.settle([job], held.isCancelled && outcome == .failed ? .cancelled : .told(end)))
    mustDispatch = true
  }

  /// The worker gives back jobs that it has not begun, or that left no effect in the store. What has begun may have had
  /// effects elsewhere, so it counts against its kind's rate.
  mutating func returned(_ jobs: [JobKey], _ id: WorkerID) {
    let mine = jobs.compactMap { hands.jobs[$0] }
    let wasAsked = hands.workers[id].map { $0.isRecalling || $0.isDraining } ?? true || mine.contains { $0.isCancelled }
    let count = end(jobs)
    statistics.count(\.returned, count)
    hands.endRecall(id)
    if !wasAsked, !mine.isEmpty { hands.noteRefusal(by: id, now: now) }
    for held in mine {
      if held.isCancelled {
        cancelStored(held.job.key)
      } else {
        weights.takeBack(weights.lane(of: held.job.queue), among: held.pickedAmong)
        putBack(held.job)
      }
    }
    giveBackReturned(mine.map(\.job))
    giveBackBegun(mine.filter { $0.begunAt != nil }.map(\.job))
    dispatch()
  }

  /// A job that has not begun, or has left no effect, may be handed out again.
  private mutating func putBack(_ job: WindowJob) {
    let key = window(of: job)
    windows.noteReady(job.key, in: key)
    add([job], to: key)
  }

  /// The attempts of these jobs have ended. `CANCEL` may have come too late for them: a job that has failed or snoozed
  /// would run again.
  mutating func endAttempts(_ jobs: [JobKey], _ counter: WritableKeyPath<KindCounters, Int>) -> Int {
    noteEnd(of: jobs, counter)
    claims?.noteEnded(jobs.count, now: now)
    let cancelled = jobs.filter { hands.jobs[$0]?.isCancelled == true }
    defer { for job in cancelled { cancelStored(job) } }
    return end(jobs)
  }

  private mutating func noteEnd(of jobs: some Collection<JobKey>, _ counter: WritableKeyPath<KindCounters, Int>) {
    for job in jobs {
      if let entry = hands.jobs[job] { statistics.noteEnd(of: entry, counter, now: now) }
    }
  }

  /// Has the cancellation written into the job's row. Until that is done the job does not run.
  mutating func cancelStored(_ job: JobKey) {
    settling.insert(job)
    effects.append(.cancelStored(job))
  }

  /// Takes finished jobs out of their worker's hand; returns their number.
  private mutating func end(_ jobs: [JobKey]) -> Int {
    windows.noteEnded(jobs)
    defer { releaseDependents(of: jobs) }
    return release(jobs)
  }

  private mutating func release(_ jobs: some Collection<JobKey>) -> Int {
    var holders: Set<WorkerID> = []
    var wasSlow = false
    for job in jobs {
      guard let worker = hands.jobs[job]?.worker else { continue }
      if claims != nil, hands.workers[worker]?.isSlow(now: now) ?? true { wasSlow = true }
      guard let entry = hands.release(job, now: now) else { continue }
      holders.insert(worker)
      claimAfter(entry)
      kinds.release(entry)
      for group in groups.limited(of: entry.job) {
        groups.release(group)
        wake(group)
      }
      refresh(entry.job.kind)
    }
    for worker in holders {
      hands.watch(worker, now: now)
      recallFoundNothing(worker)
      noteIfEmptied(worker)
    }
    if wasSlow { claimMore() }
    return jobs.count
  }
}
