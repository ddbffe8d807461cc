import Glibc
import LinuxSystem
import WorkerProtocol

/// A worker process in one of the supervisor's slots.
final class WorkerProcess {
  /// How many lines of standard error are kept for the obituary.
  static let keptLines = 20

  let id: WorkerID
  let plugin: Plugin
  let startedAt: Double
  /// How far it has come, and whether it was started before plugins were reloaded: ``WorkerTable`` sorts by both.
  private(set) var life: WorkerLife
  private(set) var isOutdated = false
  /// When it said hello, and when it was told to finish; monotonic seconds, as `startedAt`.
  var upSince: Double?
  var drainingSince: Double?
  var hasWorked = false
  /// What was wrong with its last line, if it broke the protocol after its hello.
  var breach: MessageError?
  /// Jobs that it has finished, and the number after which it is replaced.
  var jobsDone = 0
  var jobLimit: Int?
  var memoryCheckedAt = 0.0
  /// The retiring process whose slot it takes over.
  var replaces: WorkerID?
  /// How much of its output is logged.
  var outputAllowance = OutputAllowance()
  var lastLines: [String] = []
  /// What it has written since it was asked for its stacks.
  var stack = StackLines()
  /// When it is killed even if it goes on writing them.
  var stacksEnd = 0.0
  var deadline: TimerQueue.Token?
  /// The process itself, also while it is being started.
  var process: ChildProcess?
  /// What limits its memory; nil for `RLIMIT_DATA`.
  var memoryGroup: MemoryGroup?
  /// The pool's end of the connection, until the process is there.
  var connection: Connection?

  init(id: WorkerID, plugin: Plugin, helloTimeout: Double) {
    self.id = id
    self.plugin = plugin
    life = WorkerLife(helloTimeout: helloTimeout)
    startedAt = Clock.now
  }

  /// Goes on with a process of the program before this one.
  init(_ handed: HandedWorker, _ plugin: Plugin, helloTimeout: Double) {
    id = handed.id
    self.plugin = plugin
    life = WorkerLife(helloTimeout: helloTimeout, handed.state, hasGivenSlotAway: handed.hasGivenSlotAway)
    startedAt = handed.startedAt
    (upSince, drainingSince) = (handed.upSince, handed.drainingSince)
    (hasWorked, jobsDone, jobLimit) = (handed.hasWorked, handed.jobsDone, handed.jobLimit)
    (replaces, isOutdated) = (handed.replaces, handed.isOutdated)
    lastLines = handed.lastLines
    memoryGroup = handed.memoryGroup
  }

  /// What another program needs to go on with the process; nil where it cannot.
  var handed: HandedWorker? {
    guard life.canBeHandedOver, breach == nil, let child = process?.handed else { return nil }
    return HandedWorker(
      id: id, plugin: plugin.name, child: child, state: life.state, hasGivenSlotAway: life.hasGivenSlotAway,
      startedAt: startedAt, upSince: upSince, drainingSince: drainingSince, hasWorked: hasWorked, jobsDone: jobsDone,
      jobLimit: jobLimit, replaces: replaces, isOutdated: isOutdated, lastLines: lastLines, memoryGroup: memoryGroup)
  }

  /// Goes on to the next state; returns what the supervisor does about it.
  func handle(_ event: WorkerLife.Event, in table: inout WorkerTable) -> [WorkerLife.Effect] {
    table.change(self) { life.handle(event) }
  }

  /// Its plugin was reloaded.
  func becameOutdated(in table: inout WorkerTable) { table.change(self) { isOutdated = true } }

  var pid: Int32 { process?.pid ?? 0 }

  /// Why it ended. A process that broke the protocol may have exited by itself when its connection was closed.
  var causeOfEnd: Obituary.Cause {
    guard let breach, [.itself, .disconnected].contains(life.cause) else { return life.cause }
    return .brokeProtocol(breach)
  }

  /// Its name in the log: "index[4711]".
  var name: String { "\(plugin.name)[\(pid)]" }
}

/// A worker process, as another program needs it to go on. Times are of the monotonic clock.
struct HandedWorker: Codable, Equatable {
  let id: WorkerID
  let plugin: String
  let child: ChildProcess.Handed
  let state: WorkerLife.State
  let hasGivenSlotAway: Bool
  let startedAt: Double
  let upSince: Double?
  let drainingSince: Double?
  let hasWorked: Bool
  let jobsDone: Int
  let jobLimit: Int?
  let replaces: WorkerID?
  let isOutdated: Bool
  let lastLines: [String]
  let memoryGroup: MemoryGroup?
}

/// The number by which the parts of the pool identify a worker process; never used twice.
struct WorkerID: Codable, Hashable, Sendable, CustomStringConvertible {
  let number: Int
  var description: String { "\(number)" }
}
