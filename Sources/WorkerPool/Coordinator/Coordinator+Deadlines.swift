import Jobs
import WorkerProtocol

/// What happens when time passes: jobs run out of time, rates allow the next job, hands are checked, windows refetch.
extension Coordinator {
  /// When something has to be done although nothing happens: a job is out of time, a hand has to be checked, a rate
  /// lets the next job begin, or a window may refetch.
  var nextDeadline: Double? {
    var next = handCheck ?? .infinity
    if !held.isEmpty { next = min(next, beginCheck ?? .infinity) }
    for worker in workers.values {
      if let deadline = worker.deadline { next = min(next, deadline) }
      if let end = worker.restsUntil { next = min(next, end) }
    }
    if !pauses.all, !isClosed, !survivors.mayBeAny {
      for kind in ratedOut { next = min(next, rateTime(kind) ?? .infinity) }
      for key in delayed { next = min(next, windows[key]?.nextRefetch ?? .infinity) }
    }
    return next < .infinity ? next : nil
  }

  /// When the rate lets the next job of a kind begin; nil when something else keeps them.
  private func rateTime(_ kind: String) -> Double? {
    guard let state = kinds[kind], state.runnable > 0 || !state.suspects.isEmpty, state.isBelowLimit, isOpen(kind)
    else {
      return nil
    }
    return ratePlaces[kind]?.isAsked == true ? nil : retryTime(of: kind) ?? state.nextRateTime
  }

  /// Kills the workers whose jobs are out of time, and lets delayed windows refetch.
  mutating func deadlinePassed() {
    for (id, worker) in workers where worker.deadline.map({ $0 <= now }) == true {
      workers[id]?.deadline = nil
      effects.append(.killTimedOut(id))
    }
    for (id, worker) in workers where worker.restsUntil.map({ $0 <= now }) == true { workers[id]?.restsUntil = nil }
    if let time = beginCheck, time <= now { replaceHesitant() }
    for key in delayed where windows[key]?.nextRefetch ?? 0 <= now {
      delayed.remove(key)
      refetch(key)
    }
    dispatch()
    // Nothing is handed out now, so no hand has to be checked.
    if let time = handCheck, time <= now { handCheck = nil }
  }

  /// A store wait uses up none of a job's time. A cancelled job still has to end in time.
  mutating func waits(_ jobs: [JobKey], _ reason: StoreWait, _ id: WorkerID) {
    for job in jobs { held[job]?.storeWait = reason == .over ? nil : reason }
    if workers[id]?.hesitatesSince != nil { workers[id]?.hesitatesSince = now }
    guard !jobs.contains(where: { held[$0]?.isCancelled == true }) else { return }
    for job in jobs {
      if reason == .over {
        if let timeLeft = held[job]?.timeLeft { held[job]?.deadline = now + timeLeft }
        held[job]?.timeLeft = nil
      } else if let deadline = held[job]?.deadline {
        held[job]?.timeLeft = deadline - now
        held[job]?.deadline = nil
      }
    }
    setDeadline(id)
  }

  mutating func stopClock(of job: JobKey) {
    held[job]?.deadline = nil
    held[job]?.timeLeft = nil
  }

  /// Notes when the first of a worker's running jobs must have ended.
  mutating func setDeadline(_ id: WorkerID) {
    guard let begun = workers[id]?.begun else { return }
    let first = begun.compactMap { held[$0]?.deadline }.min()
    workers[id]?.deadline = first
  }
}
