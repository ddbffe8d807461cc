import Jobs

/// A request to a running pool: one JSON object on one line of its status socket.
///
/// ```swift
/// import PoolClient
///
/// let request = StatusRequest(.scale, plugin: "mail", count: 3)
/// print(try StatusClient(queue: "queue/").request(request).ok)
/// ```
public struct StatusRequest: Codable, Equatable, Sendable {
  /// What is asked for. The raw value is the word in JSON.
  public enum Command: String, Codable, Sendable, CaseIterable {
    /// Answer with ``PoolStatus``, which has those of the other pools that share the store under `others`, unless
    /// `local` is set. A pool asks the others first, so the answer comes a moment later than with `local`.
    ///
    /// The store has `deadline` seconds to answer, one by default. If it does not, the status has the store's last
    /// numbers, up to a minute old, and ``PoolStatus/storeAge``.
    ///
    /// ```swift
    /// import PoolClient
    ///
    /// let request = StatusRequest(.status, local: true)
    /// let reply = try StatusClient(queue: "queue/").request(request)
    /// print(reply.status?.phase ?? "")
    /// ```
    case status
    /// Hand out no more jobs: all, or those of `queue` or `kind`; of both is refused. Workers finish what they have
    /// begun. A pause is kept in the store: it outlives the pool, and one by name outlives that of the whole pool.
    ///
    /// ```swift
    /// import PoolClient
    ///
    /// let request = StatusRequest(.pause, queue: "mail")
    /// let reply = try StatusClient(queue: "queue/").request(request)
    /// print(reply.ok)
    /// ```
    case pause
    /// Take a pause back: that of the whole pool, or that of `queue` or `kind`.
    ///
    /// ```swift
    /// import PoolClient
    ///
    /// let request = StatusRequest(.resume, queue: "mail")
    /// let reply = try StatusClient(queue: "queue/").request(request)
    /// print(reply.ok)
    /// ```
    case resume
    /// Have `count` processes in all, or of `plugin`. `count` is 0 to ``PoolLimit/workers``; a plugin that the pool
    /// does not know is refused with the nearest name. It holds until the pool ends.
    ///
    /// ```swift
    /// import PoolClient
    ///
    /// let request = StatusRequest(.scale, plugin: "mail", count: 3)
    /// let reply = try StatusClient(queue: "queue/").request(request)
    /// print(reply.error ?? "done")
    /// ```
    case scale
    /// Drain and exit, within `deadline` seconds, or those of the pool's own setting. The reply comes at once, and the
    /// connection ends with the pool: ``StatusClient/waitForEnd()`` waits for that. With `all` the other pools that
    /// share the store do so first; the reply comes when they are gone, and its `count` says how many they were.
    ///
    /// ```swift
    /// import PoolClient
    ///
    /// let request = StatusRequest(.stop, deadline: 60)
    /// let reply = try StatusClient(queue: "queue/").request(request)
    /// print(reply.ok)
    /// ```
    case stop
    /// Search for plugins again, and replace the processes one by one, each when it has finished its jobs. The reply
    /// comes at once.
    ///
    /// ```swift
    /// import PoolClient
    ///
    /// let request = StatusRequest(.reload)
    /// let reply = try StatusClient(queue: "queue/").request(request)
    /// print(reply.ok)
    /// ```
    case reload
    /// Replace the program of the pool's process by that of the file `program`, or by the one that is now where the
    /// running one was started. Workers and their jobs go on. The reply comes when the program is about to be replaced,
    /// and the connection ends then; its `count` says how many jobs are in workers' hands. It is refused, and the pool
    /// goes on as before, where the new program says that it cannot take over, and where the pool does not come to rest
    /// within `deadline` seconds. Not for stores at a server.
    ///
    /// ```swift
    /// import PoolClient
    ///
    /// let client = try StatusClient(queue: "queue/")
    /// let reply = try client.request(StatusRequest(.reexec), within: 120)
    /// print(reply.error ?? "replaced")
    /// ```
    case reexec
    /// New jobs are in the store or in the queue directory: look at once. Without it the pool finds them too, a little
    /// later. If there are none, the request does no harm.
    case nudge
    /// Cancel `jobs`, by their URIs. One in a worker's hand is asked to stop; the others are cancelled in the store.
    /// The reply's `count` says how many. A URI that is not a job of this pool's store refuses the whole request.
    ///
    /// ```swift
    /// import PoolClient
    ///
    /// let request = StatusRequest(.cancel, jobs: ["x-coredata://A/PoolJob/p17"])
    /// let reply = try StatusClient(queue: "queue/").request(request)
    /// print(reply.count ?? 0)
    /// ```
    case cancel
    /// Run `jobs` again that are dead, cancelled or wait for a later attempt. Attempts and crashes are counted from
    /// zero. The reply's `count` says how many.
    ///
    /// ```swift
    /// import PoolClient
    ///
    /// let request = StatusRequest(.retry, jobs: ["x-coredata://A/PoolJob/p17"])
    /// let reply = try StatusClient(queue: "queue/").request(request)
    /// print(reply.count ?? 0)
    /// ```
    case retry
    /// Answer with `unknown`: those of `kind`, `plugin`, `queue` and `batch` that the pool does not know, each with the
    /// nearest name that it knows. For programs that take such names from a person.
    ///
    /// ```swift
    /// import PoolClient
    ///
    /// let request = StatusRequest(.check, kind: "imprt")
    /// let reply = try StatusClient(queue: "queue/").request(request)
    /// print(reply.unknown?.count ?? 0)
    /// ```
    case check
    /// Delete those of `jobs` that are in one of `states`. Jobs that run stay, and so do jobs that unfinished ones wait
    /// for, unless `evenIfAwaited` is set. The reply's `kept` says how many.
    ///
    /// ```swift
    /// import PoolClient
    ///
    /// let request = StatusRequest(.delete, jobs: ["x-coredata://A/PoolJob/p17"], states: ["dead"])
    /// let reply = try StatusClient(queue: "queue/").request(request)
    /// print(reply.count ?? 0, reply.kept?.running ?? 0)
    /// ```
    case delete
    /// Answer with the jobs of the submission `submission` when the pool has taken its file, or refuse after `deadline`
    /// seconds.
    ///
    /// ```swift
    /// import PoolClient
    ///
    /// let request = StatusRequest(.submission, deadline: 5, submission: "nightly 2026-01-01")
    /// let reply = try StatusClient(queue: "queue/").request(request)
    /// print(reply.submission?.store ?? reply.error ?? "")
    /// ```
    case submission
    /// Answer with `obstacle`: what keeps the one job of `jobs` from being handed out; nil where nothing does, or the
    /// job is not ready. It is decided as for a real start, and changes nothing. Without `jobs` the reply's `obstacles`
    /// say what keeps jobs of the whole pool, of kinds, queues and limit keys.
    ///
    /// ```swift
    /// import PoolClient
    ///
    /// let request = StatusRequest(.explain, jobs: ["x-coredata://A/PoolJob/p17"])
    /// let reply = try StatusClient(queue: "queue/").request(request)
    /// print(reply.obstacle == nil ? "nothing keeps it, or it is not ready" : "something keeps it")
    /// ```
    case explain
    /// Copy the write-ahead log into the store; the reply's `count` is the number of pages that readers kept out of it.
    /// The pool does so by itself: for programs that copy the file next.
    ///
    /// ```swift
    /// import PoolClient
    ///
    /// let request = StatusRequest(.checkpoint)
    /// let reply = try StatusClient(queue: "queue/").request(request)
    /// print(reply.count ?? 0)
    /// ```
    case checkpoint
    /// From now on send a reply with `saved` for each save of a worker, and one with `ended` for jobs that end, those
    /// of other pools included. Read them with ``StatusClient/next()``. They tell what is committed.
    case observe
  }

