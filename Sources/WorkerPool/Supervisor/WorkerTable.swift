import Glibc

/// All worker processes of a pool: those that are being started, those that work, and those that have not ended yet.
///
/// They are sorted by plugin and state: the supervisor counts processes for each job, and must not visit each idle one
/// for that. ``WorkerProcess`` changes what it is sorted by through ``change(_:_:)`` only.
struct WorkerTable {
  /// What the processes of a plugin are sorted by.
  private struct Standing: Hashable {
    let state: WorkerLife.State
    let isOutdated: Bool

    init(_ worker: WorkerProcess) { (state, isOutdated) = (worker.life.state, worker.isOutdated) }
  }

  private typealias Sorted = [Standing: [WorkerID: WorkerProcess]]

  private var workers: [WorkerID: WorkerProcess] = [:]
  /// By the names of the plugins; nothing in it is empty.
  private var sorted: [String: Sorted] = [:]

  var isEmpty: Bool { workers.isEmpty }
  var count: Int { workers.count }
  /// In no order.
  var values: some Collection<WorkerProcess> { workers.values }

  subscript(id: WorkerID) -> WorkerProcess? { workers[id] }

  // MARK: Changes

  mutating func add(_ worker: WorkerProcess) {
    workers[worker.id] = worker
    insert(worker)
  }

  mutating func remove(_ worker: WorkerProcess) {
    guard workers.removeValue(forKey: worker.id) != nil else { return }
    takeOut(worker, Standing(worker))
  }

  /// Lets a process change. One that is not in the table may change, too.
  mutating func change<Value>(_ worker: WorkerProcess, _ change: () -> Value) -> Value {
    let before = Standing(worker)
    let result = change()
    if Standing(worker) != before, workers[worker.id] === worker {
      takeOut(worker, before)
      insert(worker)
    }
    return result
  }

  private mutating func insert(_ worker: WorkerProcess) {
    sorted[worker.plugin.name, default: [:]][Standing(worker), default: [:]][worker.id] = worker
  }

  private mutating func takeOut(_ worker: WorkerProcess, _ standing: Standing) {
    let plugin = worker.plugin.name
    sorted[plugin]?[standing]?[worker.id] = nil
    if sorted[plugin]?[standing]?.isEmpty == true { sorted[plugin]?[standing] = nil }
    if sorted[plugin]?.isEmpty == true { sorted[plugin] = nil }
  }

  private func processes(of plugin: String, where isWanted: (Standing) -> Bool) -> [WorkerProcess] {
    (sorted[plugin] ?? [:]).flatMap { isWanted($0.key) ? Array($0.value.values) : [] }
  }

  private func count(_ sorted: Sorted?, where isCounted: (Standing) -> Bool) -> Int {
    (sorted ?? [:]).reduce(0) { $0 + (isCounted($1.key) ? $1.value.count : 0) }
  }

  // MARK: Slots

  /// Processes of a plugin that count for its slots.
  func staying(of plugin: String) -> [WorkerProcess] { processes(of: plugin) { $0.state.isStaying } }

  /// How many processes count for the slots of a plugin, and of all plugins.
  func stayingCount(of plugin: String) -> Int { count(sorted[plugin]) { $0.state.isStaying } }
  var stayingCount: Int { sorted.values.reduce(0) { $0 + count($1) { $0.state.isStaying } } }

  /// How many processes of a plugin take jobs and stay.
  func upCount(of plugin: String) -> Int { count(sorted[plugin]) { $0.state == .up } }

  /// Whether the plugin has processes that have to be replaced.
  func mustReplace(of plugin: String) -> Bool {
    sorted[plugin]?.keys.contains { $0.state == .retiring || $0.isOutdated && $0.state.isStaying } ?? false
  }

  /// Processes of a plugin that go on working until their successors are up.
  func retiring(of plugin: String) -> [WorkerProcess] { processes(of: plugin) { $0.state == .retiring } }

  /// The process that takes over a retiring one's slot.
  func successor(of worker: WorkerProcess) -> WorkerProcess? {
    staying(of: worker.plugin.name).first { $0.replaces == worker.id }
  }

  /// Whether the process has its slot still: a retiring one holds it until its successor has it.
  func holdsSlot(_ worker: WorkerProcess) -> Bool {
    worker.life.isStaying || worker.life.state == .retiring && successor(of: worker) == nil
  }

  /// Processes of all plugins that do not count for a slot any more.
  var leaving: [WorkerProcess] { sorted.keys.flatMap(leaving(of:)) }

  private func leaving(of plugin: String) -> [WorkerProcess] { processes(of: plugin) { !$0.state.isStaying } }

  /// How many processes of such plugins occupy a slot. One that has given its slot away occupies none.
  func occupied(where isCounted: (_ plugin: String) -> Bool) -> Int {
    sorted.keys.filter(isCounted).reduce(0) { sum, plugin in
      sum + stayingCount(of: plugin) + leaving(of: plugin).count { !$0.life.hasGivenSlotAway }
    }
  }

  // MARK: Processes

  /// How many programs are being executed of which no process is there yet.
  var spawningCount: Int { sorted.values.reduce(0) { $0 + count($1) { $0.state == .spawning } } }

  /// The IDs of the processes; 0 for one that is not there yet.
  var pids: Set<pid_t> { Set(workers.values.map(\.pid)) }
}
