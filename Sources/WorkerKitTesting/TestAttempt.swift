import Foundation
import WorkerKit

/// How one attempt of a job ended, and what the store has of the job after it.
public struct TestAttempt: Sendable {
  /// The job, for its next attempt: give it to the pool's `run`.
  public let job: NSManagedObjectID
  /// How the attempt ended.
  public let outcome: Outcome
  /// The number of the attempt from 1. An attempt that snoozed does not count, and has the number of the next one.
  public let attempt: Int
  /// When the next attempt is due: the time of the retry, or the one that a snoozed job asked for. Nil: at once, or
  /// never.
  public let runsAgainAt: Date?
  /// What the job saved with its last checkpoint; nil for none.
  public let checkpoint: Data?
  /// The job's output; nil for none.
  public let output: String?
  /// The objects that the job named as its result.
  public let results: [NSManagedObjectID]
  /// What the job last reported of its progress and saved.
  public let progress: (done: Int64, total: Int64)
  /// The jobs that it submitted, in their order.
  public let submitted: [SubmittedJob]

  /// How an attempt ends.
  public enum Outcome: Hashable, Sendable {
    /// Its work is saved.
    case succeeded
    /// It threw, and there will be another attempt.
    case failed(AttemptFailure)
    /// It threw, and there will be none.
    case dead(AttemptFailure)
    /// It was asked to stop since it was cancelled, and did.
    case cancelled
    /// It threw `JobSnoozed`, and is called again at that time.
    case snoozed(until: Date)
    /// It was asked to stop since the pool ends, and did: another attempt may begin at once.
    case returned
  }

  /// What a failed or dead attempt left: its error, as text.
  public var failure: AttemptFailure? {
    switch outcome {
    case .failed(let failure), .dead(let failure): failure
    default: nil
    }
  }

  /// - Parameter job: the row after the attempt, in its context's queue.
  init(_ job: Job, submitted: [SubmittedJob]) {
    self.job = job.objectID
    self.submitted = submitted
    let hasEnded = job.state == .succeeded || job.state == .dead || job.state == .retryable
    attempt = hasEnded ? job.attempt : job.attempt + 1
    runsAgainAt = job.state.isUnfinished ? job.runAt : nil
    checkpoint = job.checkpoint
    output = job.output
    let coordinator = job.managedObjectContext?.persistentStoreCoordinator
    results = job.resultURIs.compactMap { coordinator?.objectID(forURI: $0) }
    progress = (job.progressDone, job.progressTotal)
    outcome =
      switch (job.state, job.failures.last) {
      case (.succeeded, _): .succeeded
      case (.cancelled, _): .cancelled
      case (.dead, let failure?): .dead(failure)
      case (.retryable, let failure?): .failed(failure)
      case (.scheduled, _): .snoozed(until: job.runAt ?? job.createdAt)
      default: .returned
      }
  }
}

/// A job that another one submitted.
public struct SubmittedJob: Hashable, Sendable {
  /// The job, to be given to the pool's `run`.
  public let job: NSManagedObjectID
  /// Its kind.
  public let kind: String
  /// The URIs of its objects, in their order.
  public let objects: [String]
  /// Its parameters, an object without members for none.
  public let parameters: JSONValue
  /// When it may begin; nil: at once.
  public let runAt: Date?

  init(_ job: Job) throws {
    self.job = job.objectID
    kind = job.kind
    objects = job.objectURIs
    parameters = try job.parameters
    runAt = job.runAt
  }
}

/// Why a job is asked to stop in a test: `isStopRequested` is true from its begin on, and `checkStop()` throws.
public enum JobStop: Hashable, Sendable {
  /// A person cancelled it.
  case cancelled
  /// It has taken longer than it may.
  case timedOut
  /// The pool ends.
  case poolEnds

  var reason: StopReason {
    switch self {
    case .cancelled: .cancelled
    case .timedOut: .timedOut
    case .poolEnds: .terminated
    }
  }
}
