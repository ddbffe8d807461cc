import Jobs

/// A request to a running pool: one JSON object on one line of its status socket.
public struct StatusRequest: Codable, Equatable, Sendable {
  /// What is asked for.
  public enum Command: String, Codable, Sendable, CaseIterable {
    /// Answer with ``PoolStatus``.
    case status
    /// Hand out no more jobs: all, or those of `queue` or `kind`.
    case pause
    /// Take a pause back.
    case resume
    /// Have `count` processes in all, or of `plugin`.
    case scale
    /// Drain and exit, within `deadline` seconds if given.
    case stop
    /// Look for plugins again and replace the processes.
    case reload
    /// New jobs are in the store or in the queue directory.
    case nudge
    /// Cancel `jobs`.
    case cancel
    /// Run `jobs` again that are dead, cancelled or wait for a later attempt.
    case retry
    /// Answer with `unknown`: which of `kind`, `plugin`, `queue` and `batch` nobody knows.
    case check
    /// Delete `jobs`, if they are in one of `states`, but for those that run, and those that unfinished ones wait for unless `evenIfAwaited`; the reply's `kept` says
    /// how many of each.
    case delete
    /// Answer with the jobs of the submission `submission` when the pool has taken its file, or refuse after `deadline` seconds.
    case submission
    /// Bring what the write-ahead log holds into the store's file; the reply's `count` is how many pages readers kept from it.
    case checkpoint
    /// From now on send a reply with `saved` for each save of a worker, and one with `ended` for jobs that end.
    case observe
  }

  public var command: Command
  public var queue: String?
  public var kind: String?
  public var plugin: String?
  public var count: Int?
  public var deadline: Double?
  /// Object URIs of jobs.
  public var jobs: [String]?
  /// The token of a submission.
  public var submission: String?
  public var evenIfAwaited: Bool?
  /// Names of states: only jobs that are in one of them when it comes to it.
  public var states: [String]?
  public var batch: String?

  public init(
    _ command: Command, queue: String? = nil, kind: String? = nil, plugin: String? = nil, count: Int? = nil,
    deadline: Double? = nil, jobs: [String]? = nil, submission: String? = nil,
    evenIfAwaited: Bool? = nil, states: [String]? = nil, batch: String? = nil
  ) {
    self.command = command
    self.queue = queue
    self.kind = kind
    self.plugin = plugin
    self.count = count
    self.deadline = deadline
    self.jobs = jobs
    self.submission = submission
    self.evenIfAwaited = evenIfAwaited
    self.states = states
    self.batch = batch
  }
}

/// The answer to a ``StatusRequest``: one JSON object on one line.
public struct StatusReply: Codable, Equatable, Sendable {
  /// Objects of the app's store that a worker's save changed.
  public struct Saved: Codable, Equatable, Sendable {
    /// `inserted`, `updated` or `deleted`.
    public var change: String
    public var objects: [String]
  }

  /// Jobs that were to be deleted and were not.
  public struct Kept: Codable, Equatable, Sendable {
    /// They run.
    public var running: Int
    /// Unfinished jobs wait for them.
    public var awaited: Int
    /// They were not there, or in none of the states.
    public var missing: Int
  }

  /// A name that nobody knows.
  public struct UnknownName: Codable, Equatable, Sendable {
    /// `kind`, `plugin`, `queue` or `batch`.
    public var what: String
    public var name: String
    /// The name that was probably meant.
    public var nearest: String?
  }

  /// The jobs of a submission.
  public struct Submission: Codable, Equatable, Sendable {
    public var token: String
    /// What the URIs of the jobs begin with; their keys follow.
    public var uriPrefix: String
    public var jobURIs: JobURIs { JobURIs(prefix: uriPrefix) ?? JobURIs(store: "") }
    /// The jobs in the order of their requests.
    public var runs: [SubmittedJobs.Run]
    /// Path of the store that holds them, absolute.
    public var store: String
  }

  /// Whether it was done. If not, `error` says why.
  public var ok: Bool
  public var error: String?
  public var status: PoolStatus?
  /// How many jobs a command has changed.
  public var count: Int?
  public var saved: Saved?
  /// URIs of jobs whose attempt has ended, in whatever way: their rows say how.
  public var ended: [String]?
  public var submission: Submission?
  public var kept: Kept?
  public var unknown: [UnknownName]?

  public init(
    ok: Bool = true, error: String? = nil, status: PoolStatus? = nil, count: Int? = nil, saved: Saved? = nil,
    ended: [String]? = nil, submission: Submission? = nil, kept: Kept? = nil,
    unknown: [UnknownName]? = nil
  ) {
    self.ok = ok
    self.error = error
    self.status = status
    self.count = count
    self.saved = saved
    self.ended = ended
    self.submission = submission
    self.kept = kept
    self.unknown = unknown
  }
}

