import Foundation
import Glibc
import LinuxSystem
import WorkerProtocol

/// Starts processes, and handles plugins that cannot be started.
extension Supervisor {
  func start(_ plugin: Plugin) {
    lastNumber += 1
    let id = WorkerID(number: lastNumber)
    let limits = configuration.limits
    let worker = WorkerProcess(id: id, plugin: plugin, helloTimeout: configuration.helloTimeout)
    worker.jobLimit = limits.jobs(jitter: .random(in: 0...1))
    worker.replaces = workers.retiring(of: plugin.name).first { workers.successor(of: $0) == nil }?.id
    demandHistory.started(plugin.name)
    var program = Program(
      path: plugin.path, environment: configuration.environment, limits: limits.resources,
      // A worker asks for another signal when it is ready to go on alone.
      parentDeathSignal: SIGTERM)
    (worker.memoryGroup, program.memoryGroup) = makeMemoryGroup()
    let bounds = configuration.confinement.map { confinement in
      { @Sendable [path = plugin.path, needs = plugin.description.needs] in confinement.bounds(of: path, needs: needs) }
    }
    do throws(SystemCallError) {
      try OpenFileLimit.requireRoomForStart(others: workers.spawningCount)
      let ends = try UnixSocket.pair()
      worker.connection = ends.near
      worker.process = try ChildProcess(
        program, confinement: bounds, connection: ends.far, loop: loop, starter: starter,
        onStart: { [weak self, weak worker] error in
          guard let self, let worker else { return }
          apply(error.map(WorkerLife.Event.couldNotStart) ?? .started, to: worker)
        },
        onLine: lineListener(of: worker), onDeath: deathListener(of: worker))
    } catch {
      leaveMemoryGroup(of: worker)
      return couldNotSpawn(plugin, error)
    }
    workers.add(worker)
    setDeadline(of: worker, .hello)
  }

  /// Gets each line that the worker's process writes, for as long as both exist.
  func lineListener(of worker: WorkerProcess) -> (OutputLine) -> Void {
    { [weak self, weak worker] line in
      guard let self, let worker else { return }
      heard(line, from: worker)
    }
  }

  /// Gets the end of the worker's process, for as long as both exist.
  func deathListener(of worker: WorkerProcess) -> (Death) -> Void {
    { [weak self, weak worker] death in
      guard let self, let worker else { return }
      apply(.exited(worker.memoryGroup?.cause(of: death) ?? death), to: worker)
    }
  }

  /// The plugin's file system does not answer: others get its slot until it does.
  func hangs(_ plugin: Plugin) {
    let failure = StartFailure.hangs(path: plugin.path, seconds: configuration.helloTimeout)
    log(.pluginFailed, "plugin \(plugin.name) did not start: \(failure)", .plugin(plugin.name))
    failures[plugin.name] = failure
    delegate?.pluginsChanged(usablePlugins)
  }

  /// A file system that did not answer does so again.
  func isBack(_ path: String) {
    guard !stopping else { return }
    for (name, failure) in failures {
      guard case .hangs(path, _) = failure else { continue }
      log(.note, "\(path) can be started again", .plugin(name), .path(path))
      // A plugin without a description is asked for it.
      guard plugins.contains(where: { $0.name == name }) else {
        discovery?.askAgain(name)
        continue
      }
      failures[name] = nil
      delegate?.pluginsChanged(usablePlugins)
      return rebalance()
    }
  }

  /// A machine that has run out of processes, memory or descriptors may have some later. A file that was a program and
  /// is none now is being replaced.
  func couldNotSpawn(_ plugin: Plugin, _ error: SystemCallError) {
    guard error.isShortage else {
      let reason = String(cString: strerror(error.number))
      return isAway(plugin.name, .notExecutable(path: plugin.path, reason: reason))
    }
    isShort(plugin.name, .shortage(error.explained))
  }

