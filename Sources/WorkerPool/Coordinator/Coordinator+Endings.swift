import Jobs
import PoolClient
import WorkerProtocol

/// How jobs leave a worker's hand: they end, come back, or their worker dies.
extension Coordinator {
  /// The worker's process has ended, and all that it had sent has been handled.
  mutating func workerDied(_ id: WorkerID, _ obituary: Obituary) {
    guard let worker = workers.removeValue(forKey: id) else { return }
    let begun = worker.held.filter { worker.begun.contains($0) }
    let jobs = worker.held.compactMap { held[$0]?.job }.sorted { $0.precedes($1) }
    let cancelled = worker.held.filter { held[$0]?.isCancelled == true }
    if obituary.cause != .stopped { keepLedgerEntries(of: begun) }
    let blamed = begun.count == 1 ? begun.filter { held[$0]?.isCancelled != true } : []
    if obituary.cause != .stopped { noteEnd(of: blamed, obituary.cause == .timedOut ? \.timedOut : \.crashed) }
    _ = release(worker.held)
    for job in jobs {
      if cancelled.contains(job.key) {
        settling.insert(job.key)
        effects.append(.settle([job.key], .cancelled))
      } else if !begun.contains(job.key) || obituary.cause == .stopped {
        putBack(job)
      } else if begun.count > 1 {
        suspect(job)
      } else {
        settling.insert(job.key)
        if obituary.cause == .timedOut {
          counters.timedOut += 1
          effects.append(.settle([job.key], .timedOut(obituary, seconds: job.timeout ?? 0)))
        } else {
          counters.crashed += 1
          effects.append(.settle([job.key], .crashed(obituary)))
        }
      }
    }
    dispatch()
  }

  /// Jobs whose worker died stay in the ledger until their rows are written, or until they are handed out again.
  private mutating func keepLedgerEntries(of begun: Set<JobKey>) {
    for job in begun {
      guard let index = held[job]?.ledgerIndex else { continue }
      ledger?.keep(index, of: job, isSuspect: begun.count > 1)
      held[job]?.ledgerIndex = nil
    }
  }

  /// A worker of an earlier pool died of the job, and no row counts that crash.
  mutating func workerDiedUnseen(_ job: JobKey, _ obituary: Obituary) {
    settling.insert(job)
    counters.crashed += 1
    effects.append(.settle([job], .crashed(obituary)))
  }

  /// The settlements of these jobs are written.
  mutating func settled(_ jobs: [JobKey]) {
    settling.subtract(jobs)
    ledger?.settled(jobs)
    noteEnded(jobs)
    claims?.pace.note(jobs.count, now: now)
    releaseDependents(of: jobs)
    effects.append(.promoteDueJobs)
  }

  /// The worker gives back jobs that it has not begun, or that left no effect.
  mutating func returned(_ jobs: [JobKey], _ id: WorkerID) {
    let mine = jobs.compactMap { held[$0] }
    let wasAsked = workers[id].map { $0.isRecalling || $0.isDraining } ?? true || mine.contains { $0.isCancelled }
    counters.returned += end(jobs)
    workers[id]?.isRecalling = false
    if !wasAsked, !mine.isEmpty { noteRefusal(by: id) }
    for held in mine {
      if held.isCancelled {
        cancelStored(held.job.key)
      } else {
        if let begunAt = held.begunAt { takeBackBeginning(of: held.job, at: begunAt) }
        weights.takeBack(weights.lane(of: held.job.queue), among: held.pickedAmong)
        putBack(held.job)
      }
    }
    giveBackReturned(mine.map(\.job))
    dispatch()
  }

  /// Times that a worker may give jobs back unasked, and gets others at once.
  private static let freeRefusals = 2
  /// Seconds that it rests after the next one, and at most. The time doubles until it ends a job.
  private static let firstRest = 0.05
  private static let longestRest = 5.0

  /// A worker that gives back all that it gets would get the same jobs again at once, thousands of times in a second.
  private mutating func noteRefusal(by id: WorkerID) {
    guard let refusals = workers[id].map({ $0.refusals + 1 }) else { return }
    workers[id]?.refusals = refusals
    let excess = refusals - Self.freeRefusals
    guard excess > 0 else { return }
    workers[id]?.restsUntil = now + min(Self.longestRest, Self.firstRest * Double(1 << min(excess - 1, 20)))
  }

  /// A job that has not begun, or has left no effect, may be handed out again.
  private mutating func putBack(_ job: WindowJob) {
    let key = window(of: job)
    windows[key]?.endedDuringFetch.remove(job.key)
    add([job], to: key)
  }

  /// The attempts of these jobs have ended. `CANCEL` may have come too late for them: a job that has failed or snoozed
  /// would run again.
  mutating func endAttempts(_ jobs: [JobKey], _ counter: WritableKeyPath<KindCounters, Int>) -> Int {
    noteEnd(of: jobs, counter)
    claims?.pace.note(jobs.count, now: now)
    let cancelled = jobs.filter { held[$0]?.isCancelled == true }
    defer { for job in cancelled { cancelStored(job) } }
    return end(jobs)
  }

  /// Has the cancellation written into the job's row. Until that is done the job does not run.
  mutating func cancelStored(_ job: JobKey) {
    settling.insert(job)
    effects.append(.cancelStored(job))
  }

  /// Takes finished jobs out of their worker's hand; returns their number.
  private mutating func end(_ jobs: [JobKey]) -> Int {
    noteEnded(jobs)
    defer { releaseDependents(of: jobs) }
    return release(jobs)
  }

  private mutating func release(_ jobs: some Collection<JobKey>) -> Int {
    var holders: Set<WorkerID> = []
    var wasSlow = false
    for job in jobs {
      guard let entry = held.removeValue(forKey: job) else { continue }
      holders.insert(entry.worker)
      if claims?.heldBack.remove(entry.job.kind) != nil { claimAgain(entry.job.kind) }
      if let claims {
        if workers[entry.worker]?.isSlow(now: now) ?? true { wasSlow = true }
        if claims.pace.sizeWithHands() != nil { list(window(of: entry.job)) }
      }
      kinds[entry.job.kind]?.inHand -= 1
      if entry.begunAt != nil { kinds[entry.job.kind]?.begun -= 1 }
      for group in limitedGroups(of: entry.job) {
        if let count = inHandByGroup[group] { inHandByGroup[group] = count > 1 ? count - 1 : nil }
        wake(group)
      }
      refresh(entry.job.kind)
      if let index = entry.ledgerIndex { ledger?.end(index) }
      workers[entry.worker]?.held.remove(job)
      workers[entry.worker]?.begun.remove(job)
      if workers[entry.worker]?.held.isEmpty == true { workers[entry.worker]?.isAlone = false }
      if workers[entry.worker]?.begun.isEmpty == true {
        workers[entry.worker]?.begunAt = nil
      } else if entry.begunAt != nil {
        // A worker that runs several at a time goes on to the next.
        workers[entry.worker]?.begunAt = now
      }
    }
    for worker in holders {
      setDeadline(worker)
      watchBeginning(worker)
      recallFoundNothing(worker)
      noteIfEmptied(worker)
    }
    if wasSlow { claimMore() }
    return jobs.count
  }
}
