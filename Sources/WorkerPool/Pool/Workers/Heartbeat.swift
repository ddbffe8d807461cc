/// Finds workers that hang without dying: which to ask, and which have not answered. A pure state machine.
///
/// A worker that says something by itself lives. One that has said nothing since the last look is asked; one that has said nothing
/// since it was asked hangs.
struct Heartbeat {
  private var asked: Set<WorkerID> = []

  /// What follows from a look.
  struct Look: Equatable {
    var toAsk: [WorkerID] = []
    var hung: [WorkerID] = []
  }

  /// One look at the workers that hold jobs and can answer, with what each has done since the look before.
  mutating func look(at workers: [(id: WorkerID, hasSpoken: Bool)]) -> Look {
    var look = Look()
    for worker in workers where !worker.hasSpoken {
      if asked.contains(worker.id) { look.hung.append(worker.id) } else { look.toAsk.append(worker.id) }
    }
    asked = Set(look.toAsk)
    return look
  }
}

extension PoolServer {
  /// There is a timer only while a worker holds jobs: an idle pool sleeps.
  func scheduleHeartbeat() {
    guard heartbeatTimer == nil, configuration.heartbeat > 0, !coordinator.held.isEmpty else { return }
    heartbeatTimer = loop.timers.after(configuration.heartbeat) { [weak self] in self?.lookForHungWorkers() }
  }

  private func lookForHungWorkers() {
    heartbeatTimer = nil
    let busy = supervisor.workers.values.filter { worker in
      worker.plugin.description.heartbeat == true && isBusy(worker.id)
        && (worker.phase == .up || worker.phase == .draining)
    }
    let look = heartbeat.look(
      at: busy.sorted { $0.id.number < $1.id.number }.map { ($0.id, workerServer.hasSpoken($0.id)) })
    for id in look.toAsk { workerServer.send(.ping, to: id) }
    for id in look.hung { supervisor.hung(id, seconds: 2 * configuration.heartbeat) }
  }
}
