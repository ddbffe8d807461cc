import Jobs
import WorkerProtocol

/// What the coordinator wants done: by a socket, by the store, by the supervisor. It does none of it itself.
enum CoordinatorEffect: Equatable, Sendable {
  case send(CoordinatorMessage, to: WorkerID)
  /// Fetch ready jobs; answer with `fetched` or `fetchFailed`.
  case fetchReady(ReadyQuery)
  /// Look which jobs need not wait any longer, now that these have ended, and at those that are new; answer with `released`.
  case release(after: [JobKey])
  /// Write into these jobs' rows that their worker died or had to be killed; answer with `settled`.
  case settle([JobKey], Settlement)
  /// Write into the job's row that it is cancelled, if it is unfinished.
  case cancelStored(JobKey)
  /// A job was set to run later: look when.
  case lookForDueJobs
  /// Kill the worker, its job has taken too long.
  case killTimedOut(WorkerID)
  /// The worker finished so many jobs.
  case worked(WorkerID, jobs: Int)
  /// The worker's connection is of no more use.
  case dismiss(WorkerID, Refusal)
  /// A worker's save changed these objects of the app's store.
  case saved(SavedChange, [ObjectURI])
  /// Who waits and who works has changed.
  case demandChanged
}

/// What happened to a job that can no longer tell it itself.
enum Settlement: Equatable, Sendable {
  /// Its worker died.
  case crashed(Obituary)
  /// It did not end within its time, nor when asked to stop.
  case timedOut(Obituary, seconds: Double)
  /// It was cancelled, and had to be stopped with its worker.
  case cancelled
}
