import Jobs
import LinuxSystem

/// What the parts of a running pool share: the loop that all of them run on, the log, the store, and the coordinator.
///
/// It knows none of the parts, so each of them may hold it. Everything here is used on the loop's thread only.
final class PoolCore {
  /// How far the pool has come.
  enum Phase: Comparable {
    case running
    /// No more files are taken, and workers finish what they have begun.
    case stopping
    /// All workers are gone, and the store brings its last work to an end.
    case finishing
  }

  /// Seconds after which something that failed is tried again.
  static let retryDelay = 1.0

  let configuration: PoolConfiguration
  let loop: EventLoop
  let log: Log
  let source: any JobSource
  /// Decides which worker gets which job. Its effects are carried out at the end of the turn.
  var coordinator = Coordinator()
  /// Jobs that are being deleted: none of them may begin.
  var withheld: Set<JobKey> = []
  var phase = Phase.running
  var ending = PoolEnding.stopped
  /// Ends the pool; workers have this many seconds for the jobs in hand. `PoolServer` sets it.
  var stop: (_ deadline: Double) -> Void = { _ in }

  init(_ configuration: PoolConfiguration, loop: EventLoop, log: Log, source: any JobSource) {
    self.configuration = configuration
    self.loop = loop
    self.log = log
    self.source = source
    coordinator.weights = QueueWeights(configuration.queueWeights)
    coordinator.groups = GroupLimits(queues: configuration.allQueueLimits)
    coordinator.hands.beginTimeout = configuration.beginTimeout
  }

  var isStopping: Bool { phase >= .stopping }
  var isFinishing: Bool { phase == .finishing }

  /// Ends the pool because of a failure that a person must mend.
  func fail(_ ending: PoolEnding) {
    self.ending = ending
    stop(0)
  }

  /// Ends the pool because a person or a program wants it, also one that was cut off and was about to begin again.
  func stopAsTold(_ deadline: Double) {
    if ending == .cutOff { ending = .stopped }
    stop(deadline)
  }

  /// Hands the coordinator jobs that may run now, without those that are being deleted.
  func becameReady(_ jobs: [WindowJob]) { coordinator.becameReady(notWithheld(jobs)) }

  func notWithheld(_ jobs: [WindowJob]) -> [WindowJob] {
    withheld.isEmpty ? jobs : jobs.filter { !withheld.contains($0.key) }
  }

  /// The store may have jobs that no event announced: new ones, and new dependents.
  func refetchJobs() {
    coordinator.refetchAll()
    coordinator.checkDependents()
  }
}

/// How a pool ended; the raw value is the exit code of its process.
enum PoolEnding: Int32 {
  case stopped = 0
  /// Something failed; the log says what.
  case failed = 1
  /// None of the plugins can be started.
  case nothingCanBeStarted = 4
  /// The store was replaced, renamed or deleted.
  case storeParted = 6
  /// The store cannot be used as it is: it is of another model, or may not be written.
  case storeIsUnfit = 7
  /// The server has ended the pool's session. `Pool.run` begins again as a new pool, so no process has this exit code.
  case cutOff = 8
}
