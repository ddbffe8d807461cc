import Jobs
import WorkerProtocol

/// The status of a pool: its jobs, workers and plugins, and what is wrong. `workerpool status --json` prints the same.
///
/// ```swift
/// import PoolClient
///
/// if let status = try StatusClient(queue: "queue/").request(StatusRequest(.status)).status {
///   print(status.phase, status.jobs?["running"] ?? 0, "of", status.workerCount)
///   for line in StatusAdvice.lines(status) { print(line) }  // what is wrong, and what to do about it
/// }
/// ```
///
/// It is the pool's state when it answered. Counts since the start begin anew with each pool. Sizes are in bytes, times
/// in seconds.
public struct PoolStatus: Codable, Equatable, Sendable {
  /// A plugin that the pool has found, usable or not.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let plugins = try StatusClient(queue: "queue/").request(StatusRequest(.status)).status?.plugins ?? []
  /// for plugin in plugins { print(plugin.name, plugin.failure ?? plugin.kinds.joined(separator: " ")) }
  /// ```
  public struct Plugin: Codable, Equatable, Sendable {
    /// The NAME in `worker-NAME`, by which `--workers NAME=K` and `scale` mean it.
    public var name: String
    /// What `describe` says; nil for a plugin that cannot be used.
    public var version: String?
    /// The kinds of jobs that it runs.
    public var kinds: [String]
    /// How many processes of it there are.
    public var workers: Int
    /// Why it cannot be used or was given up.
    public var failure: String?
    /// True for a plugin that has not said yet which kinds it runs, and is asked until it does.
    public var isAsked: Bool?

    package init(name: String, version: String? = nil, kinds: [String], workers: Int, failure: String? = nil) {
      self.name = name
      self.version = version
      self.kinds = kinds
      self.workers = workers
      self.failure = failure
    }
  }

  /// Jobs since this pool was started.
  ///
  /// Each attempt is handed out once, and then counts in one of the others. A stop or a kill by the pool itself counts
  /// as returned. The counts of single kinds are in ``PoolStatus/kinds``.
  public struct Counters: Codable, Equatable, Sendable {
    /// Times that a job was handed out.
    public var handedOut = 0
    /// Attempts that succeeded.
    public var done = 0
    /// Attempts that ended in an error.
    public var failed = 0
    /// Jobs that workers gave back unbegun, or stopped without an effect.
    public var returned = 0
    /// Attempts that ended with the death of the worker.
    public var crashed = 0
    /// Attempts whose worker was killed, because the job did not stop when its time was over.
    public var timedOut = 0

    package init(
      handedOut: Int = 0, done: Int = 0, failed: Int = 0, returned: Int = 0, crashed: Int = 0, timedOut: Int = 0
    ) {
      self.handedOut = handedOut
      self.done = done
      self.failed = failed
      self.returned = returned
      self.crashed = crashed
      self.timedOut = timedOut
    }
  }

  /// Jobs per second that ended in the last minutes.
  ///
  /// `status.rates.first` is the last minute. If the pool is younger than the period, the numbers are divided by its
  /// age.
  public struct Rate: Codable, Equatable, Sendable {
    /// The length of the period.
    public var minutes: Int
    /// Attempts per second that succeeded.
    public var done: Double
    /// Attempts per second that failed.
    public var failed: Double

    package init(minutes: Int, done: Double, failed: Double) {
      self.minutes = minutes
      self.done = done
      self.failed = failed
    }
  }

  /// Percentiles of a time in seconds, over the jobs that ended last.
  ///
  /// ``PoolStatus/waitingTime`` and ``PoolStatus/runTime`` are nil before the first job has ended. A few slow jobs show
  /// in `p99` and `longest` only.
  public struct Spread: Codable, Equatable, Sendable {
    /// Half of the times are no longer than this.
    public var median: Double
    /// 90 % of the times are no longer than this.
    public var p90: Double
    /// 99 % of the times are no longer than this.
    public var p99: Double
    /// The longest of these times.
    public var longest: Double

