import Foundation
import LinuxSystem
import WorkerProtocol

@_exported import CoreData
@_exported import Jobs

/// What a plugin's processes need where the pool confines them: see `Worker.needs`.
public typealias WorkerNeeds = PluginDescription.Needs

/// What a plugin author writes: what to do for one kind of job.
///
/// ```swift
/// import WorkerKit
///
/// @main struct Indexer: Worker {
///   static let kind = "index"
///
///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
///     for document in try job.objects() {
///       try job.checkStop()
///       let text = document.value(forKey: "text") as? String ?? ""
///       document.setValue(text.split(separator: " ").count, forKey: "words")
///     }
///   }
/// }
/// ```
///
/// The executable must be named `worker-NAME` and be in a directory that the pool searches. A plugin for several kinds
/// is a ``WorkerPlugin``. The pool starts as many processes of it as jobs need; each runs one job at a time, so the
/// code needs no locks, and nothing of a job is left for the next one but what static variables hold.
///
/// **Transactions.** What `run` changes in `context` is saved together with the job's success, in one transaction. When
/// it throws, or its process is killed at any point, the store is as if the job had not begun. That is all the
/// protection that work on the store needs: do not call `context.save()` at the end.
///
/// **Neighbours.** Other workers and the app write to the same store meanwhile. A job sees what was on disk when it
/// began; an object that another one has changed since is a conflict when the job is saved. The job then runs again
/// from the start, uncounted, up to five times, after which the attempt has failed. With another `context.mergePolicy`
/// such conflicts are resolved; one in a job's own row, which was cancelled meanwhile or finished by another worker,
/// makes the save fail with any policy. In a SQLite file one writer writes at a time, so keep the saves of a job short.
/// Use ``sharesTransactions`` for very short jobs, and ``PoolJob/mergeChangesOfOthers()`` in a long job that has to see
/// what others do.
///
/// **Checkpoints.** A job of more than a few minutes should save parts with ``PoolJob/save(checkpoint:)``: the next
/// attempt finds the checkpoint and nothing saved is done twice. A short job is simpler without.
///
/// **Retries.** A job that throws is tried again after 15 seconds, then 30, 60 and so on up to a day, 20 attempts in
/// all; one that kills its worker, three times. Then it is dead until a person retries it. Throw ``PermanentFailure``
/// when another attempt cannot help, and ``JobSnoozed`` to wait for something without a failure. Set ``backoff`` and
/// ``maxAttempts`` for a kind whose trouble passes sooner, or never.
///
/// **Cancellation and deadlines.** A cancelled job, one that takes longer than ``timeout``, and one whose pool ends are
/// asked to stop: call ``PoolJob/checkStop()`` for each row or so. A cancelled or late job that does not stop is killed
/// with its process five seconds later. Set a timeout where an attempt may hang, as on a network; leave it nil where
/// only the amount of work decides.
///
/// **Outside the store.** Mail, files and requests to other servers are not part of the transaction: an attempt that
/// fails after them does them again. Make them harmless to repeat: write a file under a name that comes from the job
/// (`job.objectID.uriString`) and replace it in one step, give a server the job's URI as an idempotency key, or save a
/// checkpoint before and after and look at it first.
///
/// A job whose effect must not happen twice marks it before and after with a checkpoint. An attempt that finds the
/// first mark alone cannot know whether the effect happened, and says so:
///
/// ```swift
/// import WorkerKit
///
/// @main struct Mailer: Worker {
///   static let kind = "mail"
///   static let timeout: Double? = 60
///
///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
///     switch job.checkpoint.map({ String(decoding: $0, as: UTF8.self) }) {
///     case "sent": return
///     case "sending": throw PermanentFailure("the mail may have been sent: submit a new job if it was not")
///     default: break
///     }
///     try job.save(checkpoint: Data("sending".utf8))
///     do {
///       try send(to: job.parameters(as: Mail.self).address)
///     } catch let error as Refusal {
///       try job.save(checkpoint: nil)  // not sent, so another attempt may send it
///       throw error
///     }
///     try job.save(checkpoint: Data("sent".utf8))
///   }
///
///   struct Mail: Codable { var address: String }
///
///   struct Refusal: Error {}
///
///   /// Throws a `Refusal` if the server does not take the mail, and another error if it does not answer.
///   private func send(to address: String) throws {}
/// }
/// ```
///
/// A file needs no mark if its name comes from the job's objects and it is written in one step:
///
/// ```swift
/// import WorkerKit
///
/// @main struct Thumbnailer: Worker {
///   static let kind = "thumbnail"
///
///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
///     for photo in try job.objects() {
///       guard let name = photo.objectID.uriRepresentation().pathComponents.last else { continue }
///       let thumbnail = (photo.value(forKey: "pixels") as? Data ?? Data()).prefix(1000)
///       try thumbnail.write(to: URL(fileURLWithPath: "/data/thumbnails/" + name), options: .atomic)
///     }
///   }
/// }
/// ```
///
/// What happens otherwise: work outside the store that is not repeatable is done again after a crash, a conflict or a
/// commit that failed; a job without checkpoints begins anew each time; a job that never asks whether it should stop is
/// killed with its process: it has failed with the type "timeout" if it was late.
public protocol Worker: SendableMetatype {
  /// The kind of job that this type runs: 1 to 100 letters, digits, dots, hyphens and underscores, all ASCII. Producers
  /// name it. Where several plugins offer a kind, any of them may run its jobs.
  ///
  /// ```swift
  /// struct Indexer: Worker {
  ///   static let kind = "index"
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {}
  /// }
  /// ```
  static var kind: String { get }
  /// One line about it, for the plugin's help. Default: none.
  static var summary: String { get }
  /// The plugin's version, for `status`. Default: "1.0". Nothing depends on it.
  static var version: String { get }
  /// Seconds that one attempt may take, where the job itself names none. Default nil: as long as it needs.
  ///
  /// ```swift
  /// struct Fetcher: Worker {
  ///   static let kind = "fetch"
  ///   static let timeout: Double? = 120
  ///
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
  ///     for object in try job.objects() {
  ///       try job.checkStop()  // throws once the two minutes are over
  ///       object.setValue(Date(), forKey: "fetchedAt")
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// After that time the job is asked to stop, and the attempt has failed with the type "timeout" when it does. Five
  /// seconds later the pool kills the worker of a job that does not stop. The time of the commit does not count.
  ///
  /// SQL statements of a job that should stop are interrupted, so a long fetch throws by itself. Time in which the
  /// store cannot be written does not count. Set it for kinds that wait for something outside; without it such a job
  /// holds its worker until a person cancels it.
  static var timeout: Double? { get }
  /// Seconds of processor time that one attempt may use, with the programs that it starts. Default nil: as much as it
  /// needs. `--job-cpu` of the pool replaces it. A job that uses more is not asked to stop: it is killed with its
  /// process, up to half a second later, and the attempt has failed with the type "processor-time".
  ///
  /// ```swift
  /// struct Layout: Worker {
  ///   static let kind = "layout"
  ///   static let processorTime: Double? = 30  // documents that take longer are broken
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {}
  /// }
  /// ```
  static var processorTime: Double? { get }
  /// Attempts that may throw before a job is dead, where the job itself names none. Default nil: 20, as ``RetryPolicy``
  /// says. 1 never tries again. Raise it where trouble may last longer than a week.
  ///
  /// ```swift
  /// struct Sender: Worker {
  ///   static let kind = "send"
  ///   static let maxAttempts: Int? = 5
  ///   static let backoff: Double? = 2  // waits of about 2, 4, 8 and 16 seconds
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {}
  /// }
  /// ```
  ///
  /// Attempts that ended because the pool ended, snoozed, or ran again after a conflict do not count. A dead job stays
  /// in the store until a person retries it or `maintain` deletes it.
  static var maxAttempts: Int? { get }
  /// How many workers a job may kill before it is dead. Default nil: 3, as ``RetryPolicy`` says. 1 suits jobs whose
  /// crash costs much, such as those that use up the machine's memory.
  ///
  /// ```swift
  /// struct Renderer: Worker {
  ///   static let kind = "render"
  ///   static let maxCrashes: Int? = 1  // a crash means that memory ran out: do not try again
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {}
  /// }
  /// ```
  static var maxCrashes: Int? { get }
  /// The wait after the first failure, in seconds, where the job itself names none; it doubles with each further one,
  /// and each is up to a fifth shorter or longer. Default nil: 15, as ``RetryPolicy`` says. Lower it where a retry
  /// costs nothing and trouble passes in seconds.
  static var backoff: Double? { get }
  /// The wait grows up to this, in seconds, where the job itself names none. Default nil: 86,400, one day, as
  /// ``RetryPolicy`` says. Lower it for jobs that must not come hours after the trouble is over.
  ///
  /// ```swift
  /// struct Poller: Worker {
  ///   static let kind = "poll"
  ///   static let backoff: Double? = 1
  ///   static let maxBackoff: Double? = 60  // waits of about 1, 2, 4 … 32, 60, 60 seconds
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {}
  /// }
  /// ```
  static var maxBackoff: Double? { get }
  /// How many jobs with the same limit key may run at a time, where the job itself does not say. Default nil: 1. A
  /// limit key is a name such as that of a customer, which a producer puts into ``JobRequest/limitKey``: it keeps one
  /// customer's jobs from taking all workers. Jobs without a key are not limited by it.
  ///
  /// ```swift
  /// struct Export: Worker {
  ///   static let kind = "export"
  ///   static let limitPerKey: Int? = 2  // two exports of one customer at a time
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {}
  /// }
  /// var request = JobRequest(kind: Export.kind)
  /// request.limitKey = "customer 17"
  /// ```
  static var limitPerKey: Int? { get }
  /// How many jobs of this kind may begin in a period, in seconds. Default nil: any number. Use it for a service that
  /// refuses more: `(jobs: 10, period: 60)`. It holds over all pools that share a store; `--rate` of the pool
  /// replaces it.
  ///
  /// ```swift
  /// struct Geocoder: Worker {
  ///   static let kind = "geocode"
  ///   static let rate: (jobs: Int, period: Double)? = (jobs: 10, period: 60)
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {}
  /// }
  /// ```
  static var rate: (jobs: Int, period: Double)? { get }
  /// How many jobs of this kind may run at a time in the whole pool. Default nil: as many as there are workers. Use it
  /// for work that needs something scarce, such as memory. `--limit` of the pool replaces it.
  ///
  /// ```swift
  /// struct Transcoder: Worker {
  ///   static let kind = "transcode"
  ///   static let limit: Int? = 1  // it uses all processors by itself
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {}
  /// }
  /// ```
  static var limit: Int? { get }
  /// Whether several short jobs may be saved in one transaction, which is much quicker for jobs of less than a
  /// millisecond. Default `false`: each job begins, ends and fails for itself.
  ///
  /// ```swift
  /// struct Counter: Worker {
  ///   static let kind = "count"
  ///   static let sharesTransactions = true  // its only effect is one row
  ///
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
  ///     for author in try job.objects() {
  ///       author.setValue((author.value(forKey: "visits") as? Int ?? 0) + 1, forKey: "visits")
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// Say `true` only for jobs whose effects are all in the store, and only where every kind of the plugin says it. Jobs
  /// that share a transaction share a context and their fate:
  ///
  /// - when one of them throws, or another process has changed what it read, the others are run again, each for itself.
  ///   No attempt of theirs is counted for that, and what they did outside the store is done twice;
  /// - a job that turns out to take longer than a few milliseconds ends its group: jobs that have not begun go back to
  ///   the pool at once, those that are done are saved when it returns.
  static var sharesTransactions: Bool { get }
  /// Seconds for which the commit of a job that has returned is tried again while the store cannot be written: its disk
  /// is full, or another process has it locked. Default: 300.
  ///
  /// ```swift
  /// struct Training: Worker {
  ///   static let kind = "train"
  ///   static let commitTimeout = 86_400.0  // a day's work waits for a day until the disk has room
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {}
  /// }
  /// ```
  ///
  /// The job is not run again for it. After that time the attempt has failed, with an error of the type "commit". Raise
  /// it for jobs whose work is long and hard to repeat.
  static var commitTimeout: Double { get }
  /// What the plugin's processes need beside the store, its model and the queue directory, where the pool runs with
  /// `--confine`: files to read and write, programs to start, networks. Default: nothing.
  ///
  /// ```swift
  /// struct Uploader: Worker {
  ///   static let kind = "upload"
  ///   static let needs = WorkerNeeds(read: ["/data/photos"], network: true)
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {}
  /// }
  /// ```
  ///
  /// Paths begin with "/". The kernel denies a confined process what is not named; without `--confine` it has no
  /// effect.
  static var needs: WorkerNeeds { get }

