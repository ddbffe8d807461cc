import Jobs
import WorkerProtocol

/// Workers that hold jobs and begin none. Without a heartbeat nothing else shows that they hang.
///
/// What has begun is never taken from a living worker. What has not comes back with `RETURNED`, or at the end of the
/// worker's process.
extension Coordinator {
  /// Notes since when the worker holds jobs and runs none. A check that is set stays until its time comes: short jobs
  /// set no timer each.
  mutating func watchBeginning(_ id: WorkerID) {
    guard let worker = workers[id] else { return }
    if worker.notBegun == 0 || !worker.begun.isEmpty {
      workers[id]?.hesitatesSince = nil
    } else if worker.hesitatesSince == nil {
      workers[id]?.hesitatesSince = now
      if beginCheck == nil { beginCheck = now + beginTimeout }
    }
  }

  /// Has workers replaced that have begun nothing for too long, and sets the time of the next check.
  mutating func replaceHesitant() {
    beginCheck = nil
    for (id, worker) in workers {
      guard var since = worker.hesitatesSince else { continue }
      // The store keeps it from beginning, and will not always do so.
      if worker.held.contains(where: { held[$0]?.storeWait != nil }) { since = now }
      if since + beginTimeout <= now {
        effects.append(worker.isGivenUp ? .killHesitant(id) : .replaceHesitant(id, jobs: worker.held.count))
        workers[id]?.isGivenUp = true
        since = now
      }
      workers[id]?.hesitatesSince = since
      beginCheck = min(beginCheck ?? .infinity, since + beginTimeout)
    }
  }
}
