import Glibc
import WorkerProtocol

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

  /// The worker that owns this token, if the process at the other end of the socket is really it.
  func worker(token: String, peer: PeerCredentials) -> WorkerProcess? {
    guard peer.userID == geteuid(), let worker = workers.values.first(where: { $0.token == token }),
      worker.process?.owns(pid: peer.pid) == true
    else { return nil }
    return worker
  }

  /// Whether the worker that owns this token has no process yet, as far as is known: a peer with the token may be that
  /// process.
  func isStarting(token: String) -> Bool {
    workers.values.contains { $0.token == token && $0.process?.isStarting == true }
  }

  /// The worker whose process this is, without regard to its hello.
  func worker(pid: Int32) -> WorkerProcess? {
    workers.values.first { $0.process?.owns(pid: pid) == true }
  }
}