  /// Makes the value whose `run` is called. Each attempt has one of its own.
  init()

  /// Does the work of one job. What it changes in `context` is saved, together with the job's success, after it
  /// returns.
  ///
  /// ```swift
  /// struct Indexer: Worker {
  ///   static let kind = "index"
  ///
  ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
  ///     let documents = try job.objects()
  ///     for (number, document) in documents.enumerated() {
  ///       try job.checkStop()
  ///       document.setValue((document.value(forKey: "text") as? String)?.count ?? 0, forKey: "length")
  ///       job.report(done: Int64(number + 1), of: Int64(documents.count))
  ///     }
  ///     job.output = "\(documents.count) documents"
  ///   }
  /// }
  /// ```
  ///
  /// Called in `perform` of the private-queue context, which is fresh: it sees what is on disk. When it throws, nothing
  /// of it is saved, and the job is tried again later. Long work should ask `job.isStopRequested` now and then, report
  /// with `job.report(done:of:)`, and save parts with `job.save(checkpoint:)`.
  ///
  /// `context` belongs to this attempt alone. Do not call its `reset` or `rollback`: that takes back the job's own row
  /// as well. Objects of the store that other threads of the plugin need are fetched there by their IDs.
  ///
  /// - Throws: any error; it is kept with the job, with its type and its text, so put no values of objects into it.
  ///   ``PermanentFailure``, ``JobSnoozed``, ``JobStopped`` and ``DetailedFailure`` mean something to the pool.
  func run(_ job: Job, in context: NSManagedObjectContext) throws
}

