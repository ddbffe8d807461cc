import Foundation
import Glibc
import LinuxSystem
import WorkerProtocol

/// Answers the supervisor's questions, and receives its reports. All calls come on the loop.
protocol SupervisorDelegate: AnyObject {
  /// Jobs that would begin now if there were a process for each, for each plugin's name.
  func demand() -> [String: Int]
  /// The workers that hold jobs.
  var busyWorkers: Set<WorkerID> { get }
  /// The worker's job, for the log beside its output; `nil` when it does nothing.
  func work(of id: WorkerID) -> String?
  /// Takes a line of the worker's standard error that is neither logged nor kept for its obituary; false for others.
  func takes(_ line: String, of id: WorkerID) -> Bool
  /// The worker's process is there, at the other end of the connection. Throws when the connection cannot be watched.
  func connect(_ id: WorkerID, _ connection: Connection) throws(SystemCallError)
  /// Tell the worker to finish what it has begun and to exit.
  func drain(_ id: WorkerID)
  /// The worker's process has ended.
  func workerDied(_ id: WorkerID, _ obituary: Obituary)
  /// The set of usable plugins has changed.
  func pluginsChanged(_ plugins: [Plugin])
  /// There is no process, and no plugin that could be started.
  func nothingCanBeStarted()
  /// After `stop`: the last process has ended.
  func supervisorStopped()
}

/// Keeps the worker processes alive: starts them, observes their death, replaces them, and ends them in good order.
///
/// It knows plugins, processes and slots, and nothing of jobs.
final class Supervisor {
  /// What the supervisor needs to know.
  struct Configuration {
    var pluginDirectories: [String]
    /// Processes in all.
    var workers: Int
    /// Processes of single plugins, set by hand.
    var fixedWorkers: [String: Int] = [:]
    /// The environment of the workers.
    var environment: [String: String]
    var limits = WorkerLimits()
    /// What confines the processes; nil for nothing.
    var confinement: WorkerConfinement?
    /// How long plugins have to describe themselves.
    var patience = PluginDiscovery.Patience()
    /// Seconds that a started process has to say hello.
    var helloTimeout = 10.0
    /// Seconds between SIGTERM and SIGKILL.
    var killDelay = 5.0
    /// Seconds that a process has to begin to print its stacks, before it is killed.
    var stackDelay = 2.0
  }

  let loop: EventLoop
  let starter: ProcessStarter
  let log: Log
  var configuration: Configuration
  weak var delegate: SupervisorDelegate?

  var plugins: [Plugin] = []
  /// Those that the program before this one has found, and this one has not found again yet.
  var adoptedPlugins: Set<String> = []
  /// Why plugins cannot be used or were given up, by name.
  var failures: [String: StartFailure] = [:]
  var policies: [String: RestartPolicy] = [:]
  var workers = WorkerTable()
  /// For each plugin, how many slots stay empty for now, since processes in them have died.
  var delayedStarts: [String: Int] = [:]
  /// Plugins of which no further process can be started for now, for lack of something.
  var shortages: [String: Shortage] = [:]
  var stopping = false
  /// Another program is about to take this one's place: no process is started meanwhile.
  var isHeld = false
  var drainDeadline: TimerQueue.Token?
  /// Processes that died and were replaced.
  var restarts = 0
  var lastNumber = 0
  var discovery: PluginDiscovery?
  /// Those before it, while processes of theirs are left.
  var formerDiscoveries: [PluginDiscovery] = []
  /// Whether any plugin ever described itself.
  var hasHadPlugins = false
  var demandHistory = DemandHistory()
  /// Seconds of silence after which a process has printed its stacks.
  static let stackPause = 0.2
  /// Seconds between two plans while plugins wait for the turn of others to end.
  private static let rebalanceInterval = 0.5
  /// What limits the memory of workers; nil where `RLIMIT_DATA` does.
  var memoryGroups: MemoryGroups?
  var hasToldLackOfMemoryGroup = false
  private var rebalanceTimer: TimerQueue.Token?
  /// Ends processes that dead workers leave behind; `nil` where this process is more than a pool.
  var orphans: OrphanedProcesses? {
    didSet {
      orphans?.knownChildren = { [weak self] in self?.children ?? [] }
      orphans?.starters = { [weak self] in self?.starter.threadIDs ?? [] }
      orphans?.whenGone = { [weak self] in
        self?.memoryGroups?.removeEmpty()
        self?.finishStopIfEmpty()
      }
    }
  }

  init(loop: EventLoop, log: Log, configuration: Configuration) throws(SystemCallError) {
    self.loop = loop
    self.log = log
    self.configuration = configuration
    starter = try ProcessStarter(loop: loop)
    starter.whenBack = { [weak self] in self?.isBack($0) }
  }

  /// The processes that were started here and are not waited for yet.
  private var children: Set<pid_t> {
    ([discovery].compactMap(\.self) + formerDiscoveries).reduce(into: workers.pids.union(starter.ending)) {
      $0.formUnion($1.processes)
    }
  }

  /// A child of this process has died. Children that were started here are observed one by one; the others are only
  /// reaped.
  func childEnded() {
    guard let orphans else { return }
    ForeignZombies.reap(except: children.union(orphans.ending), startedBy: starter.threadIDs)
  }