  /// The machine or this process lacks a resource, which is not the plugin's fault. The log says it once, until the
  /// plugin has all its processes again, and one process is tried now and then for all that are missing.
  func isShort(_ name: String, _ failure: StartFailure) {
    if shortages[name]?.failure != failure {
      let count = workers.stayingCount(of: name)
      let consequence = "the pool goes on with \(count == 0 ? "none" : "\(count)") of its processes, and tries again"
      log(.trouble, "plugin \(name) cannot be started now: \(failure); \(consequence)", .plugin(name))
    }
    var shortage = shortages[name] ?? Shortage(failure: failure)
    shortage.failure = failure
    let delay = shortage.policy.died(hadWorked: false, jitter: .random(in: 0...1))
    loop.timers.cancel(shortage.pause)
    shortage.pause = loop.timers.after(delay) { [weak self] in
      guard let self else { return }
      shortages[name]?.pause = nil
      rebalance()
    }
    shortages[name] = shortage
  }

  /// A process has ended: what it had may be enough for another one.
  func tryShortPlugins() {
    for name in shortages.keys {
      loop.timers.cancel(shortages[name]?.pause)
      shortages[name]?.pause = nil
    }
  }

  /// The plugin may have all its processes again.
  func endShortage(of name: String, target: Int) {
    guard shortages[name]?.isPausing == false else { return }
    let count = workers.stayingCount(of: name)
    guard count >= target, count == workers.upCount(of: name) else { return }
    shortages[name] = nil
    log(.note, "plugin \(name) has all its processes again (\(count))", .plugin(name))
  }

  /// Whether slots of the plugin stay empty for a while.
  func isDelayed(_ name: String) -> Bool {
    delayedStarts[name, default: 0] > 0 || shortages[name]?.isPausing == true
  }

  /// A process says that it cannot run now, which is not the plugin's fault.
  func tryAgainLater(_ name: String, _ failure: StartFailure) {
    log(.trouble, "plugin \(name) cannot be started now: \(failure)", .plugin(name))
    let delay = policies[name, default: RestartPolicy()].died(hadWorked: false, jitter: .random(in: 0...1))
    keepSlotEmpty(of: name, for: delay)
  }

  func failedToStart(_ name: String, _ failure: StartFailure) {
    log(.pluginFailed, "plugin \(name) did not start: \(failure)", .plugin(name))
    // Other processes of the plugin were being started when it was given up.
    guard failures[name] == nil else { return }
    let delay = policies[name, default: RestartPolicy()].failedToStart(jitter: .random(in: 0...1))
    if let delay { return keepSlotEmpty(of: name, for: delay) }
    giveUp(name, failure, after: "\(RestartPolicy.mostFailures) failures to start")
  }

  /// A process said hello, and broke the protocol before it had begun a job.
  func brokeProtocolIdly(_ name: String, _ error: MessageError) {
    guard failures[name] == nil else { return }
    let delay = policies[name, default: RestartPolicy()].brokeProtocolIdly(jitter: .random(in: 0...1))
    if let delay { return keepSlotEmpty(of: name, for: delay) }
    giveUp(
      name, .brokeProtocol(error),
      after: "\(RestartPolicy.mostFailures) processes that broke the protocol and had begun no job")
  }

  private func giveUp(_ name: String, _ failure: StartFailure, after what: String) {
    failures[name] = failure
    log(.pluginGivenUp, "plugin \(name) is given up after \(what)", .plugin(name))
    discovery?.askWhenChanged(name)
    // Processes that were retiring stay: they are better than none.
    for worker in workers.values where worker.plugin.name == name { apply(.keep, to: worker) }
    delegate?.pluginsChanged(usablePlugins)
    endIfNothingCanBeStarted()
  }

  func keepSlotEmpty(of name: String, for seconds: Double) {
    guard seconds > 0 else { return }
    delayedStarts[name, default: 0] += 1
    loop.timers.after(seconds) { [weak self] in
      guard let self else { return }
      delayedStarts[name, default: 1] -= 1
      rebalance()
    }
  }
}
