/// Ending and changing the number of processes.
extension Supervisor {
  /// Ends all processes: they give back jobs that have not begun and finish the others until `deadline` seconds are
  /// over; then they get TERM, then KILL. A second call with a shorter deadline makes them end sooner.
  func stop(deadline: Double) {
    if !stopping {
      stopping = true
      endDiscovery()
      log(
        .poolStopping,
        "stopping: \(workers.count == 1 ? "1 worker finishes its" : "\(workers.count) workers finish their") jobs",
        .count(workers.count))
      for worker in workers.values { apply(.drain, to: worker) }
    }
    loop.timers.cancel(drainDeadline)
    drainDeadline = loop.timers.after(deadline) { [weak self] in
      guard let self else { return }
      for worker in workers.values { apply(.terminate, to: worker) }
    }
    loop.timers.after(0) { [weak self] in self?.finishStopIfEmpty() }
  }

  /// Ends all processes at once.
  func killAll() {
    stop(deadline: 0)
    for worker in workers.values { apply(.kill(.stopped), to: worker) }
  }

  func finishStopIfEmpty() {
    guard stopping, workers.isEmpty, orphans?.isEmpty ?? true else { return }
    loop.timers.cancel(drainDeadline)
    memoryGroups?.removeEmpty()
    delegate?.supervisorStopped()
  }

  /// Sets how many processes there are in all, or of one plugin.
  func scale(to count: Int, plugin: String? = nil) {
    if let plugin {
      configuration.fixedWorkers[plugin] = max(0, count)
      log(.poolScaled, "\(plugin): \(count) worker\(count == 1 ? "" : "s")", .plugin(plugin), .count(count))
    } else {
      configuration.workers = max(0, count)
      log(.poolScaled, "\(count) worker\(count == 1 ? "" : "s") in all", .count(count))
    }
    rebalance()
  }
}
