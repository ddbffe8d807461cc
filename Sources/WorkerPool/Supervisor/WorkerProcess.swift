import Glibc
import LinuxSystem
import WorkerProtocol

/// The number by which the pool's parts speak of a worker process; never used twice.
struct WorkerID: Hashable, Sendable, CustomStringConvertible {
  let number: Int
  var description: String { "\(number)" }
}

/// How a worker process ended, for those who have to clear up after it.
struct Obituary: Equatable, Sendable {
  /// Who brought it about.
  enum Cause: Equatable, Sendable {
    /// The process itself, or somebody unknown: a job in hand may be the reason.
    case itself
    /// The pool, because it stops or needs fewer processes: no job is to blame.
    case stopped
    /// The pool, because its job took too long.
    case timedOut
    /// The pool, because it closed its connection, or broke the protocol, and stayed.
    case disconnected
    /// The pool, because it did not answer for so many seconds.
    case hung(seconds: Double)
    /// The pool, because it had been started so many seconds ago and had not said hello.
    case silent(seconds: Double)
  }

  var pid: Int32
  var death: Death
  var cause: Cause
  /// The last lines of its standard error.
  var lastLines: [String]

  /// What happened, as the rest of a sentence.
  var reason: String {
    switch cause {
    case .itself: death.description
    case .stopped where death == .signalled(SIGKILL): "was killed, since it did not stop when told to"
    case .stopped: death.description
    case .timedOut: "was killed because its job took too long"
    case .disconnected where death == .signalled(SIGKILL):
      "was killed because it had closed its connection or broken the protocol"
    case .disconnected: death.description
    case .hung(let seconds): "was killed because it had not answered for \(Int(seconds)) seconds"
    case .silent(let seconds): "was killed because it had not said hello within \(seconds) seconds"
    }
  }
}

/// A worker process in one of the supervisor's slots.
final class WorkerProcess {
  /// How far it has come.
  enum Phase: String, Equatable, Sendable {
    /// Started, and has not said hello.
    case starting
    /// Takes jobs.
    case up
    /// Takes no more jobs, finishes what it has, and exits.
    case draining
    /// Was told to stop the job in hand.
    case terminating
    /// Was killed, and is about to be reaped.
    case killed
  }

  /// How many lines of standard error are kept for the obituary.
  static let keptLines = 20

  let id: WorkerID
  let plugin: Plugin
  /// What the process must show in its `HELLO`.
  let token: String
  let startedAt: Double
  var phase = Phase.starting
  /// When it said hello, and when it was told to finish; monotonic seconds, as `startedAt`.
  var upSince: Double?
  var drainingSince: Double?
  var cause = Obituary.Cause.itself
  /// Why it never came up, when the coordinator refused it or it stayed silent.
  var startFailure: StartFailure?
  var hasWorked = false
  /// Jobs that it has finished, and with how many it is replaced.
  var jobsDone = 0
  var jobLimit: Int?
  var memoryCheckedAt = 0.0
  /// It goes on working until its replacement is up, and then drains.
  var isRetiring = false
  /// The retiring process whose slot it takes over.
  var replaces: WorkerID?
  /// It was started before plugins were reloaded.
  var isOutdated = false
  /// Lines of output since a moment, for those that write too many.
  var outputSecond = 0.0
  var outputLines = 0
  /// It closed its connection before it was told to exit.
  var isDisconnected = false
  var lastLines: [String] = []
  var deadline: TimerQueue.Token?
  /// The process itself, also while it is being started.
  var process: ChildProcess?

  init(id: WorkerID, plugin: Plugin, token: String) {
    self.id = id
    self.plugin = plugin
    self.token = token
    startedAt = Clock.now
  }

  var pid: Int32 { process?.pid ?? 0 }

  /// Whether it counts for its plugin's slots.
  var isStaying: Bool { (phase == .starting || phase == .up) && !isDisconnected && !isRetiring }
}
