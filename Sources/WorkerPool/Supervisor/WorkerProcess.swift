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
  /// How far it has come.
  var life: WorkerLife
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
  /// It was started before plugins were reloaded.
  var isOutdated = false
  /// Lines of output since a moment, for those that write too many.
  var outputSecond = 0.0
  var outputLines = 0
  var lastLines: [String] = []
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

  var pid: Int32 { process?.pid ?? 0 }

  /// Why it ended. A process that broke the protocol may have exited by itself when its connection was closed.
  var causeOfEnd: Obituary.Cause {
    guard let breach, [.itself, .disconnected].contains(life.cause) else { return life.cause }
    return .brokeProtocol(breach)
  }

  /// Its name in the log: "index[4711]".
  var name: String { "\(plugin.name)[\(pid)]" }
}

/// The number by which the parts of the pool identify a worker process; never used twice.
struct WorkerID: Hashable, Sendable, CustomStringConvertible {
  let number: Int
  var description: String { "\(number)" }
}
