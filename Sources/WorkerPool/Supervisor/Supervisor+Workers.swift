import Glibc
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

  /// The worker whose process this is, whatever it said.
  func worker(pid: Int32) -> WorkerProcess? {
    workers.values.first { $0.process?.owns(pid: pid) == true }
  }

  /// The worker said a good hello.
  func cameUp(_ id: WorkerID) {
    guard let worker = workers[id], worker.phase == .starting else { return }
    worker.phase = .up
    loop.timers.cancel(worker.deadline)
    policies[worker.plugin.name, default: RestartPolicy()].cameUp()
  }

  /// The worker finished a job.
  func worked(_ id: WorkerID) {
    guard let worker = workers[id], !worker.hasWorked else { return }
    worker.hasWorked = true
    policies[worker.plugin.name, default: RestartPolicy()].worked()
  }

  /// The worker's hello was not good. It is told so, and ended if it stays.
  func refused(_ worker: WorkerProcess, because failure: StartFailure) {
    worker.startFailure = failure
    disconnected(worker.id)
  }

  /// The worker closed its connection, or said what nobody may say. It has the time between TERM and KILL to exit.
  func disconnected(_ id: WorkerID) {
    guard let worker = workers[id], worker.phase != .terminating, worker.phase != .killed else { return }
    worker.isDisconnected = true
    loop.timers.cancel(worker.deadline)
    worker.deadline = loop.timers.after(configuration.killDelay) { [weak self, weak worker] in
      guard let self, let worker else { return }
      kill(worker, cause: worker.cause)
    }
  }

  /// The worker's job took too long and did not stop when asked.
  func timedOut(_ id: WorkerID) {
    guard let worker = workers[id] else { return }
    log("\(worker.plugin.name)[\(worker.pid)] is killed: its job took too long")
    kill(worker, cause: .timedOut)
  }

  func drain(_ worker: WorkerProcess) {
    guard worker.isStaying else { return }
    if worker.phase == .starting {
      terminate(worker)
    } else {
      worker.phase = .draining
      delegate?.drain(worker.id)
    }
  }

  func terminate(_ worker: WorkerProcess) {
    guard worker.phase != .terminating, worker.phase != .killed else { return }
    worker.phase = .terminating
    worker.cause = .stopped
    worker.process?.signal(SIGTERM)
    loop.timers.cancel(worker.deadline)
    worker.deadline = loop.timers.after(configuration.killDelay) { [weak self, weak worker] in
      guard let self, let worker else { return }
      kill(worker, cause: .stopped)
    }
  }

  func kill(_ worker: WorkerProcess, cause: Obituary.Cause) {
    guard worker.phase != .killed else { return }
    if worker.phase != .starting { worker.phase = .killed }
    worker.cause = cause
    worker.process?.signal(SIGKILL)
  }
}
