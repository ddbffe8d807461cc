import LinuxSystem

/// Replacing processes that still work: the new one is started first, and the old one goes when the new one is up.
extension Supervisor {
  /// Replaces a process that has done enough, or has become too large.
  func retire(_ worker: WorkerProcess, because reason: String) {
    guard worker.phase == .up, worker.isStaying, !stopping else { return }
    worker.isRetiring = true
    log(
      .workerRetiring, "\(worker.plugin.name)[\(worker.pid)] is to be replaced: \(reason)", .pid(worker.pid),
      .worker(worker.id.number))
    rebalance()
  }

  /// Lets go of retiring processes for which there is a replacement, and retires the next outdated one: one at a time, so that jobs go on
  /// being done, and nothing is lost when the new executable does not start.
  func retireOutdated(_ plugin: Plugin, target: Int) {
    guard workers.values.contains(where: { $0.isRetiring || $0.isOutdated }) else { return }
    var retiring = retiring(plugin)
    let fresh = staying(plugin).count { $0.phase == .up }
    while !retiring.isEmpty, fresh + retiring.count > target { drain(retiring.removeFirst()) }
    guard retiring.isEmpty, !staying(plugin).contains(where: { $0.phase == .starting && !$0.isOutdated }) else {
      return
    }
    let outdated = staying(plugin).filter(\.isOutdated)
    if let worker = outdated.min(by: { $0.id.number < $1.id.number }) {
      if worker.phase == .up {
        worker.isRetiring = true
        log(
          .workerRetiring, "\(worker.plugin.name)[\(worker.pid)] is to be replaced: plugins were reloaded",
          .pid(worker.pid), .worker(worker.id.number))
      } else {
        drain(worker)
      }
    }
  }

  /// The worker has finished jobs. Cheap: a process's memory is looked at once in a second at most.
  func worked(_ id: WorkerID, jobs: Int) {
    guard let worker = workers[id] else { return }
    worker.jobsDone += jobs
    if !worker.hasWorked {
      worker.hasWorked = true
      policies[worker.plugin.name, default: RestartPolicy()].worked()
    }
    guard worker.isStaying, worker.phase == .up else { return }
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
