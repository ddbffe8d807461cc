import Jobs
import WorkerProtocol

/// What happens when time passes: jobs run out of time, rates allow the next job, hands are checked, windows refetch,
/// and workers that begin nothing are replaced. Without a heartbeat nothing else shows that these hang.
///
/// What has begun is never taken from a living worker. What has not comes back with `RETURNED`, or at the end of the
/// worker's process.
extension Coordinator {
  /// When something has to be done although nothing happens: a job is out of time, a hand has to be checked, a rate
  /// lets the next job begin, or a window may refetch.
  var nextDeadline: Double? {
    var next = hands.nextTime
    if !pauses.all, !isClosed, !survivors.mayBeAny {
      for kind in kinds.ratedOut { next = min(next, rateTime(kind) ?? .infinity) }
      next = min(next, windows.nextRefetch)
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
    for id in hands.takeOutOfTime(now: now) { effects.append(.killTimedOut(id)) }
    hands.endRests(now: now)
    for (id, jobs, wasTold) in hands.takeHesitant(now: now) {
      effects.append(wasTold ? .killHesitant(id) : .replaceHesitant(id, jobs: jobs))
    }
    windows.refetchDelayed(now: now)
    dispatch()
    // Nothing is handed out now, so no hand has to be checked.
    _ = hands.takeSlowCheck(now: now)
  }
}
