import Foundation
import Glibc
import LinuxSystem
import WorkerProtocol

/// One process from its start to its end.
extension Supervisor {
  func start(_ plugin: Plugin) {
    lastNumber += 1
    let id = WorkerID(number: lastNumber)
    let limits = configuration.limits
    let worker = WorkerProcess(id: id, plugin: plugin, token: UUID().uuidString)
    worker.jobLimit = limits.jobs(jitter: .random(in: 0...1))
    worker.replaces = retiring(plugin).first { successor(of: $0) == nil }?.id
    demand.started(plugin.name)
    var environment = configuration.environment
    environment[.token] = worker.token
    do {
      worker.process = try ChildProcess(
        .init(
          path: plugin.path, environment: environment, limits: limits.resources,
          // A worker asks for another signal when it is ready to go on alone.
          parentDeathSignal: SIGTERM),
        loop: loop, starter: starter,
        onStart: { [weak self, weak worker] error in
          guard let self, let worker else { return }
          started(worker, error)
        },
        onLine: { [weak self, weak worker] line in
          guard let self, let worker else { return }
          heard(line, from: worker)
        },
        onDeath: { [weak self, weak worker] death in
          guard let self, let worker else { return }
          died(worker, death)
        })
    } catch {
      return couldNotSpawn(plugin, error)
    }
    workers[id] = worker
    worker.deadline = loop.timers.after(configuration.helloPatience) { [weak self, weak worker] in
      guard let self, let worker, worker.phase == .starting else { return }
      saidNoHello(worker)
    }
  }

  /// The process is there, or there is none.
  private func started(_ worker: WorkerProcess, _ error: SystemCallError?) {
    if let error {
      forget(worker)
      if worker.phase == .starting { couldNotSpawn(worker.plugin, error) }
      rebalance()
      return finishStopIfEmpty()
    }
    log(
      .workerStarted, "\(worker.plugin.name)[\(worker.pid)] is started as worker \(worker.id)", .pid(worker.pid),
      .worker(worker.id.number), .plugin(worker.plugin.name))
    delegate?.processStarted(worker.id)
  }

  private func saidNoHello(_ worker: WorkerProcess) {
    if worker.process?.isStarting == true { return hangs(worker) }
    worker.startFailure = reasonForSilence(of: worker)
    kill(worker, cause: .silent(seconds: configuration.helloPatience))
  }

  /// Lets go of a worker that has no process. Should it come to be, it is killed.
  func forget(_ worker: WorkerProcess) {
    loop.timers.cancel(worker.deadline)
    workers[worker.id] = nil
    worker.process = nil
  }

  /// The plugin's file system does not answer: its slot is for others until it does.
  private func hangs(_ worker: WorkerProcess) {
    let (name, failure) = (
      worker.plugin.name, StartFailure.hangs(path: worker.plugin.path, seconds: configuration.helloPatience)
    )
    forget(worker)
    log(.pluginFailed, "plugin \(name) did not start: \(failure)", .plugin(name))
    failures[name] = failure
    delegate?.pluginsChanged(usablePlugins)
    rebalance()
    finishStopIfEmpty()
  }

  /// A file system that had not answered does again.
  func isBack(_ path: String) {
    guard !stopping else { return }
    for (name, failure) in failures {
      guard case .hangs(path, _) = failure else { continue }
      log(.note, "\(path) can be started again", .plugin(name), .path(path))
      // One that has not said what it is yet is asked.
      guard plugins.contains(where: { $0.name == name }) else { return reload() }
      failures[name] = nil
      delegate?.pluginsChanged(usablePlugins)
      return rebalance()
    }
  }

  /// A machine that is out of processes, memory or descriptors may have some later; a file that is no program will not become one.
  private func couldNotSpawn(_ plugin: Plugin, _ error: SystemCallError) {
    guard error.isShortage else {
      let reason = String(cString: strerror(error.number))
      return failedToStart(plugin.name, .notExecutable(path: plugin.path, reason: reason))
    }
    tryAgainLater(plugin.name, .shortage(error.explained))
  }

  /// A process whose connection was not accepted had no way to say hello.
  private func reasonForSilence(of worker: WorkerProcess) -> StartFailure {
    if let failed = acceptFailure, failed.at >= worker.startedAt {
      return .shortage("its connection could not be accepted: \(failed.error.explained)")
    }
    return .silent(seconds: configuration.helloPatience)
  }

