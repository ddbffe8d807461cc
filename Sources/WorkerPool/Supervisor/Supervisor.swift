import Foundation
import Glibc
import WorkerProtocol

/// What the supervisor asks of and tells to the rest of the pool. All calls come on the loop.
protocol SupervisorDelegate: AnyObject {
  /// Ready jobs that nobody has begun, for each plugin's name.
  func waitingJobs() -> [String: Int]
  /// Whether the worker holds jobs.
  func isBusy(_ id: WorkerID) -> Bool
  /// The worker shall be told to finish what it has begun and to exit.
  func drain(_ id: WorkerID)
  /// The worker's process has ended.
  func workerDied(_ id: WorkerID, _ obituary: Obituary)
  /// The set of usable plugins has changed.
  func pluginsChanged(_ plugins: [Plugin])
  /// After `stop`: the last process has ended.
  func supervisorStopped()
}

/// Keeps the worker processes alive: starts them, observes their death, replaces them, and ends them in good order.
///
/// It knows plugins, processes and slots, and nothing of jobs.
final class Supervisor {
  /// What does not change while it runs.
  struct Configuration {
    var pluginDirectories: [String]
    /// Processes in all.
    var workers: Int
    /// Processes of single plugins, set by hand.
    var fixedWorkers: [String: Int] = [:]
    /// The environment of the workers; the token is added for each.
    var environment: [String: String]
    /// Seconds until a started process must have said hello.
    var helloPatience = 10.0
    /// Seconds between SIGTERM and SIGKILL.
    var killDelay = 5.0
  }

  let loop: EventLoop
  let log: Log
  var configuration: Configuration
  weak var delegate: SupervisorDelegate?

  var plugins: [Plugin] = []
  /// Why plugins cannot be used or were given up, by name.
  var failures: [String: StartFailure] = [:]
  var policies: [String: RestartPolicy] = [:]
  var workers: [WorkerID: WorkerProcess] = [:]
  /// Waits before a replacement: for each plugin how many slots stay empty until their time has come.
  var waitingSlots: [String: Int] = [:]
  var stopping = false
  var drainDeadline: TimerQueue.Token?
  var restarts = 0
  private var discovery: PluginDiscovery?
  private var lastNumber = 0

  init(loop: EventLoop, log: Log, configuration: Configuration) {
    self.loop = loop
    self.log = log
    self.configuration = configuration
  }

  /// Finds the plugins and starts processes. Called again it looks for plugins anew: new ones are added, processes of the old
  /// ones are replaced as they finish their work, and plugins that were given up get another chance.
  func reload() {
    guard !stopping else { return }
    let isFirst = plugins.isEmpty && failures.isEmpty
    discovery = PluginDiscovery(directories: configuration.pluginDirectories, loop: loop) { [weak self] result in
      guard let self, !stopping else { return }
      plugins = result.plugins
      failures = result.failures
      policies = [:]
      for (name, failure) in failures.sorted(by: { $0.key < $1.key }) { log("plugin \(name): \(failure)") }
      for plugin in plugins {
        let kinds = plugin.description.kinds.map(\.kind).joined(separator: ", ")
        log("plugin \(plugin.name) \(plugin.description.version): \(kinds)")
      }
      if plugins.isEmpty { log("no plugins in \(configuration.pluginDirectories.joined(separator: ", "))") }
      delegate?.pluginsChanged(plugins)
      if !isFirst { for worker in workers.values where worker.isStaying { drain(worker) } }
      rebalance()
    }
  }

  /// Starts and drains processes until each plugin has those that the plan gives it.
  func rebalance() {
    guard !stopping, let delegate else { return }
    let waiting = delegate.waitingJobs()
    let usable = plugins.filter { failures[$0.name] == nil }
    let plan = SlotPlan.targets(
      total: configuration.workers,
      plugins: usable.map { plugin in
        let staying = workers.values.filter { $0.plugin.name == plugin.name && $0.isStaying }
        return SlotPlan.Plugin(
          name: plugin.name, fixed: configuration.fixedWorkers[plugin.name], waiting: waiting[plugin.name] ?? 0,
          busy: staying.count { delegate.isBusy($0.id) }, current: staying.count)
      })
    for plugin in usable {
      let staying = workers.values.filter { $0.plugin.name == plugin.name && $0.isStaying }
      let surplus = staying.count - (plan[plugin.name] ?? 0)
      if surplus > 0 {
        let idleFirst = staying.sorted { !delegate.isBusy($0.id) && delegate.isBusy($1.id) }
        for worker in idleFirst.prefix(surplus) { drain(worker) }
      } else {
        fill(plugin, missing: -surplus)
      }
    }
  }

