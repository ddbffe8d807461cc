import Foundation
import Jobs
import TestFiles
import WorkerProtocol

@testable import WorkerPool

/// What the workers do.
extension RandomPool {
  mutating func addWorker() {
    lastWorker += 1
    let id = WorkerID(number: lastWorker)
    workers[id] = Worker()
    coordinator.workerCameUp(id, kinds: lastWorker % 4 == 0 ? ["index"] : ["index", "report"])
    coordinator.workerSaid(.credit(Int.random(in: 1...8, using: &random)), id)
  }

  mutating func kill() {
    guard let id = workers.keys.sorted(by: { $0.number < $1.number }).randomElement(using: &random) else { return }
    if happens(once: 3) { coordinator.drain(id) } else { kill(id, cause: .itself) }
  }

  mutating func kill(_ id: WorkerID, cause: Obituary.Cause) {
    guard let worker = workers.removeValue(forKey: id) else { return }
    suspects.subtract(worker.hand)
    // It may have committed what it had begun, and died before it could say so.
    if happens(once: 2) { for key in worker.begun { end(key) } }
    if worker.begun.count > 1 { suspects.formUnion(worker.begun.filter { !cancelled.contains($0) }) }
    coordinator.workerDied(id, obituary(cause))
  }

  /// The worker does the next thing that it has to do.
  mutating func work(_ id: WorkerID) {
    guard let worker = workers[id] else { return }
    let stopped = worker.cancelled.filter(worker.notBegun.contains)
    workers[id]?.cancelled = []
    if !stopped.isEmpty { return giveBack(stopped, id) }
    if worker.recalled > 0 || worker.isDraining {
      let idle = worker.isDraining ? worker.notBegun : Array(worker.notBegun.suffix(worker.recalled))
      workers[id]?.recalled = 0
      if !idle.isEmpty { return giveBack(idle, id) }
    }
    guard worker.begun.isEmpty else { return endBegun(worker.begun, id) }
    if happens(once: 20) { coordinator.workerSaid(.credit(Int.random(in: 1...8, using: &random)), id) }
    let group = Array(worker.hand.prefix(Int.random(in: 1...3, using: &random)))
    if !group.isEmpty { begin(group, id) }
  }

  mutating func begin(_ group: [JobKey], _ id: WorkerID) {
    workers[id]?.begun = group
    for key in group where available[key]?.kind == "report" { noteBeginning(key) }
    coordinator.workerSaid(.begin(group.map(uri)), id)
  }

  mutating func endBegun(_ begun: [JobKey], _ id: WorkerID) {
    switch Int.random(in: 0..<20, using: &random) {
    case 0: giveBack(begun, id)
    case 1, 2:
      leaveHand([begun[0]], id)
      wait(begun[0])
      coordinator.workerSaid(.failed(uri(begun[0])), id)
    default:
      for key in begun { end(key) }
      leaveHand(begun, id)
      coordinator.workerSaid(.done(begun.map(uri)), id)
    }
  }

  mutating func giveBack(_ jobs: [JobKey], _ id: WorkerID) {
    leaveHand(jobs, id)
    coordinator.workerSaid(.returned(jobs.map(uri)), id)
  }

  mutating func leaveHand(_ jobs: [JobKey], _ id: WorkerID) {
    workers[id]?.hand.removeAll(where: jobs.contains)
    workers[id]?.begun.removeAll(where: jobs.contains)
    suspects.subtract(jobs)
  }
}
