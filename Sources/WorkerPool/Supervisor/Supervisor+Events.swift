import Glibc
import LinuxSystem
import WorkerProtocol

/// Events of single workers: each report is an event in the life of a worker, and its effects are carried out here.
extension Supervisor {
  /// The worker said a valid hello. The coordinator learns of it next, and then the demand changes.
  func cameUp(_ id: WorkerID) { apply(.hello, to: id) }

  /// The worker's hello was not valid. It is told so, and ended if it stays.
  func refused(_ worker: WorkerProcess, because failure: StartFailure) { apply(.refused(failure), to: worker) }

  /// A process said something that is no message. Its connection is closed next; before its hello nothing else will be
  /// heard of it.
  func brokeProtocol(_ worker: WorkerProcess, _ error: MessageError) {
    guard worker.life.state != .greeting else { return apply(.refused(.brokeProtocol(error)), to: worker) }
    worker.breach = error
    log(.workerRefused, "\(worker.name) broke the protocol: \(error)", worker)
  }

  /// The worker closed its connection, or broke the protocol. It has the time between TERM and KILL to exit.
  func disconnected(_ id: WorkerID) { apply(.disconnected, to: id) }

  /// The worker's job took too long and did not stop when asked. The worker is asked for its stacks first.
  func timedOut(_ id: WorkerID) { apply(.overran(.timedOut), to: id) }

  /// The worker's job has used more than these seconds of processor time.
  func usedTooMuch(_ id: WorkerID, seconds: Double) { apply(.overran(.usedTooMuch(seconds: seconds)), to: id) }

  /// The worker holds jobs and has not answered for this many seconds. It is asked for its stacks, which show where it
  /// hangs, and killed.
  func hung(_ id: WorkerID, seconds: Double) { apply(.hung(seconds: seconds), to: id) }

  /// The worker holds jobs and has begun none of them for this many seconds. It gives them back and exits; another
  /// process takes its slot.
  func hesitates(_ id: WorkerID, jobs: Int, seconds: Double) {
    guard let worker = workers[id] else { return }
    let count = jobs == 1 ? "the job" : "any of the \(jobs) jobs"
    log(
      .workerHung, "\(worker.name) has not begun \(count) in its hand for \(Clock.text(seconds)); it is replaced",
      .pid(worker.pid), .worker(worker.id.number))
    apply(.drain, to: worker)
  }

  /// The worker was told to finish, and holds no job any more. It has the time between TERM and KILL to exit.
  func becameIdle(_ id: WorkerID) { apply(.idle, to: id) }

  private func apply(_ event: WorkerLife.Event, to id: WorkerID) {
    if let worker = workers[id] { apply(event, to: worker) }
  }

  /// Carries out the effects of an event. When the process is gone, its slot is free for another one.
  func apply(_ event: WorkerLife.Event, to worker: WorkerProcess) {
    let wasThere = worker.life.state != .gone
    for effect in worker.handle(event, in: &workers) { perform(effect, worker) }
    guard wasThere, worker.life.state == .gone else { return }
    rebalance()
    finishStopIfEmpty()
  }

  private func perform(_ effect: WorkerLife.Effect, _ worker: WorkerProcess) {
    switch effect {
    case .announce: announce(worker)
    case .cameUp: noteArrival(of: worker)
    case .tellRefusal(let failure): log(.workerRefused, "\(worker.name): \(failure)", worker)
    case .forget: forget(worker)
    case .blameStart(let error): couldNotSpawn(worker.plugin, error)
    case .blameFileSystem: hangs(worker.plugin)
    case .tellDrain:
      worker.drainingSince = Clock.now
      delegate?.drain(worker.id)
    case .wait(let wait): setDeadline(of: worker, wait)
    case .signal(let number): worker.process?.signal(number)
    case .signalLeader(let number): worker.process?.signalLeader(number)
    case .log(let event, let text): log(event, "\(worker.name) \(text)", worker)
    case .bury(let death, let ending): bury(worker, death, ending)
    }
  }

  private func log(_ event: LogEvent, _ text: String, _ worker: WorkerProcess) {
    log(event, text, .pid(worker.pid), .worker(worker.id.number))
  }

