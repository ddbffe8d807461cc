/// What happens when time passes: jobs run out of time, rates allow the next job, hands are checked, windows refetch.
extension Coordinator {
  /// When something has to be done although nothing happens: a job is out of time, a hand has to be checked, a rate
  /// lets the next job begin, or a window may refetch.
  var nextDeadline: Double? {
    var next = handCheck ?? .infinity
    for worker in workers.values { if let deadline = worker.deadline { next = min(next, deadline) } }
    if !pauses.all, !isClosed, !waitsForSurvivors {
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
    return state.pastStarts?.nextTime
  }

  /// Kills the workers whose jobs are out of time, and lets delayed windows refetch.
  mutating func deadlinePassed() {
    for (id, worker) in workers where worker.deadline.map({ $0 <= now }) == true {
      workers[id]?.deadline = nil
      effects.append(.killTimedOut(id))
    }
    for key in delayed where windows[key]?.nextRefetch ?? 0 <= now {
      delayed.remove(key)
      refetch(key)
    }
    dispatch()
    // Nothing is handed out now, so no hand has to be checked.
    if let time = handCheck, time <= now { handCheck = nil }
  }
}