  /// The machine is out of something: that says nothing of the plugin.
  private func tryAgainLater(_ name: String, _ failure: StartFailure) {
    log(.trouble, "plugin \(name) cannot be started now: \(failure)", .plugin(name))
    let delay = policies[name, default: RestartPolicy()].died(hadWorked: false, jitter: .random(in: 0...1))
    keepSlotEmpty(of: name, for: delay)
  }

  /// Lines of output that are taken from one process in one second; the others are counted.
  static let outputLinesPerSecond = 200

  private func heard(_ line: OutputLine, from worker: WorkerProcess) {
    if line.isError {
      worker.lastLines.append(line.text)
      if worker.lastLines.count > WorkerProcess.keptLines { worker.lastLines.removeFirst() }
    }
    let now = Clock.now
    if now >= worker.outputSecond + 1 {
      tellOmittedLines(of: worker)
      worker.outputSecond = now
      worker.outputLines = 0
    }
    worker.outputLines += 1
    guard worker.outputLines <= Self.outputLinesPerSecond else { return }
    let work = delegate?.work(of: worker.id).map { " \($0)" } ?? ""
    log(
      .workerOutput, "\(worker.plugin.name)[\(worker.pid)]\(work): \(line.text)", .pid(worker.pid),
      .worker(worker.id.number))
  }

  private func tellOmittedLines(of worker: WorkerProcess) {
    let omitted = worker.outputLines - Self.outputLinesPerSecond
    guard omitted > 0 else { return }
    log(
      .workerOutput, "\(worker.plugin.name)[\(worker.pid)] wrote \(omitted) lines more, which are left out",
      .pid(worker.pid), .worker(worker.id.number), .count(omitted))
  }

  private func died(_ worker: WorkerProcess, _ death: Death) {
    loop.timers.cancel(worker.deadline)
    tellOmittedLines(of: worker)
    workers[worker.id] = nil
    orphans?.end()
    // Who was killed by somebody, or for want of memory, is not to blame for not having come up.
    let wasKilled = worker.startFailure == nil && death == .signalled(SIGKILL)
    let neverCameUp = (worker.phase == .starting || worker.startFailure != nil) && !wasKilled
    let wasAsked = worker.phase != .starting && worker.phase != .up && death == .exited(code: 0)
    let obituary = Obituary(pid: worker.pid, death: death, cause: worker.cause, lastLines: worker.lastLines)
    log(
      wasAsked || worker.cause == .stopped ? .workerEnded : .workerDied,
      "\(worker.plugin.name)[\(worker.pid)] \(obituary.reason)", .pid(worker.pid), .worker(worker.id.number))
    delegate?.workerDied(worker.id, obituary)
    if !stopping, worker.cause != .stopped, !wasAsked {
      let name = worker.plugin.name
      if neverCameUp, case .shortage = worker.startFailure {
        tryAgainLater(name, worker.startFailure ?? .silent(seconds: 0))
      } else if neverCameUp {
        failedToStart(name, worker.startFailure ?? .exitedBeforeHello(death, lastLines: worker.lastLines.suffix(3)))
      } else {
        restarts += 1
        if worker.cause == .itself || worker.cause == .disconnected {
          let delay = policies[name, default: RestartPolicy()].died(
            hadWorked: worker.hasWorked, jitter: .random(in: 0...1))
          keepSlotEmpty(of: name, for: delay)
        }
      }
    }
    if failures[worker.plugin.name] != nil {
      delegate?.pluginsChanged(usablePlugins)
      endIfNothingCanBeStarted()
    }
    rebalance()
    finishStopIfEmpty()
  }

  private func failedToStart(_ name: String, _ failure: StartFailure) {
    log(.pluginFailed, "plugin \(name) did not start: \(failure)", .plugin(name))
    // Several were on their way when the last straw came.
    guard failures[name] == nil else { return }
    let delay = policies[name, default: RestartPolicy()].failedToStart(jitter: .random(in: 0...1))
    if let delay { return keepSlotEmpty(of: name, for: delay) }
    failures[name] = failure
    log(.pluginGivenUp, "plugin \(name) is given up after \(RestartPolicy.patience) failures to start", .plugin(name))
    // Processes that were to be replaced stay: they are better than none.
    for worker in workers.values where worker.plugin.name == name { worker.isRetiring = false }
    delegate?.pluginsChanged(usablePlugins)
    endIfNothingCanBeStarted()
  }

  private func keepSlotEmpty(of name: String, for seconds: Double) {
    guard seconds > 0 else { return }
    waitingSlots[name, default: 0] += 1
    loop.timers.after(seconds) { [weak self] in
      guard let self else { return }
      waitingSlots[name, default: 1] -= 1
      rebalance()
    }
  }
}