  /// The command; it decides which of the other members count.
  public var command: Command
  /// The name of a queue: of `pause`, `resume` and `check`.
  public var queue: String?
  /// A kind of jobs: of `pause`, `resume` and `check`.
  public var kind: String?
  /// The name of a plugin: of `scale` and `check`.
  public var plugin: String?
  /// A number of processes, from 0 to 1000: of `scale`.
  public var count: Int?
  /// Seconds, from 0 to 86,400: of `stop`, `reexec`, `submission` and `status`. Nil is the pool's own deadline for the
  /// first, 30 for the second, 10 for the third, and 1 for the last.
  public var deadline: Double?
  /// Path of a program, absolute: of `reexec`.
  public var program: String?
  /// Object URIs of jobs: of `cancel`, `retry`, `delete` and `explain`. At least one, unless for
  /// `explain`; a line of a request may have 1 MiB, which is some ten thousand.
  public var jobs: [String]?
  /// The token of a submission, its ``JobRequest/submission``: of `submission`.
  public var submission: String?
  /// Whether jobs are deleted although unfinished ones wait for them: of `delete`. Default false.
  public var evenIfAwaited: Bool?
  /// Whether the request is about this pool alone, of those that share the store: of `status`. Default false.
  public var local: Bool?
  /// Whether the request is for all pools that share the store: of `stop`. Default false.
  public var all: Bool?
  /// Names of states, as ``JobState/name``: only jobs that are in one of them are deleted. Nil for all.
  public var states: [String]?
  /// The name of a batch: of `check`.
  public var batch: String?
  /// The name of the person who is logged in at the web program, for the pool's log; empty for a person without a
  /// name, nil for requests of other programs. The pool does not check it, and grants no right by it.
  public var webUser: String?