extension Worker {
  /// No line of help, unless the type says otherwise.
  public static var summary: String { "" }
  /// "1.0", unless the type says otherwise.
  public static var version: String { "1.0" }
  /// The default: no limit of time.
  public static var timeout: Double? { nil }
  /// The default: no limit of processor time.
  public static var processorTime: Double? { nil }
  /// The default: that of `RetryPolicy`.
  public static var maxAttempts: Int? { nil }
  /// The default: that of `RetryPolicy`.
  public static var maxCrashes: Int? { nil }
  /// The default: that of `RetryPolicy`.
  public static var backoff: Double? { nil }
  /// The default: that of `RetryPolicy`.
  public static var maxBackoff: Double? { nil }
  /// Nil, which means 1, unless the type says otherwise.
  public static var limitPerKey: Int? { nil }
  /// Nil: any number may begin, unless the type says otherwise.
  public static var rate: (jobs: Int, period: Double)? { nil }
  /// Nil: as many as there are workers, unless the type says otherwise.
  public static var limit: Int? { nil }

  /// The default: nothing but the store, its model and the queue directory.
  public static var needs: WorkerNeeds { WorkerNeeds() }

  /// The kind's own policy, without what a job wishes.
  static var retryPolicy: RetryPolicy {
    RetryPolicy(maxAttempts: maxAttempts, maxCrashes: maxCrashes, backoff: backoff, maxBackoff: maxBackoff)
  }