  /// Starts processes for empty slots of a plugin. A slot is empty only when the process that leaves it is gone: there are never
  /// more processes than slots in all, except of plugins whose number was set by hand.
  private func fill(_ plugin: Plugin, missing: Int) {
    let delayed = waitingSlots[plugin.name] ?? 0
    let fixed = configuration.fixedWorkers[plugin.name]
    for _ in 0..<max(0, missing - delayed) {
      let occupied = workers.values.count {
        fixed == nil ? configuration.fixedWorkers[$0.plugin.name] == nil : $0.plugin.name == plugin.name
      }
      let reserved = configuration.fixedWorkers.values.reduce(0, +)
      let limit = fixed ?? max(0, configuration.workers - reserved)
      guard occupied < limit else { return }
      start(plugin)
    }
  }

  private func start(_ plugin: Plugin) {
    lastNumber += 1
    let id = WorkerID(number: lastNumber)
    let worker = WorkerProcess(id: id, plugin: plugin, token: UUID().uuidString)
    var environment = configuration.environment
    environment["WORKERPOOL_TOKEN"] = worker.token
    do {
      worker.process = try ChildProcess(
        .init(path: plugin.path, environment: environment), loop: loop,
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
      worker.startFailure = .silent(seconds: configuration.helloPatience)
      kill(worker, cause: .itself)
    }
  }

  /// A machine that is out of processes, memory or descriptors may have some later; a file that is no program will not become one.
  private func couldNotSpawn(_ plugin: Plugin, _ error: SystemCallError) {
    guard [EAGAIN, ENOMEM, EMFILE, ENFILE].contains(error.number) else {
      let reason = String(cString: strerror(error.number))
      return failedToStart(plugin.name, .notExecutable(path: plugin.path, reason: reason))
    }
    log("plugin \(plugin.name) cannot be started now: \(error)")
    let delay = policies[plugin.name, default: RestartPolicy()].died(hadWorked: false, jitter: .random(in: 0...1))
    keepSlotEmpty(of: plugin.name, for: delay)
  }

  private func heard(_ line: OutputLine, from worker: WorkerProcess) {
    log("\(worker.plugin.name)[\(worker.pid)]: \(line.text)")
    guard line.isError else { return }
    worker.lastLines.append(line.text)
    if worker.lastLines.count > WorkerProcess.keptLines { worker.lastLines.removeFirst() }
  }

  private func died(_ worker: WorkerProcess, _ death: Death) {
    loop.timers.cancel(worker.deadline)
    workers[worker.id] = nil
    let neverCameUp = worker.phase == .starting || worker.startFailure != nil
    let wasAsked = worker.phase != .starting && worker.phase != .up && death == .exited(code: 0)
    if !wasAsked, worker.cause == .itself { log("\(worker.plugin.name)[\(worker.pid)] \(death)") }
    delegate?.workerDied(
      worker.id, Obituary(pid: worker.pid, death: death, cause: worker.cause, lastLines: worker.lastLines))
    if !stopping, worker.cause == .itself, !wasAsked {
      let name = worker.plugin.name
      if neverCameUp {
        failedToStart(name, worker.startFailure ?? .exitedBeforeHello(death, lastLines: worker.lastLines.suffix(3)))
      } else {
        restarts += 1
        let delay = policies[name, default: RestartPolicy()].died(
          hadWorked: worker.hasWorked, jitter: .random(in: 0...1))
        keepSlotEmpty(of: name, for: delay)
      }
    }
    rebalance()
    finishStopIfEmpty()
  }

  private func failedToStart(_ name: String, _ failure: StartFailure) {
    log("plugin \(name) did not start: \(failure)")
    let delay = policies[name, default: RestartPolicy()].failedToStart(jitter: .random(in: 0...1))
    if let delay {
      keepSlotEmpty(of: name, for: delay)
    } else {
      failures[name] = failure
      log("plugin \(name) is given up after \(RestartPolicy.patience) failures to start")
      delegate?.pluginsChanged(plugins.filter { failures[$0.name] == nil })
    }
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