    package init(median: Double, p90: Double, p99: Double, longest: Double) {
      self.median = median
      self.p90 = p90
      self.p99 = p99
      self.longest = longest
    }
  }

  /// A warning or an error of the log.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// for problem in try StatusClient(queue: "queue/").request(StatusRequest(.status)).status?.problems ?? [] {
  ///   print(problem.time, problem.event, TerminalText.escaped(problem.text))
  /// }
  /// ```
  public struct Problem: Codable, Equatable, Sendable {
    /// In UTC, RFC 3339.
    public var time: String
    /// The event of the log, such as `job.crashed`.
    public var event: String
    /// The message, without values of objects.
    public var text: String

    package init(time: String, event: String, text: String) {
      self.time = time
      self.event = event
      self.text = text
    }
  }

  /// A pool that shares the store, on this host or another.
  public struct Host: Codable, Equatable, Sendable {
    /// The name of the host, as it calls itself.
    public var name: String
    /// The process ID of the pool there.
    public var pid: Int32
    /// The path of its queue directory there.
    public var queue: String
    /// Seconds since the pool began to share the store.
    public var age: Double
    /// The version of workerpool that the pool is of, as in ``PoolStatus/version``; nil for one that did not tell.
    public var version: String?

    package init(name: String, pid: Int32, queue: String, age: Double, version: String? = nil) {
      self.version = version
      self.name = name
      self.pid = pid
      self.queue = queue
      self.age = age
    }
  }

