/// Finds workers that hang without dying: those to ask, and those that have not answered. A pure state machine.
///
/// A worker that sends lines by itself lives. One that has been silent since the last check is asked; one that has been
/// silent since it was asked hangs.
struct Heartbeat {
  private var asked: Set<WorkerID> = []

  /// The result of a check.
  struct Check: Equatable {
    var toAsk: [WorkerID] = []
    var hung: [WorkerID] = []
  }

  /// Checks the workers that hold jobs and can answer PING, with whether each has sent anything since the last check.
  mutating func check(_ workers: [(id: WorkerID, hasSpoken: Bool)]) -> Check {
    var check = Check()
    for worker in workers where !worker.hasSpoken {
      if asked.contains(worker.id) { check.hung.append(worker.id) } else { check.toAsk.append(worker.id) }
    }
    asked = Set(check.toAsk)
    return check
  }
}

/// Checks from time to time whether workers that hold jobs still answer. There is a timer only while a worker holds
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
    guard timer == nil, core.configuration.heartbeat > 0, !core.coordinator.hands.jobs.isEmpty else { return }
    timer = core.loop.timers.after(core.configuration.heartbeat) { [weak self] in self?.checkWorkers() }
  }

  private func checkWorkers() {
    timer = nil
    let busy = core.coordinator.hands.workers.busy.compactMap { supervisor.workers[$0] }.filter { worker in
      worker.plugin.description.heartbeat == true && (worker.life.phase == .up || worker.life.phase == .draining)
    }
    let check = heartbeat.check(
      busy.sorted { $0.id.number < $1.id.number }.map { ($0.id, sockets.hasSpoken($0.id)) })
    for id in check.toAsk { sockets.send(.ping, to: id) }
    for id in check.hung { supervisor.hung(id, seconds: 2 * core.configuration.heartbeat) }
  }
}
