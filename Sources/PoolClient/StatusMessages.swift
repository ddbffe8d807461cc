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

    package init(change: String, objects: [String]) {
      self.change = change
      self.objects = objects
    }
  }

  /// Jobs that were to be deleted and were not.
  public struct Kept: Codable, Equatable, Sendable {
    /// They run.
    public var running: Int
    /// Unfinished jobs wait for them.
    public var awaited: Int
    /// They were not there, or in none of the states.
    public var missing: Int

    package init(running: Int, awaited: Int, missing: Int) {
      self.running = running
      self.awaited = awaited
      self.missing = missing
    }
  }

  /// A name that nobody knows.
  public struct UnknownName: Codable, Equatable, Sendable {
    /// `kind`, `plugin`, `queue` or `batch`.
    public var what: String
    public var name: String
    /// The name that was probably meant.
    public var nearest: String?

    package init(what: String, name: String, nearest: String? = nil) {
      self.what = what
      self.name = name
      self.nearest = nearest
    }
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

    package init(token: String, uriPrefix: String, runs: [SubmittedJobs.Run], store: String) {
      self.token = token
      self.uriPrefix = uriPrefix
      self.runs = runs
      self.store = store
    }
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
