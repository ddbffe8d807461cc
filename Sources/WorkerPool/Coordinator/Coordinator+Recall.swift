import Jobs
import WorkerProtocol

/// Taking back what a worker holds and has not begun.
extension Coordinator {
  /// Recalls half of the jobs that a worker has not begun, when another worker of this kind has nothing to do.
  mutating func recallForIdleWorkers() {
    // First those that could give something back: mostly none, however many workers are idle.
    var hoarders = hands.workers.filter {
      $0.value.notBegun > 0 && !$0.value.begun.isEmpty && !$0.value.isRecalling && !$0.value.isDraining
    }
    guard !hoarders.isEmpty else { return }
    for idle in hands.workers.values where idle.held.isEmpty && idle.freeCredit > 0 {
      let hoarder = hoarders.filter { !$0.value.kinds.isDisjoint(with: idle.kinds) }
        .max { $0.value.notBegun < $1.value.notBegun }
      guard let hoarder else { continue }
      recall((hoarder.value.notBegun + 1) / 2, from: hoarder.key)
      hoarders[hoarder.key] = nil
      if hoarders.isEmpty { return }
    }
  }

  /// A hand holds tens of milliseconds of work, by what jobs took before. Where a job takes longer, the others in the
  /// hand come back as soon as a better one is ready, or another worker could run them.
  mutating func recallFromSlowWorkers() {
    guard hands.takeSlowCheck(now: now) else { return watchHands() }
    for (id, worker) in hands.workers where worker.notBegun > 0 && worker.isSlow(now: now) && !worker.isDraining {
      guard !worker.isRecalling, isBetterJobReady(for: worker) || canOthersRun(worker, id) else { continue }
      recall(worker.notBegun, from: id)
    }
    watchHands()
  }

  /// Sets the time of the next check of the hands, if any worker could give jobs back.
  mutating func watchHands() {
    if hands.hasSlowCheck { return }
    hands.watchSlow(now: now, hasClaims: claims != nil && windows.all.values.contains { $0.count > 0 })
  }

  /// Whether a ready job, or one in the hand itself, is better than another one in the hand: the worker runs its hand
  /// in the order in which it got the jobs.
  private func isBetterJobReady(for worker: WorkerHand) -> Bool {
    let hand = worker.held.lazy.filter { !worker.begun.contains($0) }.compactMap { hands.jobs[$0]?.job.priority }
    guard let worst = hand.min(), let best = hand.max() else { return false }
    return max(best, windows.heads.best(isWanted: worker.kinds.contains)?.priority ?? best) > worst
  }

  private func canOthersRun(_ worker: WorkerHand, _ id: WorkerID) -> Bool {
    // So could a worker of another host.
    if claims != nil { return true }
    return hands.workers.contains { other in
      other.key != id && other.value.freeCredit > 0 && !other.value.isSlow(now: now)
        && !other.value.kinds.isDisjoint(with: worker.kinds)
    }
  }

  /// A worker that has begun or ended all of its jobs has nothing to give back, and does not answer `RECALL`.
  mutating func recallFoundNothing(_ id: WorkerID) {
    if hands.endUnansweredRecall(id) { mustDispatch = true }
  }

  mutating func recall(_ count: Int, from id: WorkerID) {
    hands.recall(id)
    effects.append(.send(.recall(count), to: id))
  }
}