  /// Starts and drains processes until each plugin has those that the plan gives it.
  func rebalance() {
    guard !stopping, !isHeld, let delegate else { return }
    let demands = delegate.demand()
    // This runs for each job: idle processes are counted by the table, and not visited.
    var busy: [String: Int] = [:]
    for worker in delegate.busyWorkers.lazy.compactMap({ self.workers[$0] }) where workers.holdsSlot(worker) {
      busy[worker.plugin.name, default: 0] += 1
    }
    let states = plugins.filter { failures[$0.name] == nil || workers.stayingCount(of: $0.name) > 0 }
      .map { state(of: $0, demand: demands[$0.name] ?? 0, busy: busy[$0.name] ?? 0) }
    // A process that finishes because there are too many takes no slot from those that stay.
    let total = min(configuration.workers, max(configuration.workers - finishingForLong, workers.stayingCount))
    let plan = SlotPlan.targets(total: total, plugins: states)
    if rebalanceTimer == nil, SlotPlan.changesWithTime(total: configuration.workers, states) {
      rebalanceTimer = loop.timers.after(Self.rebalanceInterval) { [weak self] in
        self?.rebalanceTimer = nil
        self?.rebalance()
      }
    }
    // The plugin that has been without a process for longest gets a free slot first.
    for state in states.sorted(by: { $0.absent > $1.absent }) {
      guard let plugin = plugins.first(where: { $0.name == state.name }) else { continue }
      let target = plan[plugin.name] ?? 0
      let surplus = workers.stayingCount(of: plugin.name) - target
      if surplus > 0 { leave(workers.staying(of: plugin.name), surplus) }
      guard state.canStart else { continue }
      retireOutdated(plugin, target: target)
      fill(plugin, missing: target - workers.stayingCount(of: plugin.name))
      endShortage(of: plugin.name, target: target)
    }
  }

  /// Whether a process of the plugin takes jobs.
  func hasProcessUp(of plugin: String) -> Bool { workers.upCount(of: plugin) > 0 }

  /// Ends processes of a plugin: idle ones first, then those that have not come up yet.
  private func leave(_ workers: [WorkerProcess], _ count: Int) {
    let busy = delegate?.busyWorkers ?? []
    func need(_ worker: WorkerProcess) -> Int {
      busy.contains(worker.id) ? 2 : worker.life.phase == .starting ? 1 : 0
    }
    for worker in workers.sorted(by: { need($0) < need($1) }).prefix(count) { apply(.drain, to: worker) }
  }

  /// A plugin as the plan sees it.
  ///
  /// - Parameter busy: how many of the processes that hold its slots hold jobs.
  private func state(of plugin: Plugin, demand: Int, busy: Int) -> SlotPlan.Plugin {
    let now = Clock.now
    let staying = workers.stayingCount(of: plugin.name)
    let retiring = workers.retiring(of: plugin.name).filter(workers.holdsSlot)
    let current = staying + retiring.count
    let only = current == 1 ? retiring.first ?? workers.staying(of: plugin.name).first : nil
    let age = only?.upSince.map { now - $0 } ?? 0
    let seen = SlotPlan.Plugin(
      name: plugin.name, fixed: configuration.fixedWorkers[plugin.name], demand: demand, busy: busy, current: current,
      age: age, canStart: failures[plugin.name] == nil, isDelayed: isDelayed(plugin.name) && staying == 0)
    return demandHistory.note(seen, now: now)
  }

  /// Processes that have had a turn's time to finish what they have in hand: their slots are not free soon. The slot of
  /// one that was replaced belongs to its successor.
  private var finishingForLong: Int {
    workers.leaving.count { worker in
      configuration.fixedWorkers[worker.plugin.name] == nil && !worker.life.hasGivenSlotAway
        && worker.drainingSince.map { Clock.now - $0 >= SlotPlan.turn } == true
    }
  }

  /// Starts processes for empty slots of a plugin, as many as may be on their way at a time. A slot is empty when the
  /// process that leaves it is gone; a retiring process keeps its slot until its replacement is there. So there are
  /// never more processes than slots in all, except of plugins whose number was set by hand.
  private func fill(_ plugin: Plugin, missing: Int) {
    let neededStarts = missing - (delayedStarts[plugin.name] ?? 0)
    guard neededStarts > 0 else { return }
    let fixed = configuration.fixedWorkers[plugin.name]
    let occupied = workers.occupied { name in
      fixed == nil ? configuration.fixedWorkers[name] == nil : name == plugin.name
    }
    // Plugins that cannot start reserve no slots.
    let reserved = plugins.reduce(0) { sum, plugin in
      sum + (failures[plugin.name] == nil ? configuration.fixedWorkers[plugin.name] ?? 0 : 0)
    }
    let limit = fixed ?? max(0, configuration.workers - reserved)
    let arrived = workers.upCount(of: plugin.name)
    let room = StartPace.room(arriving: workers.stayingCount(of: plugin.name) - arrived, arrived: arrived)
    for _ in 0..<max(0, min(neededStarts, limit - occupied, room)) where shortages[plugin.name]?.isPausing != true {
      start(plugin)
    }
  }
}
