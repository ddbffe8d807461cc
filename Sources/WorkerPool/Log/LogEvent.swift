/// What a line of the log tells: one for each change of state. The page on operating lists them.
public enum LogEvent: String, Sendable, CaseIterable {
  /// The pool takes jobs.
  case poolStarted = "pool.started"
  /// The pool lets its workers finish.
  case poolStopping = "pool.stopping"
  /// The pool is about to exit.
  case poolStopped = "pool.stopped"
  /// A person or a program changed the number of worker processes.
  case poolScaled = "pool.scaled"
  /// A person or a program paused the pool, a queue or a kind.
  case poolPaused = "pool.paused"
  /// A person or a program took a pause back.
  case poolResumed = "pool.resumed"
  /// The server has ended the pool's session; the pool begins again as a new one.
  case poolCutOff = "pool.cut-off"
  /// A pool of another host that shares the store is gone.
  case hostGone = "host.gone"
  /// The store is not open yet or does not answer, or a job waits for it.
  case storeWaiting = "store.waiting"
  /// The store is migrated to a newer model.
  case storeMigrated = "store.migrated"
  /// The store's path does not lead to the open file any more; the pool ends.
  case storeParted = "store.parted"
  /// An executable that can be used.
  case pluginFound = "plugin.found"
  /// An executable that cannot be used, or a process of it that did not start.
  case pluginFailed = "plugin.failed"
  /// A plugin that failed to start too often.
  case pluginGivenUp = "plugin.given-up"
  /// There is no plugin at all.
  case pluginsMissing = "plugin.none"
  /// A process was started.
  case workerStarted = "worker.started"
  /// A process said a valid hello.
  case workerUp = "worker.up"
  /// A process broke the protocol, or its hello was not valid.
  case workerRefused = "worker.refused"
  /// A process will be replaced; its successor starts first.
  case workerRetiring = "worker.retiring"
  /// The pool told a process to finish what it has begun, and to exit.
  case workerDraining = "worker.draining"
  /// A process got SIGTERM, since it took too long to finish.
  case workerTerminated = "worker.terminated"
  /// A process holds a job and does not answer.
  case workerHung = "worker.hung"
  /// A process got SIGKILL.
  case workerKilled = "worker.killed"
  /// A process ended as it was told to.
  case workerEnded = "worker.ended"
  /// A process ended by itself, or had to be killed.
  case workerDied = "worker.died"
  /// A line that a process wrote.
  case workerOutput = "worker.output"
  /// A process that a dead worker, or an earlier pool, has left behind.
  case processStray = "process.stray"
  /// The system's clock was set, or a periodic entry had run while it was ahead.
  case clockSet = "clock.set"
  /// A bad job file.
  case fileRejected = "file.rejected"
  /// Another directory has taken the place of one in the queue directory.
  case queueReplaced = "queue.replaced"
  /// A file of `run/` was removed from outside, and the pool has made it again.
  case runRestored = "run.restored"
  /// An attempt ended in an error.
  case jobFailed = "job.failed"
  /// The worker of a job died.
  case jobCrashed = "job.crashed"
  /// The worker of a job was killed, because the job did not stop when its time was over.
  case jobTimedOut = "job.timed-out"
  /// A person or a program cancelled a job.
  case jobCancelled = "job.cancelled"
  /// A person or a program retried a job.
  case jobRetried = "job.retried"
  /// A person or a program deleted a job.
  case jobDeleted = "job.deleted"
  /// A job asked to run after a batch that has no job.
  case batchUnknown = "job.batch-unknown"
  /// An option of `run` names a kind that no plugin runs.
  case optionUnknown = "option.unknown"
  /// Lines of the log had no room, because its reader did not read them.
  case linesLeftOut = "log.left-out"
  /// Something could not be done.
  case trouble = "trouble"
  /// Anything else.
  case note = "note"

  /// How much it matters.
  public enum Level: String, Sendable {
    /// Everything is as it should be.
    case info
    /// Worth knowing: no work is lost.
    case warning
    /// A person should find the cause.
    case error
  }

  /// How much the event matters.
  public var level: Level {
    switch self {
    case .storeParted, .pluginFailed, .pluginGivenUp, .pluginsMissing, .workerHung, .workerDied, .jobCrashed,
      .jobTimedOut, .trouble:
      .error
    case .poolCutOff, .hostGone, .storeWaiting, .workerRefused, .workerKilled, .workerTerminated, .processStray,
      .fileRejected, .queueReplaced,
      .runRestored, .clockSet, .jobFailed, .optionUnknown,
      .batchUnknown, .linesLeftOut:
      .warning
    default: .info
    }
  }
}

/// What a line of the log is about, beside its text.
public enum LogField: Equatable, Sendable {
  /// A process ID.
  case pid(Int32)
  /// The number of a worker.
  case worker(Int)
  /// The name of a plugin.
  case plugin(String)
  /// Object URIs of jobs.
  case jobs([String])
  /// A path.
  case path(String)
  /// A number of things.
  case count(Int)
  /// Why an attempt failed, without values of objects.
  case error(String)
  /// The ID of the user who asked for something.
  case userID(UInt32)
  /// The name of that user.
  case user(String)
  /// Who was logged in at a web program, as that program says; empty for a person without a name.
  case webUser(String)
  /// The version of workerpool that writes the log.
  case version(String)

  /// Its name in JSON.
  var name: String {
    switch self {
    case .pid: "pid"
    case .worker: "worker"
    case .plugin: "plugin"
    case .jobs: "jobs"
    case .path: "path"
    case .count: "count"
    case .error: "error"
    case .userID: "userID"
    case .user: "user"
    case .webUser: "webUser"
    case .version: "version"
    }
  }
}

/// One thing that happened, as it is written to the log.
public struct LogRecord: Equatable, Sendable {
  /// What happened.
  public var event: LogEvent
  /// A sentence for people, without values of objects.
  public var text: String
  /// What it is about, for programs.
  public var fields: [LogField] = []
}
