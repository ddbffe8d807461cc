import CoreData
import Jobs
import LinuxSystem
import StoreTools
import WorkerProtocol

/// The coordinator's access to the store. Every function returns at once; the work runs on other queues, and its result
/// comes back as a ``JobSourceEvent``.
protocol JobSource: AnyObject, Sendable {
  /// Gives back the jobs of these kinds that this pool has claimed in a shared store, except those that workers hold.
  func releaseClaims(_ kinds: Set<String>, keeping kept: [JobKey])
  /// Jobs of a kind with a rate begin now in this pool.
  func noteBeginnings(_ jobs: [JobKey], of kind: String)
  /// Undoes `noteBeginnings` for a job that has left no effect, since its transaction with other jobs was rolled back:
  /// it no longer counts for its kind's rate.
  ///
  /// - Parameter time: when it began, by the monotonic clock.
  func takeBackBeginning(of job: JobKey, _ kind: String, at time: Double)
  /// Writes into the store that this pool takes `count` further places of a kind's rate; `tookPlaces` answers. Used
  /// where no other pool uses the store. With a count of 0 the kind has just got its rate, and owes no places.
  func takePlaces(_ count: Int, of kind: String, _ rate: JobRate)
  /// Tells other pools that share the store something.
  func send(_ notice: PoolNotice, to recipients: [Int64])
  /// Begins to report; the first event is `started`.
  func start(reporting report: @escaping @Sendable (JobSourceEvent) -> Void)
  /// The kinds of the plugins, with the defaults of their jobs.
  ///
  /// - Parameter areAll: whether each plugin has described itself, or failed to. Before that nothing is decided by the
  ///   defaults of kinds that are not known.
  func setKinds(_ kinds: [PluginDescription.Kind], areAll: Bool)
  func fetchReady(_ query: ReadyQuery)
  /// Releases the dependents of jobs that have ended, and checks pending ones; answered with `released`.
  func release(after ended: [JobKey])
  func settle(_ jobs: [JobKey], _ settlement: Settlement)
  /// Writes the sheets of jobs that a worker is about to get, each with the number of its handing out; answered with
  /// `wroteSheets`.
  func writeSheets(_ jobs: [JobKey: Int], for worker: WorkerID)
  /// Removes the sheets of jobs that have left their worker's hand.
  func removeSheets(_ jobs: [JobKey])
  /// Makes due jobs available; answered with `promoted`.
  func promoteDueJobs()
  func cancel(_ jobs: [JobKey], ticket: Int?)
  func retry(_ jobs: [JobKey], ticket: Int)
  /// Deletes jobs, of which none may run, if they are in one of the states; answered with `deleted`. Without
  /// `evenIfAwaited` jobs stay that unfinished ones wait for.
  func delete(_ jobs: [JobKey], in states: [JobState], evenIfAwaited: Bool, ticket: Int)
  /// Writes what is paused into the store, for the pools to come; answered with `replied`.
  func savePauses(_ pauses: JobPauses, ticket: Int)
  /// Finds the newest job; answered with `newest`, or not at all when the store cannot be read.
  func findNewestJob()
  /// Submits the jobs of due periodic entries; answered with `periodic`.
  func submitPeriodic()
  /// Deletes finished jobs that are past their retention.
  func prune()
  /// Notes in the store how the pool stood in the last minutes, the oldest first, and what they brought, unless that
  /// was nothing.
  func noteHistory(_ minutes: [HistoryGauges])
  /// Takes the named job files, or scans for all with nil; answered with `took`.
  func takeFiles(_ names: [String]?)
  /// The same on the thread of the caller, which is not the loop's: returns when the files are taken, or at once while
  /// others are being taken, and these after them.
  func takeFilesHere(_ names: [String]?)
  /// Reads the row of a job that may be ready; answered with `ready`.
  func readReady(_ job: JobKey, ticket: Int)
  /// Reads why the last attempts of these jobs failed; answered with `failures`.
  func readFailures(_ jobs: [JobKey])
  /// Submits the jobs of the hooks for an event that is not about one job.
  func tellHooks(_ event: JobHook.Event, _ details: [JSONMember])
  /// Finds the jobs of the submissions with these tokens; answered with `submissions`.
  func findSubmissions(_ tokens: [String])
  /// Finds out which of these names no job has; answered with `foundNames`.
  func findNames(_ asked: [AskedName], ticket: Int)
  /// Counts the jobs for a status, and reads the times of those that ended last; calls back on any thread.
  ///
  /// - Parameter running: jobs that workers have begun.
  func readOverview(at ended: [JobKey], running: [JobKey], completion: @escaping @Sendable (StoreOverview) -> Void)
  /// Copies the write-ahead log into the store, as far as that effort allows; answered with `checkpointed`, and with
  /// `replied` if there is a ticket.
  func checkpoint(_ effort: WALCheckpointer.Effort, ticket: Int?)
  /// Whether work is under way. This and what follows may be called from any thread.
  var isBusy: Bool { get }
  /// Whether there is work, and nobody looks yet for work that takes long: from now on the caller does.
  func beginWatch() -> Bool
  /// Ends that early if there is no work; false if the caller has to go on.
  func cancelWatch() -> Bool
  /// Ends that; while there is work, the seconds until the caller has to look again.
  func endWatch() -> Double?
  /// Whether work takes longer than ``StoreWatch/timeout``; true once for each piece of work.
  func takeDelay() -> Bool
  /// Finishes the work that is under way; `finished` is the last event.
  func finish()
}

