import Glibc
import LinuxSystem
import WorkerProtocol

/// What the coordinator's side reports about single workers.
extension Supervisor {
  /// The worker that owns this token, if the process at the other end of the socket is really it.
  func worker(token: String, peer: PeerCredentials) -> WorkerProcess? {
    guard peer.userID == geteuid(), let worker = workers.values.first(where: { $0.token == token }),
      worker.process?.owns(pid: peer.pid) == true
    else { return nil }
    return worker
  }

  /// Whether the worker that owns this token has no process yet, as far as is known: whoever has it may be that.
  func isStarting(token: String) -> Bool {
    workers.values.contains { $0.token == token && $0.process?.isStarting == true }
  }

  /// The worker whose process this is, whatever it said.
  func worker(pid: Int32) -> WorkerProcess? {
    workers.values.first { $0.process?.owns(pid: pid) == true }
  }

  /// The worker said a good hello. What that changes for others follows when the coordinator knows of it.
  func cameUp(_ id: WorkerID) {
    guard let worker = workers[id], worker.phase == .starting else { return }
    worker.phase = .up
    worker.upSince = Clock.now
    demand.cameUp(worker.plugin.name, after: Clock.now - worker.startedAt)
    loop.timers.cancel(worker.deadline)
    policies[worker.plugin.name, default: RestartPolicy()].cameUp()
    log(
      .workerUp, "\(worker.plugin.name)[\(worker.pid)] is up", .pid(worker.pid), .worker(id.number),
      .plugin(worker.plugin.name))
  }

  /// The worker's hello was not good. It is told so, and ended if it stays.
  func refused(_ worker: WorkerProcess, because failure: StartFailure) {
    worker.startFailure = failure
    log(.workerRefused, "\(worker.plugin.name)[\(worker.pid)]: \(failure)", .pid(worker.pid), .worker(worker.id.number))
    disconnected(worker.id)
  }

  /// The worker closed its connection, or said what nobody may say. It has the time between TERM and KILL to exit.
  func disconnected(_ id: WorkerID) {
    guard let worker = workers[id], worker.phase != .terminating, worker.phase != .killed else { return }
    worker.isDisconnected = true
    loop.timers.cancel(worker.deadline)
    worker.deadline = loop.timers.after(configuration.killDelay) { [weak self, weak worker] in
      guard let self, let worker else { return }
      kill(worker, cause: .disconnected)
    }
  }

  /// The worker's job took too long and did not stop when asked.
  func timedOut(_ id: WorkerID) {
    guard let worker = workers[id] else { return }
    kill(worker, cause: .timedOut)
  }

  /// The worker holds jobs and has not answered for so long. It is asked for its stacks, which say where it hangs, and killed.
  func hung(_ id: WorkerID, seconds: Double) {
    guard let worker = workers[id], worker.phase == .up || worker.phase == .draining else { return }
    log(
      .workerHung,
      "\(worker.plugin.name)[\(worker.pid)] has not answered for \(Int(seconds)) seconds; its stacks follow",
      .pid(worker.pid), .worker(id.number))
    worker.phase = .terminating
    worker.cause = .hung(seconds: seconds)
    worker.process?.signalLeader(SIGQUIT)
    // One that was stopped prints nothing until it goes on.
    worker.process?.signalLeader(SIGCONT)
    loop.timers.cancel(worker.deadline)
    worker.deadline = loop.timers.after(configuration.stackDelay) { [weak self, weak worker] in
      guard let self, let worker else { return }
      kill(worker, cause: worker.cause)
    }
  }

  func drain(_ worker: WorkerProcess) {
    guard worker.isStaying || worker.isRetiring && worker.phase == .up else { return }
    if worker.phase == .starting {
      end(worker, .workerDraining, "is not needed any more and ends before it is up")
    } else {
      worker.phase = .draining
      worker.drainingSince = Clock.now
      log(
        .workerDraining, "\(worker.plugin.name)[\(worker.pid)] is to finish", .pid(worker.pid),
        .worker(worker.id.number))
      delegate?.drain(worker.id)
    }
  }

  func terminate(_ worker: WorkerProcess) {
    guard worker.phase != .terminating, worker.phase != .killed else { return }
    end(worker, .workerTerminated, "is told to stop")
  }

  /// SIGTERM, and SIGKILL for one that goes on.
  private func end(_ worker: WorkerProcess, _ event: LogEvent, _ text: String) {
    worker.phase = .terminating
    worker.cause = .stopped
    log(event, "\(worker.plugin.name)[\(worker.pid)] \(text)", .pid(worker.pid), .worker(worker.id.number))
    worker.process?.signal(SIGTERM)
    loop.timers.cancel(worker.deadline)
    worker.deadline = loop.timers.after(configuration.killDelay) { [weak self, weak worker] in
      guard let self, let worker else { return }
      kill(worker, cause: .stopped)
    }
  }

  func kill(_ worker: WorkerProcess, cause: Obituary.Cause) {
    guard worker.phase != .killed else { return }
    if worker.process?.isStarting == true {
      forget(worker)
      return finishStopIfEmpty()
    }
    if worker.phase != .starting { worker.phase = .killed }
    worker.cause = cause
    log(.workerKilled, "\(worker.plugin.name)[\(worker.pid)] is killed", .pid(worker.pid), .worker(worker.id.number))
    worker.process?.signal(SIGKILL)
  }
}