  /// The default: false.
  public static var sharesTransactions: Bool { false }
  /// The default: 300 seconds.
  public static var commitTimeout: Double { 300 }

  /// Runs the plugin: `@main` calls it. It serves the pool that started the process, or prints help, or the description
  /// for `describe`, and ends the process.
  public static func main() { WorkerProgram(workers: [Self.self]).run() }
}

/// A plugin that runs several kinds of jobs.
///
/// ```swift
/// import WorkerKit
///
/// struct Import: Worker {
///   static let kind = "import"
///   func run(_ job: Job, in context: NSManagedObjectContext) throws {}
/// }
///
/// struct Export: Worker {
///   static let kind = "export"
///   func run(_ job: Job, in context: NSManagedObjectContext) throws {}
/// }
///
/// @main struct Tools: WorkerPlugin {
///   static let workers: [any Worker.Type] = [Import.self, Export.self]
/// }
/// ```
///
/// The kinds share the plugin's processes: a process runs jobs of all of them in turn.
public protocol WorkerPlugin {
  /// The code of each kind; at least one.
  static var workers: [any Worker.Type] { get }
}

extension WorkerPlugin {
  /// Runs the plugin: `@main` calls it.
  public static func main() { serve() }

  /// Does what the arguments and the environment ask for, and ends the process. For plugins with a `main` of their own.
  public static func serve() -> Never { WorkerProgram(workers: workers).run() }
}

