import Jobs
import WorkerProtocol

/// What the coordinator wants from the sockets, the store and the supervisor.
enum CoordinatorEffect: Equatable, Sendable {
  case send(CoordinatorMessage, to: WorkerID)
  /// Fetch ready jobs; answer with `fetched` or `fetchFailed`.
  case fetchReady(ReadyQuery)
  /// Give back the jobs of these kinds that the pool has claimed, except those that workers hold.
  case releaseClaims(Set<String>, keeping: [JobKey])
  /// Note for all pools, and for those to come, that these jobs of a kind with a rate begin now.
  case noteBeginnings([JobKey], of: String)
  /// Undo `noteBeginnings` for a job of this kind, which began at that time: its transaction was rolled back.
  case takeBackBeginning(of: JobKey, String, at: Double)
  /// Ask the store to keep this number of further places for jobs of this kind with that rate; `tookPlaces` answers.
  /// None when the kind has just got its rate: what began without a place before is not owed.
  case takePlaces(Int, of: String, JobRate)
  /// Release the dependents of these jobs, which have ended, and check new dependents; answer with `released`.
  case release(after: [JobKey])
  /// Write the settlement into the rows of these jobs; answer with `settled`.
  case settle([JobKey], Settlement)
  /// Write into the job's row that it is cancelled, if it is unfinished; answer with `settled`.
  case cancelStored(JobKey)
  /// Make due jobs available, and find out when the next is due.
  case promoteDueJobs
  /// Kill the worker, since its job has taken too long.
  case killTimedOut(WorkerID)
  /// Replace the worker, since it has begun none of these many jobs for ``Hands/beginTimeout``.
  case replaceHesitant(WorkerID, jobs: Int)
  /// Kill the worker, since it has neither begun its jobs nor given them back after that.
  case killHesitant(WorkerID)
  /// The worker has ended that many jobs.
  case worked(WorkerID, jobs: Int)
  /// The worker was told to finish, and holds no job any more.
  case emptied(WorkerID)
  /// Close the worker's connection, for that reason.
  case dismiss(WorkerID, Refusal)
  /// A worker's save changed these objects of the app's store.
  case saved(SavedChange, [ObjectURI])
  /// The demand, or what workers hold, has changed.
  case demandChanged
}

/// The end of an attempt that the pool writes: its worker can no longer do so, or leaves it to the pool.
enum Settlement: Equatable, Sendable {
  /// Its worker died.
  case crashed(Obituary)
  /// It took longer than its timeout, and did not stop when asked.
  case timedOut(Obituary, seconds: Double)
  /// It was cancelled, did not stop when asked, and ended with its worker.
  case cancelled
  /// Its worker told the pool how it ended, and the pool writes that.
  case told(ToldEnd)
}

/// What a worker told of the end of an attempt.
struct ToldEnd: Equatable, Sendable {
  let outcome: JobOutcome
  let worker: WorkerID
  /// The worker's process; 0 where it is not known.
  var pid: Int32 = 0
  /// The number of the handing out.
  let run: Int
  /// The number of the attempt. If the row has another one, it has changed since, and this is not written.
  let attempt: Int
  /// When the job began, by the monotonic clock.
  let begunAt: Double
}