/// How a pool is doing.
public struct PoolStatus: Codable, Equatable, Sendable {
  /// A worker process.
  public struct Worker: Codable, Equatable, Sendable {
    public var id: Int
    public var plugin: String
    public var pid: Int32
    /// `starting`, `up`, `draining`, `terminating` or `killed`.
    public var phase: String
    /// Seconds since it was started.
    public var age: Double
    /// How many jobs it wants to hold, and holds.
    public var credit: Int
    public var holding: Int
    /// URIs of the jobs that it has begun.
    public var running: [String]
    /// How far the job in hand has come, if it says so.
    public var progressDone: Int?
    public var progressTotal: Int?
    /// Seconds for which the job in hand has been running.
    public var busy: Double?
    /// Jobs that it has finished.
    public var jobsDone: Int
    /// Resident memory in bytes, and processor time in seconds.
    public var memory: Int?
    public var processorTime: Double?
    /// It is to be replaced when its successor is up.
    public var isRetiring: Bool
    public var path: String
    /// The last lines of its standard error.
    public var lastLines: [String]
    /// Why its job waits to begin or to be saved: `locked`, `full` or `failing`; `nil` when none waits.
    public var waitsForStore: String?
  }

  /// A plugin that is there, or was found unusable.
  public struct Plugin: Codable, Equatable, Sendable {
    public var name: String
    public var version: String?
    public var kinds: [String]
    public var workers: Int
    /// Why it cannot be used or was given up.
    public var failure: String?
  }

  /// Jobs since this pool was started.
  public struct Counters: Codable, Equatable, Sendable {
    public var handedOut = 0
    public var done = 0
    public var failed = 0
    public var returned = 0
    public var crashed = 0
    public var timedOut = 0
  }

  /// Jobs per second that ended in the last minutes.
  public struct Rate: Codable, Equatable, Sendable {
    public var minutes: Int
    public var done: Double
    public var failed: Double
  }

  /// Percentiles of a time in seconds, over the jobs that ended last.
  public struct Spread: Codable, Equatable, Sendable {
    public var median: Double
    public var p90: Double
    public var p99: Double
    public var longest: Double
  }

  /// Something that went wrong, as the log told it.
  public struct Problem: Codable, Equatable, Sendable {
    /// In UTC, RFC 3339.
    public var time: String
    public var event: String
    public var text: String
  }

  public var pid: Int32
  /// Paths of the store and of the model, absolute.
  public var store: String
  public var model: String
  /// `opening` while the store cannot be opened yet, `running` or `stopping`.
  public var phase: String
  /// Seconds since the start.
  public var age: Double
  public var isPaused: Bool
  public var pausedQueues: [String]
  public var pausedKinds: [String]
  /// Processes that there should be in all.
  public var workerCount: Int
  public var workers: [Worker]
  public var plugins: [Plugin]
  /// Ready jobs in memory that nobody has begun, by kind.
  public var waiting: [String: Int]
  public var counters: Counters
  /// Processes that died and were replaced.
  public var restarts: Int
  /// Jobs in the store by state, those that run as `running`; `nil` when they could not be counted, or the store did not answer within
  /// five seconds. Where counting takes long, these and the backlog may be as old as ten times that.
  public var jobs: [String: Int]?
  /// Size of the store's write-ahead log in bytes.
  public var walBytes: Int?
  public var rates: [Rate]
  /// From when a job could have begun to when it did, and from there to its end.
  public var waitingTime: Spread?
  public var runTime: Spread?
  /// Unfinished jobs by state, kind and queue: the largest groups, and by state how many jobs all others have.
  public var backlog: [JobBacklog]?
  public var backlogRest: [String: Int]?
  /// What went wrong last, the latest at the end.
  public var problems: [Problem]
  /// Files in `rejected/`.
  public var rejectedFiles: Int?
  /// Who keeps the log from being brought into the store by reading an older state, if anybody does.
  public var walReaders: [WALReader]?
  /// Whether the log is longer than it may be though no such reader is known: programs outside the pool write to the store, or read it,
  /// without a pause.
  public var walIsHeldByOthers: Bool?
  /// Who has had the store locked for a tenth of a second at least, so that others wait; workers, too.
  public var lockHolders: [LockHolder]?
  /// Why the store cannot be used any more: the pool ends because of it.
  public var storeFailure: String?
  /// Workers of an earlier pool, which was killed, that still finish their jobs.
  public var survivors: [Survivor]?

  /// A worker that has outlived its pool.
  public struct Survivor: Codable, Equatable, Sendable {
    public var pid: Int32
    /// URIs of the jobs in its hand.
    public var jobs: [String]
  }

  /// A process that writes to the store, or has it for itself.
  public struct LockHolder: Codable, Equatable, Sendable {
    public var pid: Int32
    /// The name of its program.
    public var command: String
  }

  /// A process that reads the store as it was a while ago.
  public struct WALReader: Codable, Equatable, Sendable {
    public var pid: Int32
    /// The name of its program.
    public var command: String
    /// For how many seconds at least.
    public var age: Double
  }
}
