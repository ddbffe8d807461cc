import CoreData
import Jobs
import LinuxSystem
import WorkerProtocol

/// The coordinator's way to the store. Every function returns at once; the work is done elsewhere and comes back as a
/// ``JobSourceEvent``.
protocol JobSource: AnyObject, Sendable {
  /// Begins to report, first what was paused and which jobs workers of an earlier pool still run.
  func start(reporting report: @escaping @Sendable (JobSourceEvent) -> Void)
  /// What the plugins say of their kinds: the defaults of their jobs.
  func setKinds(_ kinds: [PluginDescription.Kind])
  func fetchReady(_ query: ReadyQuery)
  /// Looks which jobs need not wait for others any longer, now that these have ended, and at those that nobody has looked at.
  func release(after ended: [JobKey])
  func settle(_ jobs: [JobKey], _ settlement: Settlement)
  /// Makes jobs available whose time has come.
  func promoteDueJobs()
  func cancel(_ jobs: [JobKey], ticket: Int?)
  func retry(_ jobs: [JobKey], ticket: Int)
  /// Deletes jobs of which none runs, if they are in one of the states; answered with `deleted`. Without `evenIfAwaited` those stay
  /// for which unfinished ones wait.
  func delete(_ jobs: [JobKey], in states: [JobState], evenIfAwaited: Bool, ticket: Int)
  /// Writes what is paused into the store, for the pools to come; answered with `replied`.
  func savePauses(_ pauses: JobPauses, ticket: Int)
  /// Looks which job came last; answered with `newest`, or not at all when the store cannot be read.
  func findNewestJob()
  /// Submits the jobs of periodic entries whose time has come.
  func submitPeriodic()
  /// Deletes finished jobs that need not be kept any longer.
  func prune()
  /// Takes job files that were announced, or with `nil` all that wait.
  func takeFiles(_ names: [String]?)
  /// Looks which jobs came of the submissions with these tokens; answered with `submissions`.
  func findSubmissions(_ tokens: [String])
  /// Looks which queues and batches there are with these names or near them; answered with `foundNames`.
  func findNames(queue: String?, batch: String?, kinds: [String], ticket: Int)
  /// Works out what the store tells those who look, with the times of jobs that ended; calls back on any thread.
  ///
  /// - Parameter running: jobs that workers have begun.
  func look(at ended: [JobKey], running: [JobKey], completion: @escaping @Sendable (StoreOverview) -> Void)
  /// Brings the log into the store, as far as that effort allows; answered with `checkpointed`, and `replied` if there is a ticket.
  func checkpoint(_ effort: WALCheckpointer.Effort, ticket: Int?)
  /// Whether something that was asked for is not done. May be asked from any thread, as the next.
  var isBusy: Bool { get }
  /// Whether something takes longer than ``StoreWatch/patience`` of which this has not told before.
  func takeDelay() -> Bool
  /// Finishes what is under way; `finished` is the last event.
  func finish()
}

/// What was found in the store at the start.
struct JobSourceStart: Equatable, Sendable {
  /// The names of the store's jobs.
  var jobURIs = JobURIs(store: "")
  /// What was paused before.
  var pauses = JobPauses()
  /// Jobs that processes of earlier pools still hold.
  var elsewhere: [JobSourceClaim] = []
  /// Jobs whose worker died together with its pool, so that nobody has counted it.
  var crashed: [JobSourceClaim] = []
  /// Jobs that had begun together when that happened.
  var suspects: Set<JobKey> = []
  /// Processes of earlier pools of which it is not known what they run.
  var strangers: Set<ProcessIdentity> = []
  /// Where it is noted who holds what.
  var ledger: JobLedger?
  /// What could not be found out.
  var messages: [String] = []
  /// The files of the store, if it has any.
  var files: StoreFiles?
}

/// What came of a request to the store, or happened there.
enum JobSourceEvent: Equatable, Sendable {
  /// Ready; with what was found.
  case started(JobSourceStart)
  /// Ready jobs, whether these are all, and how many seconds the store took.
  case fetched(ReadyQuery, [WindowJob], isComplete: Bool, seconds: Double)
  case fetchFailed(ReadyQuery, reason: String)
  /// These jobs need not wait for others any longer, and whether some still do. With a reason it was not all looked at.
  case released([WindowJob], remain: Bool, reason: String?)
  /// Periodic entries: jobs that are new, and in how many seconds the next will be.
  case periodic([WindowJob], next: Double?, messages: [String])
  case settled([JobKey], reason: String?)
  /// These jobs were cancelled in the store, of which no worker ran one.
  case cancelled([JobKey])
  /// Of these jobs some are deleted, so many stay because others wait for them; with a reason not all could be looked at.
  case deleted(ticket: Int, asked: [JobKey], deleted: [JobKey], awaited: Int, reason: String?)
  /// Jobs that became available, whether there are more than these, and in how many seconds the next will.
  case promoted([WindowJob], areMore: Bool, next: Double?)
  /// Job files were taken: so many jobs are new, these of them may run now, whether some wait for others, and so many files must be
  /// looked at again.
  case took(jobs: Int, ready: [WindowJob], someWait: Bool, postponed: Int, messages: [LogRecord])
  /// Others have put directories in the place of these, or the pool has made them again.
  case replaced([QueuePart])
  case replied(ticket: Int, count: Int, error: String?)
  /// The answer to `findSubmissions`: those that the store has.
  case submissions([String: SubmittedJobs])
  case foundNames(ticket: Int, KnownNames)
  /// A checkpoint has ended; unless it is done, readers or writers kept some of the log, which needs another one.
  case checkpointed(isDone: Bool)
  /// The answer to `look`.
  case looked(ticket: Int, StoreOverview)
  /// The key of the job that came last, 0 without any.
  case newest(Int64)
  /// Something that people may want to know.
  case logged(LogRecord)
  /// Something else went wrong, which a person should know.
  case trouble(String)
  /// Something happened that the log tells.
  case said(LogRecord)
  case finished
}
