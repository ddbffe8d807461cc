import Jobs
import LinuxSystem
import WorkerProtocol

/// Handing workers over to the program that takes this one's place, and taking them over.
extension WorkerService {
  /// Why the conversations cannot be handed over now; nil if they can be.
  var obstacleToHandingOver: String? {
    if !sheeted.isEmpty { return "jobs are being described to workers" }
    if !failing.isEmpty || !failures.isIdle { return "failures of jobs are being written or read" }
    if let worker = supervisor.workers.values.first(where: { sockets.buffers(of: $0.id) == nil }) {
      return "the connection of \(worker.name) has ended"
    }
    return nil
  }

  /// The workers, those that can be handed over.
  var handed: [Handover.Worker] {
    supervisor.workers.values.compactMap { worker in
      guard let process = worker.handed, let (socket, buffers) = sockets.buffers(of: worker.id) else { return nil }
      return Handover.Worker(
        process: process, socket: socket, buffers: buffers, leavesRows: leavingRows[worker.id] != nil,
        usage: usage.handed(worker.id))
    }
  }

  /// Goes on with the workers of the program before this one, and with their jobs. One with which that does not work
  /// loses its connection, and is a survivor like one of a pool that was killed. Called when the ledger is there.
  ///
  /// - Returns: the IDs of the processes that are workers of this pool now.
  func adopt(_ handover: Handover) -> Set<Int32> {
    var indices: [WorkerID: [JobKey: Int]] = [:]
    var adopted: Set<Int32> = []
    supervisor.plugins = handover.plugins
    supervisor.adoptedPlugins = Set(handover.plugins.map(\.name))
    supervisor.hasHadPlugins = !handover.plugins.isEmpty
    supervisor.lastNumber = handover.lastWorker
    for worker in handover.workers {
      let (id, pid) = (worker.process.id, worker.process.child.pid)
      guard let plugin = handover.plugins.first(where: { $0.name == worker.process.plugin }) else { continue }
      do throws(SystemCallError) {
        try sockets.adopt(try Connection(descriptor: worker.socket, worker.buffers), of: id)
        try supervisor.adopt(worker.process, plugin)
      } catch {
        sockets.finish(id)
        core.log(.trouble, "\(plugin.name)[\(pid)] cannot be taken over, and finishes its job alone: \(error)")
        continue
      }
      adopted.insert(pid)
      if worker.leavesRows { leavingRows[id] = pid }
      let identity = ProcessIdentity(of: pid)
      indices[id] = identity.flatMap { core.coordinator.ledger?.adopt(worker: id.number, $0) } ?? [:]
    }
    core.coordinator.adopt(handover.hands, indices)
    pluginsChanged(supervisor.usablePlugins)
    for worker in handover.workers where adopted.contains(worker.process.child.pid) {
      usage.adopt(worker.process.id, pid: worker.process.child.pid, worker.usage)
    }
    core.log(
      .note,
      "this program has taken the place of another one; workers that go on: \(adopted.count), jobs in their hands: "
        + "\(core.coordinator.hands.jobs.count)")
    return adopted
  }
}