  /// Seconds that the store has to answer a `status` without a `deadline`.
  package static let patience = 1.0

  /// Makes a request. Members that the command does not need stay nil.
  public init(
    _ command: Command, queue: String? = nil, kind: String? = nil, plugin: String? = nil, count: Int? = nil,
    deadline: Double? = nil, jobs: [String]? = nil, submission: String? = nil,
    evenIfAwaited: Bool? = nil, states: [String]? = nil, batch: String? = nil,
    local: Bool? = nil, all: Bool? = nil, program: String? = nil
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
    self.local = local
    self.all = all
    self.program = program
  }
}

/// The answer to a ``StatusRequest``: one JSON object on one line.
///
/// ```swift
/// import PoolClient
///
/// let reply = try StatusClient(queue: "queue/").request(StatusRequest(.pause, kind: "export"))
/// if !reply.ok { print(reply.error ?? "") }
/// ```
///
/// A command sets only the members that belong to its reply; the others are nil. A refused command throws no error:
/// check `ok`.
public struct StatusReply: Codable, Equatable, Sendable {
  /// Objects of the app's store that a worker's save changed.
  public struct Saved: Codable, Equatable, Sendable {
    /// `inserted`, `updated` or `deleted`.
    public var change: String
    /// The URIs of the objects whose rows the save wrote, those of one change and one save.
    public var objects: [String]

    package init(change: String, objects: [String]) {
      self.change = change
      self.objects = objects
    }
  }

  /// Jobs that were not deleted.
  public struct Kept: Codable, Equatable, Sendable {
    /// Jobs that stay because they run.
    public var running: Int
    /// Jobs that stay because unfinished ones wait for them. Delete with `evenIfAwaited` to have them wait no more.
    public var awaited: Int
    /// Jobs that do not exist, or are in none of the states.
    public var missing: Int

    package init(running: Int, awaited: Int, missing: Int) {
      self.running = running
      self.awaited = awaited
      self.missing = missing
    }
  }

  /// The jobs of a submission, once the pool has taken its file.
  public struct Submission: Codable, Equatable, Sendable {
    /// The ``JobRequest/submission`` of the file's first job.
    public var token: String
    /// The beginning of the URIs of the jobs; their keys follow.
    public var uriPrefix: String
    /// The URIs of the jobs by their keys.
    public var jobURIs: JobURIs { JobURIs(prefix: uriPrefix) ?? JobURIs(store: "") }
    /// The keys of the jobs, in the order of their requests.
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
  /// Why it was not done; nil when it was.
  public var error: String?
  /// The answer to `status`; nil for other commands.
  public var status: PoolStatus?
  /// How many jobs a command has changed.
  public var count: Int?
  /// After `observe`: what a worker has saved.
  public var saved: Saved?
  /// URIs of jobs whose attempt has ended. Their rows say how.
  public var ended: [String]?
  /// The answer to `submission`; nil for other commands, and if the pool has not taken the file in time.
  public var submission: Submission?
  /// The answer to `delete`: the jobs that stay.
  public var kept: Kept?
  /// The answer to `check`: the names that the pool does not know.
  public var unknown: [UnknownName]?
  /// The answer to `explain`; nil when nothing stands in the way, or the job is not ready.
  public var obstacle: JobObstacle?
  /// Also an answer to `explain`: what the job has used in its last attempt, if that took a tenth of a second or longer
  /// and is one of the last 1000 such attempts of this pool. Nil otherwise.
  public var use: ResourceUse?
  /// The answer to `explain` without jobs; nil for other requests.
  public var obstacles: PoolObstacles?
  /// Whether the pool has as many clients as it can have: it has done nothing about the request and closes the
  /// connection. Connect and ask again after a pause. Nil otherwise.
  public var busy: Bool?

  /// Makes a reply. Members that do not apply stay nil.
  public init(
    ok: Bool = true, error: String? = nil, status: PoolStatus? = nil, count: Int? = nil, saved: Saved? = nil,
    ended: [String]? = nil, submission: Submission? = nil, kept: Kept? = nil,
    unknown: [UnknownName]? = nil, obstacle: JobObstacle? = nil, busy: Bool? = nil
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
    self.obstacle = obstacle
    self.busy = busy
  }
}
