import Jobs
import WorkerProtocol

/// Taking back what a worker holds and has not begun.
extension Coordinator {
  /// Recalls half of the jobs that a worker has not begun, when another worker of this kind has nothing to do.
  mutating func recallForIdleWorkers() {
    // First those that could give something back: mostly none.
    var hoarders: [WorkerID: WorkerHand] = [:]
    for id in hands.workers.busy {
      guard let worker = hands.workers[id], worker.notBegun > 0, !worker.begun.isEmpty, !worker.isRecalling,
        !worker.isDraining
      else { continue }
      hoarders[id] = worker
    }
    if hoarders.isEmpty { return }
    for group in hands.workers.groups {
      for _ in group.takers.prefix(hoarders.count).prefix(while: { $0.held == 0 }) {
        let hoarder = hoarders.filter { !$0.value.kinds.isDisjoint(with: group.kinds) }
          .max { $0.value.notBegun < $1.value.notBegun }
        guard let hoarder else { break }
        recall((hoarder.value.notBegun + 1) / 2, from: hoarder.key)
        hoarders[hoarder.key] = nil
      }
    }
  }

  /// A hand holds tens of milliseconds of work, by what jobs took before. Where a job takes longer, the others in the
  /// hand come back as soon as a better one is ready, or another worker could run them.
  mutating func recallFromSlowWorkers() {
    guard hands.takeSlowCheck(now: now) else { return watchHands() }
    for id in hands.workers.busy {
      guard let worker = hands.workers[id], worker.notBegun > 0, worker.isSlow(now: now), !worker.isDraining,
        !worker.isRecalling, isBetterJobReady(for: worker) || canOthersRun(worker)
      else { continue }
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

  /// Whether another worker could run jobs of a slow one, which takes none itself.
  private func canOthersRun(_ worker: WorkerHand) -> Bool {
    // So could a worker of another host.
    claims != nil || worker.kinds.contains { hands.idlest(for: $0, now: now) != nil }
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