/// Throw this when another attempt cannot help: the job is dead at once, and a person has to retry it.
///
/// ```swift
/// import WorkerKit
///
/// @main struct Resize: Worker {
///   static let kind = "resize"
///
///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
///     guard try !job.objects().isEmpty else { throw PermanentFailure("the job names no photo") }
///   }
/// }
/// ```
///
/// Use it for input that is wrong; for trouble that may pass throw any other error.
public struct PermanentFailure: Error, Sendable, CustomStringConvertible {
  /// Why, without values of objects.
  public let description: String

  /// - Parameter description: why another attempt cannot help, without values of objects.
  public init(_ description: String) { self.description = description }
}

/// An error with details that are kept with the job: for workers that run programs or parse files. An error without
/// this protocol is kept by its type and its text.
///
/// ```swift
/// struct ConverterFailure: DetailedFailure {
///   var output: String?
///   var standardError: [String]
///   var signal: Int32?
///   var isPermanent: Bool { signal == nil }  // the converter refused the file
/// }
/// ```
public protocol DetailedFailure: Error {
  /// Becomes `job.output`, although what the job did is rolled back; nil leaves the output as it was.
  var output: String? { get }
  /// Lines for people, such as the last ones of a program's standard error. The last ten are kept, each up to 2,000
  /// characters.
  var standardError: [String] { get }
  /// The signal that ended a program, if that is what happened.
  var signal: Int32? { get }
  /// Whether another attempt cannot help.
  var isPermanent: Bool { get }
}

/// Throw this to be called again later: what the job has not saved is rolled back, and the attempt counts for nothing.
///
/// ```swift
/// import WorkerKit
///
/// @main struct Fetcher: Worker {
///   static let kind = "fetch"
///
///   func run(_ job: Job, in context: NSManagedObjectContext) throws {
///     guard FileManager.default.fileExists(atPath: "/data/today.csv") else { throw JobSnoozed(for: 600) }
///   }
/// }
/// ```
///
/// The job is `scheduled` meanwhile, and its worker does other work. A job may do this as often as it likes, so one
/// that waits for a file that never comes does not end by itself: count, and throw a ``PermanentFailure``.
public struct JobSnoozed: Error, Sendable, CustomStringConvertible {
  /// Seconds until then.
  public let seconds: Double

  /// - Parameter seconds: 0 or more, at most a hundred years. A value that is not a number counts as 0.
  public init(for seconds: Double) {
    // A time that the store could not hold would never come.
    self.seconds = seconds > 0 ? min(seconds, Self.longest) : 0
  }

  private static let longest = 100 * 366 * 86_400.0

  /// When the job wants to be called again, in one sentence.
  public var description: String { "the job wants to be called again in \(Clock.text(seconds))" }
}

/// Thrown by `Job.checkStop()` when the job was asked to stop. Throw it yourself where a job notices `isStopRequested`
/// and cleans up first.
public struct JobStopped: Error, Sendable, CustomStringConvertible {
  /// Makes the error that a job throws when it stops because it was asked to.
  public init() {}

  /// That the job was asked to stop.
  public var description: String { "the job was asked to stop" }
}