/// A source that no other pool uses has nobody to share with, and one in memory no past and no sheets.
extension JobSource {
  func releaseClaims(_ kinds: Set<String>, keeping kept: [JobKey]) {}
  func noteBeginnings(_ jobs: [JobKey], of kind: String) {}
  func takeBackBeginning(of job: JobKey, _ kind: String, at time: Double) {}
  func takePlaces(_ count: Int, of kind: String, _ rate: JobRate) {}
  func send(_ notice: PoolNotice, to recipients: [Int64]) {}
  func writeSheets(_ jobs: [JobKey: Int], for worker: WorkerID) {}
  func removeSheets(_ jobs: [JobKey]) {}
  func tellHooks(_ event: JobHook.Event, _ details: [JSONMember]) {}
}

/// What was found in the store at the start.
struct JobSourceStart: Equatable, Sendable {
  /// The names of the store's jobs.
  var jobURIs = JobURIs(store: "")
  /// What was paused before.
  var pauses = JobPauses()
  /// Jobs that processes of earlier pools still hold.
  var survivorJobs: [InheritedJob] = []
  /// Jobs whose cancellation an earlier pool has confirmed, and not written.
  var cancelled: Set<JobKey> = []
  /// Jobs whose worker died together with its pool, so that no row counts the crash.
  var crashed: [InheritedJob] = []
  /// Jobs that had begun together when that happened.
  var suspects: Set<JobKey> = []
  /// Processes of earlier pools whose jobs are not known.
  var unlisted: Set<ProcessIdentity> = []
  /// The ledger of this pool.
  var ledger: JobLedger?
  /// Messages for the log about what could not be read.
  var messages: [String] = []
  /// The files of the store, if it has any.
  var files: StoreFiles?
  /// Whether pools of other hosts may use the store, too.
  var isShared = false
}

/// What a checkpoint found.
enum WALState: Equatable, Sendable {
  /// Nothing was written since the checkpoint before, and nobody holds any of the log.
  case quiet
  /// Processes have written to the log since the checkpoint before.
  case written
  /// Readers or writers held some of the log: another checkpoint is needed.
  case held
}

/// The result of a request to the store, or something that happened there.
enum JobSourceEvent: Equatable, Sendable {
  /// Ready; with what was found.
  case started(JobSourceStart)
  /// Ready jobs, whether these are all, and how many seconds the store took.
  case fetched(ReadyQuery, [WindowJob], isComplete: Bool, seconds: Double)
  case fetchFailed(ReadyQuery, reason: String)
  /// Dependents that may run now, and whether others remain. With a reason not all were checked.
  case released([WindowJob], remain: Bool, reason: String?)
  /// New jobs of periodic entries, the seconds until the next, and the kinds of the entries by their names.
  case periodic([WindowJob], next: Double?, messages: [String], kinds: [String: String] = [:])
  case settled([JobKey])
  /// The store cannot be written: the rows of these jobs do not say yet how their attempts ended.
  case settlementFailed([JobKey], Settlement, reason: String)
  /// The answer to `writeSheets`: the worker may get its jobs, except those that do not run any more, and those that
  /// have failed because they cannot be described. With a reason none of them has a sheet.
  case wroteSheets(for: WorkerID, ended: [JobKey], failed: [JobKey], reason: String?)
  /// These jobs were cancelled in the store. None of them ran.
  case cancelled([JobKey])
  /// Some of the jobs are deleted; `awaited` stay because others wait for them, and `elsewhere` because other pools run
  /// them. With a reason not all could be read.
  case deleted(
    ticket: Int, asked: [JobKey], deleted: [JobKey], awaited: Int, elsewhere: Int = 0, reason: String?)
  /// Jobs that became available, whether there are more, and the seconds until the next is due.
  case promoted([WindowJob], areMore: Bool, next: Double?)
  /// Job files were taken: how many jobs are new, their keys if they follow each other, those that may run now, whether
  /// there are dependents, and how many files are postponed to the next scan.
  case took(
    jobs: Int, keys: ClosedRange<JobKey>? = nil, ready: [WindowJob], someWait: Bool, postponed: Int,
    messages: [LogRecord])
  /// Other directories have taken the place of these, or the pool has made them again.
  case replaced([QueuePart])
  case replied(ticket: Int, count: Int, error: String?)
  /// The answer to `findSubmissions`: those that the store has.
  case submissions([String: SubmittedJobs])
  /// The answer to `findNames`: those that are not known.
  case foundNames(ticket: Int, unknown: [UnknownName])
  /// The answer to `readReady`: what the coordinator needs to know of the job; nil for one that is not available.
  case ready(ticket: Int, WindowJob?)
  /// The answer to `readFailures`: those that could be read.
  case failures([JobKey: FailureSummary])
  /// A WAL checkpoint has ended.
  case checkpointed(WALState)
  /// The answer to `readOverview`.
  case overview(ticket: Int, StoreOverview)
  /// The store keeps this number of further places for jobs of a kind with a rate. `retryAfter` is the number of
  /// seconds until it has places again; nil if it still has some.
  case tookPlaces(of: String, Int, retryAfter: Double?)
  /// The key of the newest job; 0 without any.
  case newest(Int64)
  /// In a store that pools share: jobs have come, or others may run now.
  case jobsCame
  /// This pool does from now on what one pool does for all.
  case leads
  /// The server has ended this pool's session: other pools may run its jobs.
  case cutOff(String)
  /// What is paused in the store, which any pool may have changed.
  case pauses(JobPauses)
  /// A limit or a rate keeps jobs of this kind from being claimed.
  case heldBack(String)
  /// A limit or a rate that kept jobs of this kind from being claimed may have room.
  case roomMayBe(String)
  /// The other pools that share the store.
  case members([PoolMember], ownIdentity: Int64)
  /// What other pools have told this one.
  case notices([PoolNotice])
  /// A notice is in the store, or could not be written.
  case sent
  /// A record for the log.
  case logged(LogRecord)
  /// A failure for the log.
  case trouble(String)
  case finished
}
