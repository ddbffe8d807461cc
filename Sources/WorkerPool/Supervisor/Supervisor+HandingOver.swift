import LinuxSystem
import WorkerProtocol

/// Handing the worker processes over to another program that takes this one's place, and taking them over.
extension Supervisor {
  /// Starts no process for now, and lets those finish that would take the end of a thread of this process for its
  /// death: the kernel tells them so when the program is replaced (PR_SET_PDEATHSIG, prctl(2)).
  func hold() {
    isHeld = true
    for worker in workers.values where !worker.survivesReexec { apply(.drain, to: worker) }
  }

  /// Goes on as before.
  func release() {
    isHeld = false
    rebalance()
  }

  /// Why the processes cannot be handed over now; nil if they can be.
  var obstacleToHandingOver: String? {
    for worker in workers.values {
      if !worker.survivesReexec {
        return "\(worker.name) has to finish its job first, since its plugin does not describe \"survivesReexec\""
      }
      if !worker.life.canBeHandedOver || worker.breach != nil || worker.process?.handed == nil {
        return "\(worker.name) is \(worker.life.phase.rawValue)"
      }
      if worker.life.state == .draining, delegate?.busyWorkers.contains(worker.id) != true {
        return "\(worker.name) is about to exit"
      }
    }
    let probes = ([discovery].compactMap(\.self) + formerDiscoveries).flatMap(\.processes)
    if !probes.isEmpty || discovery?.isFirstRoundOver == false { return "plugins are being asked what they do" }
    return starter.isIdle ? nil : "a program is being started"
  }

  /// Goes on with a process that the program before this one had started.
  ///
  /// - Throws: when its end cannot be observed.
  func adopt(_ handed: HandedWorker, _ plugin: Plugin) throws(SystemCallError) {
    let worker = WorkerProcess(handed, plugin, helloTimeout: configuration.helloTimeout)
    worker.process = try ChildProcess(
      handed.child, loop: loop, starter: starter, onLine: lineListener(of: worker), onDeath: deathListener(of: worker))
    workers.add(worker)
    lastNumber = max(lastNumber, worker.id.number)
  }
}

extension WorkerProcess {
  var survivesReexec: Bool { plugin.description.survivesReexec == true }
}
