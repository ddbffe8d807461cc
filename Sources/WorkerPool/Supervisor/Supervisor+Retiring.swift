import LinuxSystem

/// Replacing processes that still work: the new one is started first, and the old one goes when the new one is up.
extension Supervisor {
  /// Replaces a process that has done enough, or has become too large.
  func retire(_ worker: WorkerProcess, because reason: String) {
    guard worker.life.state == .up, !stopping else { return }
    tellAndRetire(worker, because: reason)
    rebalance()
  }

  private func tellAndRetire(_ worker: WorkerProcess, because reason: String) {
    apply(.retire, to: worker)
    log(
      .workerRetiring, "\(worker.name) will be replaced: \(reason)", .pid(worker.pid), .worker(worker.id.number))
  }

  /// Drains retiring processes that have a replacement, and retires the next outdated one: one at a time, so that jobs
  /// go on being done, and nothing is lost when the new executable does not start.
  func retireOutdated(_ plugin: Plugin, target: Int) {
    guard workers.mustReplace(of: plugin.name) else { return }
    var retiring = workers.retiring(of: plugin.name)
    let fresh = workers.upCount(of: plugin.name)
    while !retiring.isEmpty, fresh + retiring.count > target { apply(.drain, to: retiring.removeFirst()) }
    let staying = workers.staying(of: plugin.name)
    guard retiring.isEmpty, !staying.contains(where: { $0.life.state != .up && !$0.isOutdated }) else { return }
    guard let worker = staying.filter(\.isOutdated).min(by: { $0.id.number < $1.id.number }) else { return }
    if worker.life.state == .up {
      tellAndRetire(worker, because: "plugins were reloaded")
    } else {
      apply(.drain, to: worker)
    }
  }

  /// The worker has finished jobs. Cheap: a process's memory is read at most once in a second.
  func worked(_ id: WorkerID, jobs: Int) {
    guard let worker = workers[id] else { return }
    worker.jobsDone += jobs
    if !worker.hasWorked {
      worker.hasWorked = true
      policies[worker.plugin.name, default: RestartPolicy()].worked()
    }
    guard worker.life.state == .up else { return }
    if let limit = worker.jobLimit, worker.jobsDone >= limit {
      retire(worker, because: "it has done \(worker.jobsDone) jobs")
    } else if let limit = configuration.limits.residentMemory, Clock.now >= worker.memoryCheckedAt + 1 {
      worker.memoryCheckedAt = Clock.now
      if let bytes = ProcessUsage.residentBytes(of: worker.pid), bytes > limit {
        retire(worker, because: "it has grown to \(bytes >> 20) MiB")
      }
    }
  }
}
