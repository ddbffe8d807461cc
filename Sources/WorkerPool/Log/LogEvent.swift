/// What a line of the log tells: one for each change of state. README lists them.
public enum LogEvent: String, Sendable, CaseIterable {
  case poolStarted = "pool.started"
  case poolStopping = "pool.stopping"
  case poolStopped = "pool.stopped"
  case poolScaled = "pool.scaled"
  case poolPaused = "pool.paused"
  case poolResumed = "pool.resumed"
  case storeWaiting = "store.waiting"
  case storeParted = "store.parted"
  case pluginFound = "plugin.found"
  case pluginFailed = "plugin.failed"
  case pluginGivenUp = "plugin.given-up"
  case pluginsMissing = "plugin.none"
  case workerStarted = "worker.started"
  case workerUp = "worker.up"
  case workerRefused = "worker.refused"
  case workerRetiring = "worker.retiring"
  case workerDraining = "worker.draining"
  case workerTerminated = "worker.terminated"
  case workerHung = "worker.hung"
  case workerKilled = "worker.killed"
  case workerEnded = "worker.ended"
  case workerDied = "worker.died"
  case workerOutput = "worker.output"
  case processStray = "process.stray"
  case clockSet = "clock.set"
  case fileRejected = "file.rejected"
  case queueReplaced = "queue.replaced"
  case jobFailed = "job.failed"
  case jobCrashed = "job.crashed"
  case jobTimedOut = "job.timed-out"
  case jobCancelled = "job.cancelled"
  case jobRetried = "job.retried"
  case jobDeleted = "job.deleted"
  case batchUnknown = "job.batch-unknown"
  case optionUnknown = "option.unknown"
  case linesLeftOut = "log.left-out"
  case trouble = "trouble"
  case note = "note"

  /// How much it matters.
  public enum Level: String, Sendable {
    case info, warning, error
  }

  public var level: Level {
    switch self {
    case .storeParted, .pluginFailed, .pluginGivenUp, .pluginsMissing, .workerHung, .workerDied, .jobCrashed,
      .jobTimedOut, .trouble:
      .error
    case .storeWaiting, .workerRefused, .workerKilled, .workerTerminated, .processStray, .fileRejected, .queueReplaced,
      .clockSet, .jobFailed, .optionUnknown, .batchUnknown,
      .linesLeftOut:
      .warning
    default: .info
    }
  }
}

/// What a line of the log is about, beside its text.
public enum LogField: Equatable, Sendable {
  case pid(Int32)
  case worker(Int)
  case plugin(String)
  /// Object URIs of jobs.
  case jobs([String])
  case path(String)
  case count(Int)

  /// Its name in JSON.
  var name: String {
    switch self {
    case .pid: "pid"
    case .worker: "worker"
    case .plugin: "plugin"
    case .jobs: "jobs"
    case .path: "path"
    case .count: "count"
    }
  }
}

/// One thing that happened, as it is written to the log.
public struct LogRecord: Equatable, Sendable {
  public var event: LogEvent
  /// A sentence for people, without values of objects.
  public var text: String
  public var fields: [LogField] = []
}
