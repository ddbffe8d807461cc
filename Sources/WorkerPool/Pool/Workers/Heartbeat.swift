/// Finds workers that hang without dying: which to ask, and which have not answered. A pure state machine.
///
/// A worker that says something by itself lives. One that has said nothing since the last look is asked; one that has
/// said nothing since it was asked hangs.
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

/// Looks from time to time whether workers that hold jobs still answer. There is a timer only while a worker holds
/// jobs: an idle pool sleeps.
final class HeartbeatTimer {
  private let core: PoolCore
  private let supervisor: Supervisor
  private let sockets: WorkerServer
  private var heartbeat = Heartbeat()
  private var timer: TimerQueue.Token?

  init(_ core: PoolCore, _ supervisor: Supervisor, _ sockets: WorkerServer) {
    self.core = core
    self.supervisor = supervisor
    self.sockets = sockets
  }

  /// Sets the timer if it is needed. Called at the end of each turn.
  func schedule() {
    guard timer == nil, core.configuration.heartbeat > 0, !core.coordinator.held.isEmpty else { return }
    timer = core.loop.timers.after(core.configuration.heartbeat) { [weak self] in self?.lookForHungWorkers() }
  }

  private func lookForHungWorkers() {
    timer = nil
    let busy = supervisor.workers.values.filter { worker in
      worker.plugin.description.heartbeat == true && core.coordinator.workers[worker.id]?.held.isEmpty == false
        && (worker.life.phase == .up || worker.life.phase == .draining)
    }
    let look = heartbeat.look(
      at: busy.sorted { $0.id.number < $1.id.number }.map { ($0.id, sockets.hasSpoken($0.id)) })
    for id in look.toAsk { sockets.send(.ping, to: id) }
    for id in look.hung { supervisor.hung(id, seconds: 2 * core.configuration.heartbeat) }
  }
}
