import Glibc

/// All worker processes of a pool: those that are being started, those that work, and those that have not ended yet.
struct WorkerTable {
  private var workers: [WorkerID: WorkerProcess] = [:]

  var isEmpty: Bool { workers.isEmpty }
  var count: Int { workers.count }
  /// In no order.
  var values: some Collection<WorkerProcess> { workers.values }

  subscript(id: WorkerID) -> WorkerProcess? {
    get { workers[id] }
    set { workers[id] = newValue }
  }

  // MARK: Slots

  /// Processes of a plugin that count for its slots.
  func staying(of plugin: String) -> [WorkerProcess] {
    workers.values.filter { $0.plugin.name == plugin && $0.life.isStaying }
  }

  func stayingCount(of plugin: String) -> Int { workers.values.count { $0.plugin.name == plugin && $0.life.isStaying } }

  /// Processes of a plugin that go on working until their successors are up.
  func retiring(of plugin: String) -> [WorkerProcess] {
    workers.values.filter { $0.plugin.name == plugin && $0.life.state == .retiring }
  }

  /// The process that takes over a retiring one's slot.
  func successor(of worker: WorkerProcess) -> WorkerProcess? {
    workers.values.first { $0.replaces == worker.id && $0.life.isStaying }
  }

  /// How many processes occupy a slot, of those that satisfy a condition. One that has given its slot away occupies
  /// none.
  func occupied(where isCounted: (WorkerProcess) -> Bool) -> Int {
    workers.values.count { !$0.life.hasGivenSlotAway && isCounted($0) }
  }

  /// How many processes are in one of these states.
  func count(in states: Set<WorkerLife.State>) -> Int { workers.values.count { states.contains($0.life.state) } }

  // MARK: Processes

  /// The IDs of the processes; 0 for one that is not there yet.
  var pids: Set<pid_t> { Set(workers.values.map(\.pid)) }
}