  /// The name of the pool's host, in a store that pools share; nil for a SQLite file.
  public var host: String?
  /// The other pools that share the store, as far as they have answered, without what is the same for all of them; nil
  /// where none was asked.
  public var others: [PoolStatus]?
  /// The process ID of the pool, on its host.
  public var pid: Int32
  /// The version of workerpool that the pool is of, with the commit if its build was told: that of the program that
  /// runs, and not of a file that has taken its place since. Nil for a pool that does not tell.
  public var version: String?
  /// The path of the store, absolute.
  public var store: String
  /// The path of the model, absolute.
  public var model: String
  /// `opening` while the store cannot be opened yet, `running` or `stopping`.
  public var phase: String
  /// Seconds since the start.
  public var age: Double
  /// Whether no job is handed out at all. Workers finish what they have begun; `pausedQueues` and `pausedKinds` are
  /// paused besides.
  public var isPaused: Bool
  /// Queues whose jobs are not handed out, by name.
  public var pausedQueues: [String]
  /// Kinds whose jobs are not handed out.
  public var pausedKinds: [String]
  /// The number of worker processes that the pool keeps, `--workers`.
  public var workerCount: Int
  /// The worker processes, the oldest first.
  public var workers: [Worker]
  /// The plugins by name, with those that cannot be used.
  public var plugins: [Plugin]
  /// Ready jobs in memory that have not begun, by kind. The pool keeps a part of a long backlog in memory: `backlog`
  /// counts all.
  public var waiting: [String: Int]
  /// What has happened to jobs since this pool was started.
  public var counters: Counters
  /// Processes that died and were replaced, those that were replaced on purpose not counted.
  public var restarts: Int
  /// Jobs in the store by state, those that run as `running`; `nil` when they could not be counted, or the store did
  /// not answer in time: see ``StatusRequest/deadline``. A count that takes long is used again, with the backlog, for
  /// ten times as long, at most for 30 seconds.
  public var jobs: [String: Int]?
  /// Seconds since the store's numbers were read, if the store did not answer within the request's deadline; nil if it
  /// did, and where there are no numbers. They are `jobs`, `backlog`, `hosts`, the times of jobs and the size of the
  /// log.
  public var storeAge: Double?
  /// The pools that share a store at a server, with this one; nil for a SQLite file.
  public var hosts: [Host]?
  /// Size of the store's write-ahead log in bytes; nil for a store at a server. Up to 16 MiB is usual; more is a reader
  /// that stays long: see `walReaders`.
  public var walBytes: Int?
  /// Throughput over the last 1, 5 and 15 minutes.
  public var rates: [Rate]
  /// From when a job could have begun to when it did.
  public var waitingTime: Spread?
  /// From the beginning of an attempt to its end.
  public var runTime: Spread?
  /// Unfinished jobs by state, kind and queue: the largest groups.
  public var backlog: [JobBacklog]?
  /// Unfinished jobs that are in no group of `backlog`, by state.
  public var backlogRest: [String: Int]?
  /// The kinds that have run since the start, or wait, by name.
  public var kinds: [Kind]?
  /// What the jobs of each kind in each queue did lately; nil in a pool's own answer. `workerpool status` adds it from
  /// the store, if this user can read it within a second: for the groups of `backlog` with ready jobs, and for groups
  /// whose jobs ended in the last 30 minutes.
  public var activity: [Activity]?
  /// The limits and rates of queues and kinds that this pool keeps, reached or not; nil if there are none. Limits of
  /// limit keys are not among them: each job has its own.
  public var limits: [Limit]?
  /// What went wrong last, the latest at the end: the pool's last warnings and errors, which its log has in full.
  public var problems: [Problem]
  /// How many job files wait in `rejected/` for a person, each with its reason beside it; nil if the directory could
  /// not be read.
  public var rejectedFiles: Int?
  /// Jobs that wait for each other, or for a batch without jobs; nil if there are none.
  public var stuck: [StuckJobs]?
  /// The processes that keep the write-ahead log from being copied into the store, because they read an older state.
  public var walReaders: [WALReader]?
  /// Whether the write-ahead log is too long although no such reader is known: programs outside the pool write to the
  /// store, or read it, without a pause.
  public var walIsHeldByOthers: Bool?
  /// The processes that have had the store locked for a tenth of a second or longer, workers included.
  public var lockHolders: [LockHolder]?
  /// The file systems of the store and of the queue directory that have hardly any room left; nil when all have.
  public var fullDisks: [FullDisk]?
  /// Why the store cannot be used any more: the pool ends because of it.
  public var storeFailure: String?
  /// Workers of an earlier pool, which was killed, that still finish their jobs: survivors.
  public var survivors: [Survivor]?
  /// The longest turn of the pool's loop in the last minutes. All other work of the pool waited during it. Nil before
  /// the first turn has ended. A turn below half a second needs no attention.
  public var longestTurn: Turn?
  /// The SQL statements of the pool and its workers that have taken long since the pool was started; nil without
  /// `workerpool run --slow-statements`.
  public var slowStatements: SlowStatements?
  /// What does not answer, such as a plugin directory on a server that is gone. The pool goes on without it.
  public var hangs: [Hang]?

  package init(
    pid: Int32, store: String, model: String, phase: String, age: Double, isPaused: Bool, pausedQueues: [String],
    pausedKinds: [String], workerCount: Int, workers: [Worker], plugins: [Plugin], waiting: [String: Int],
    counters: Counters, restarts: Int, jobs: [String: Int]? = nil, walBytes: Int? = nil, rates: [Rate],
    waitingTime: Spread? = nil, runTime: Spread? = nil, backlog: [JobBacklog]? = nil, backlogRest: [String: Int]? = nil,
    problems: [Problem], rejectedFiles: Int? = nil, walReaders: [WALReader]? = nil, walIsHeldByOthers: Bool? = nil,
    lockHolders: [LockHolder]? = nil, storeFailure: String? = nil, survivors: [Survivor]? = nil
  ) {
    self.pid = pid
    version = Release.text
    self.store = store
    self.model = model
    self.phase = phase
    self.age = age
    self.isPaused = isPaused
    self.pausedQueues = pausedQueues
    self.pausedKinds = pausedKinds
    self.workerCount = workerCount
    self.workers = workers
    self.plugins = plugins
    self.waiting = waiting
    self.counters = counters
    self.restarts = restarts
    self.jobs = jobs
    self.walBytes = walBytes
    self.rates = rates
    self.waitingTime = waitingTime
    self.runTime = runTime
    self.backlog = backlog
    self.backlogRest = backlogRest
    self.problems = problems
    self.rejectedFiles = rejectedFiles
    self.walReaders = walReaders
    self.walIsHeldByOthers = walIsHeldByOthers
    self.lockHolders = lockHolders
    self.storeFailure = storeFailure
    self.survivors = survivors
  }

