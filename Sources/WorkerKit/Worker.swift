import Foundation
import LinuxSystem
import WorkerProtocol

@_exported import CoreData
@_exported import Jobs

/// What a plugin's processes need where the pool confines them.
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
/// The executable must be named `worker-NAME`. A plugin for several kinds is a ``WorkerPlugin``.
public protocol Worker: SendableMetatype {
  /// The kind of job that this type runs: letters, digits, dots, hyphens and underscores.
  static var kind: String { get }
  /// One line about it, for the plugin's help.
  static var summary: String { get }
  /// The plugin's version, for `status`. Default "1.0".
  static var version: String { get }
  /// Seconds that one attempt may take, where the job itself names none. Default `nil`: as long as it needs.
  static var timeout: Double? { get }
  /// Attempts that may throw before a job is dead, where the job itself names none. Default: that of `RetryPolicy`.
  static var maxAttempts: Int? { get }
  /// How many workers a job may kill before it is dead. Default: that of `RetryPolicy`.
  static var maxCrashes: Int? { get }
  /// The wait after the first failure, in seconds, where the job itself names none; it doubles with each further one,
  /// and each is up to a fifth shorter or longer. Default: that of `RetryPolicy`.
  static var backoff: Double? { get }
  /// The wait grows up to this, in seconds, where the job itself names none. Default: that of `RetryPolicy`.
  static var maxBackoff: Double? { get }
  /// How many jobs with the same limit key may run at a time, where the job itself does not say. Default 1.
  static var limitPerKey: Int? { get }
  /// How many jobs of this kind may begin in a period, in seconds. Default `nil`: any number.
  static var rate: (jobs: Int, period: Double)? { get }
  /// How many jobs of this kind may run at a time in the whole pool. Default `nil`: as many as there are workers.
  static var limit: Int? { get }
  /// Whether several short jobs may be saved in one transaction, which is much quicker for jobs of less than a
  /// millisecond. Default `false`: each job begins, ends and fails for itself.
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
  /// is full, or another process has it locked. After that the attempt has failed, with an error of the type "commit".
  /// Default 300.
  static var commitTimeout: Double { get }
  /// What the plugin's processes need beside the store, its model and the queue directory, where the pool runs with
  /// `--confine`: files to read and write, programs to start, networks. Default: nothing.
  static var needs: WorkerNeeds { get }

  /// Makes the value whose `run` is called. Each attempt has one of its own.
  init()

  /// Does the work of one job. What it changes in `context` is saved, together with the job's success, after it
  /// returns.
  ///
  /// Called in `perform` of the private-queue context, which is fresh: it sees what is on disk. When it throws, nothing
  /// of it is saved, and the job is tried again later. Long work should ask `job.isStopRequested` now and then, report
  /// with `job.report(done:of:)`, and save parts with `job.save(checkpoint:)`.
  func run(_ job: Job, in context: NSManagedObjectContext) throws
}

extension Worker {
  /// The default: no summary.
  public static var summary: String { "" }
  /// The default: "1.0".
  public static var version: String { "1.0" }
  /// The default: no limit of time.
  public static var timeout: Double? { nil }
  /// The default: that of `RetryPolicy`.
  public static var maxAttempts: Int? { nil }
  /// The default: that of `RetryPolicy`.
  public static var maxCrashes: Int? { nil }
  /// The default: that of `RetryPolicy`.
  public static var backoff: Double? { nil }
  /// The default: that of `RetryPolicy`.
  public static var maxBackoff: Double? { nil }
  /// The default: 1.
  public static var limitPerKey: Int? { nil }
  /// The default: no rate.
  public static var rate: (jobs: Int, period: Double)? { nil }
  /// The default: no limit.
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

  /// Runs the plugin: `@main` calls it.
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

/// Throw this when another attempt cannot help: the job is dead at once.
public struct PermanentFailure: Error, Sendable, CustomStringConvertible {
  /// Why, without values of objects.
  public let description: String

  /// - Parameter description: why another attempt cannot help, without values of objects.
  public init(_ description: String) { self.description = description }
}

/// An error with details that are kept with the job.
public protocol DetailedFailure: Error {
  /// Becomes `job.output`, although what the job did is rolled back.
  var output: String? { get }
  /// Lines for people, the last of them.
  var standardError: [String] { get }
  /// The signal that ended a program, if that is what happened.
  var signal: Int32? { get }
  /// Whether another attempt cannot help.
  var isPermanent: Bool { get }
}

/// Throw this to be called again later: what the job has not saved is rolled back, and the attempt counts for nothing.
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

/// Thrown by `Job.checkStop()` when the job was asked to stop.
public struct JobStopped: Error, Sendable, CustomStringConvertible {
  /// Makes the error that a job throws when it stops because it was asked to.
  public init() {}

  /// That the job was asked to stop.
  public var description: String { "the job was asked to stop" }
}