  private func announce(_ worker: WorkerProcess) {
    log(
      .workerStarted, "\(worker.name) is started as worker \(worker.id)", .pid(worker.pid), .worker(worker.id.number),
      .plugin(worker.plugin.name))
    guard let connection = worker.connection else { return }
    worker.connection = nil
    do throws(SystemCallError) {
      try delegate?.connect(worker.id, connection)
    } catch {
      // Without its connection it ends by itself, before its hello.
      connection.close()
      refused(worker, because: .shortage("its connection cannot be watched: \(error.explained)"))
    }
  }

  private func noteArrival(of worker: WorkerProcess) {
    let now = Clock.now
    worker.upSince = now
    demandHistory.cameUp(worker.plugin.name, after: now - worker.startedAt)
    loop.timers.cancel(worker.deadline)
    policies[worker.plugin.name, default: RestartPolicy()].cameUp()
    log(
      .workerUp, "\(worker.name) is up", .pid(worker.pid), .worker(worker.id.number), .plugin(worker.plugin.name))
  }

  /// Gives the worker time for what it waits for; `WorkerLife` decides what follows.
  func setDeadline(of worker: WorkerProcess, _ wait: WorkerLife.Wait) {
    if wait == .stacks { worker.stacksEnd = Clock.now + configuration.stackDelay }
    let seconds =
      switch wait {
      case .hello: configuration.helloTimeout
      case .exit: configuration.killDelay
      case .stacks: configuration.stackDelay
      case .moreStacks: max(0, min(Self.stackPause, worker.stacksEnd - Clock.now))
      }
    loop.timers.cancel(worker.deadline)
    worker.deadline = loop.timers.after(seconds) { [weak self, weak worker] in
      guard let self, let worker else { return }
      apply(.deadline, to: worker)
    }
  }

  /// Forgets a worker that has no process. If one comes into being, it is killed.
  private func forget(_ worker: WorkerProcess) {
    loop.timers.cancel(worker.deadline)
    workers.remove(worker)
    worker.process = nil
    leaveMemoryGroup(of: worker)
  }

  // MARK: The end

  /// Settles the jobs and the slot of a worker that has ended.
  private func bury(_ worker: WorkerProcess, _ death: Death, _ ending: WorkerLife.Ending) {
    loop.timers.cancel(worker.deadline)
    tellOmittedLines(of: worker)
    workers.remove(worker)
    tryShortPlugins()
    orphans?.end()
    leaveMemoryGroup(of: worker)
    var obituary = Obituary(pid: worker.pid, death: death, cause: worker.causeOfEnd, lastLines: worker.lastLines)
    obituary.stack = worker.stack.lines
    obituary.resources = worker.process?.resources
    obituary.peakMemory = worker.process?.peakMemory
    if death != .exited(code: 0) {
      obituary.fullMemory = Obituary.FullMemory(
        peak: worker.process?.peakMemory, limit: worker.memoryGroup == nil ? configuration.limits.memory : nil)
    }
    let end = worker.breach == nil ? obituary.reason : "\(death)"
    log(ending == .wanted ? .workerEnded : .workerDied, "\(worker.name) \(end)", worker)
    let hadBegun = delegate?.work(of: worker.id) != nil
    delegate?.workerDied(worker.id, obituary)
    if !stopping { followUp(worker, death, ending, hadBegun: hadBegun) }
    if failures[worker.plugin.name] != nil { delegate?.pluginsChanged(usablePlugins) }
    endIfNothingCanBeStarted()
  }

  /// Decides when the slot of a worker that has ended gets its next process.
  private func followUp(_ worker: WorkerProcess, _ death: Death, _ ending: WorkerLife.Ending, hadBegun: Bool) {
    let name = worker.plugin.name
    switch ending {
    case .wanted: break
    case .neverCameUp(.shortage(let reason)): isShort(name, .shortage(reason))
    case .neverCameUp(nil) where death == .exited(code: WorkerExit.tryLater):
      tryAgainLater(name, .notNow(lastLines: worker.lastLines.suffix(3)))
    case .neverCameUp(let failure):
      failedToStart(name, failure ?? .exitedBeforeHello(death, lastLines: worker.lastLines.suffix(3)))
    case .died(let mayBlamePlugin):
      restarts += 1
      guard mayBlamePlugin else { return }
      // No job can be the reason.
      if let breach = worker.breach, !hadBegun, !worker.hasWorked { return brokeProtocolIdly(name, breach) }
      let delay = policies[name, default: RestartPolicy()].died(
        hadWorked: worker.hasWorked, jitter: .random(in: 0...1))
      keepSlotEmpty(of: name, for: delay)
    }
  }
}