  /// A limit or a rate of the jobs of a kind or a queue.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// for limit in try StatusClient(queue: "queue/").request(StatusRequest(.status)).status?.limits ?? [] {
  ///   if let most = limit.limit, let held = limit.held { print(limit.kind ?? limit.queue ?? "", held, "of", most) }
  /// }
  /// ```
  ///
  /// At a server all pools share a limit; `held` counts the jobs of this pool only.
  public struct Limit: Codable, Equatable, Sendable {
    /// The kind whose jobs are limited; nil for a limit of queues.
    public var kind: String?
    /// The queue whose jobs are limited, or a pattern with `*`: each queue that matches has this limit of its own.
    public var queue: String?
    /// How many jobs may be in hand at a time; nil where only a rate is kept.
    public var limit: Int?
    /// How many jobs are in hand now, with this pool's workers or with those of a killed one; nil for a pattern.
    public var held: Int?
    /// How many jobs may begin in a period; nil where only a limit is kept.
    public var rate: JobRate?

    package init(kind: String? = nil, queue: String? = nil, limit: Int?, held: Int?, rate: JobRate? = nil) {
      self.kind = kind
      self.queue = queue
      self.limit = limit
      self.held = held
      self.rate = rate
    }
  }

  /// A file system without room.
  public struct FullDisk: Codable, Equatable, Sendable {
    /// The path of the store or of the queue directory, or the URL of a store at a server.
    public var path: String
    /// Bytes that are left for this pool's user; nil where only a failed write tells that there are too few.
    public var freeBytes: Int?

    package init(path: String, freeBytes: Int?) {
      self.path = path
      self.freeBytes = freeBytes
    }
  }

  /// A turn of the pool's loop, in which it handles the events that have come.
  ///
  /// The pool has one loop for all that it does. Long turns delay the start of jobs and the answers to requests; they
  /// do not stop workers that run.
  public struct Turn: Codable, Equatable, Sendable {
    /// How long it took.
    public var seconds: Double
    /// The part of the pool that took most of it, by the name of its source file.
    public var handler: String
    /// Seconds since its end.
    public var age: Double

    package init(seconds: Double, handler: String, age: Double) {
      self.seconds = seconds
      self.handler = handler
      self.age = age
    }
  }

  /// Something that a thread beside the loop waits for.
  public struct Hang: Codable, Equatable, Sendable {
    /// What it waits for, as in "the plugin directory /srv/plugins".
    public var subject: String
    /// For how long, so far.
    public var seconds: Double

    package init(subject: String, seconds: Double) {
      self.subject = subject
      self.seconds = seconds
    }
  }

  /// A process that writes to the store, or has it for itself.
  ///
  /// Writers wait for it. If it is not a worker of the pool, end its transaction or the process. Another process of the
  /// same store that writes a lot can take turns with the pool: `NSPersistentStoreWriteTurnOption`.
  public struct LockHolder: Codable, Equatable, Sendable {
    /// The process ID of the holder.
    public var pid: Int32
    /// The name of its program.
    public var command: String

    package init(pid: Int32, command: String) {
      self.pid = pid
      self.command = command
    }
  }

  /// A process that reads the store as it was a while ago.
  ///
  /// As long as it reads, the write-ahead log cannot begin anew, and grows with each save. A context that is pinned to
  /// a query generation is such a reader, and so is an `sqlite3` shell with an open transaction.
  public struct WALReader: Codable, Equatable, Sendable {
    /// The process ID of the reader.
    public var pid: Int32
    /// The name of its program.
    public var command: String
    /// For how many seconds at least.
    public var age: Double

    package init(pid: Int32, command: String, age: Double) {
      self.pid = pid
      self.command = command
      self.age = age
    }
  }
}
