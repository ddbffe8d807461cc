import Foundation
import Jobs
import LinuxSystem
import WorkerProtocol

/// What a pool runs on, and how: the options of `workerpool run`, as values for a program that contains a pool.
///
/// ```swift
/// import WorkerPool
///
/// var configuration = PoolConfiguration(store: "app.sqlite", model: "App.xcdatamodeld", queue: "queue/", workers: 4)
/// configuration.fixedWorkers = ["mail": 1]
/// configuration.kindLimits = ["export": 2]
/// configuration.handlesSignals = false
/// ```
///
/// The defaults suit a pool whose jobs take from milliseconds to minutes. The command checks the ranges that are given
/// here; a program has to keep to them itself.
public struct PoolConfiguration: Sendable {
  /// Path of the app's SQLite file, or the URL of a PostgreSQL database, `postgresql://user@host/database`. Required.
  /// `--store`.
  ///
  /// A file that does not exist, or the database's schema, is created. A SQLite file has one pool: a second one does
  /// not start. Take a database where pools of several hosts share the jobs.
  public var store: String
  /// Path of the app's model: `.xcdatamodeld`, `.xcdatamodel` or compiled, `.momd`; or a store that keeps a copy of its
  /// model. Default: empty, for the copy that `store` itself keeps. `--model`.
  ///
  /// Set it for a new store, for a store at a server, and to migrate.
  public var model: String
  /// Path of the queue directory, created if it does not exist. Required. `--queue`.
  ///
  /// Producers put job files there, and the commands find the pool by it. Each pool needs a queue directory of its own,
  /// on a file system of this machine.
  public var queue: String
  /// Directories with `worker-NAME` executables; the first directory that has a name wins. Default: the directory of
  /// the running executable. `--plugins` puts directories before it, `--without-bundled` leaves it out.
  ///
  /// A pool without any plugin does not start. A user who can write there can run code as the pool's user.
  public var pluginDirectories: [String]
  /// Worker processes in all. Default 2; 0 to 1000. `--workers`.
  ///
  /// Each runs one job at a time. Jobs that compute need as many as there are processors; jobs that wait for a network,
  /// more. Writers of a SQLite file take turns, so beyond a few workers jobs that only write gain nothing. `workerpool
  /// scale` changes the number while the pool runs.
  public var workers: Int
  /// Worker processes of single plugins, by name; they count among `workers`. Default: none; 0 to 1000 each. `--workers
  /// NAME=K`.
  ///
  /// Other processes go where jobs wait. Fix a number for a plugin whose jobs must not wait until a long job of another
  /// plugin ends. The plugins without a number share what is left of `workers`, which may be nothing.
  public var fixedWorkers: [String: Int] = [:]
  /// Shares of the jobs that start, by the name of the queue; all queues without a weight have one share together.
  /// Default: none, priority alone decides; 1 to 1,000,000. `--weight`.
  ///
  /// Set weights where a queue with many jobs of high priority would keep others waiting without end. Within a queue
  /// priority still decides.
  public var queueWeights: [String: Int] = [:]
  /// How many jobs of a kind may be in hand at a time. Default: what the plugin says; 1 to 1,000,000. `--limit KIND=N`.
  ///
  /// Lower it where jobs of a kind share something scarce: memory, a licence, a server.
  public var kindLimits: [String: Int] = [:]
  /// How many jobs of a queue may be in hand at a time, by the queue's name or by a pattern with `*`: see
  /// ``QueueLimits``. Default: no limit; 1 to 1,000,000. `--limit queue:NAME=N`.
  ///
  /// With a queue for each customer, `tenant-*` gives each the same limit, and none can take all workers.
  public var queueLimits: [String: Int] = [:]
  /// How many jobs of a kind may begin in a period. Default: what the plugin says; 1 to 1,000,000 jobs in up to 366
  /// days. `--rate KIND=N/SECONDS`.
  ///
  /// For services that refuse more requests. Jobs over the rate wait; no attempt is counted.
  public var kindRates: [String: JobRate] = [:]
  /// Seconds of processor time that one attempt of a job may use, by its kind. Default: what the plugin says; above 0,
  /// to 366 days. `--job-cpu KIND=SECONDS`.
  ///
  /// Set it for jobs that may loop. The programs that the worker starts count, too. A job that uses more is killed with
  /// its worker, up to half a second later, and the attempt has failed with the type `processor-time`.
  public var kindProcessorTimes: [String: Double] = [:]
  /// Whether job files of other users are taken if they belong to the pool's group; see `workerpool run --help`.
  /// Default `false`: only those of the pool's own user. `--allow-group`.
  ///
  /// Set it where producers run as other users. Jobs run with the rights of the pool, so every member of the group can
  /// do what its plugins can.
  public var allowsGroup = false
  /// How long finished jobs are kept. Default: succeeded and cancelled ones 7 days and at most 100,000 of each, dead
  /// ones 30 days; the command takes 0 to 36,600 days. `--keep`, `--keep-dead`, `--keep-count`. See `JobRetention`.
  ///
  /// Lower it where the store grows too large, raise it where people look at old jobs.
  public var retention = JobRetention()
  /// Names of parameters and of members of outputs whose values the commands and the pages do not show. Default: none.
  /// `--redact`.
  ///
  /// ```swift
  /// import WorkerPool
  ///
  /// var configuration = PoolConfiguration(store: "app.sqlite", queue: "queue/")
  /// configuration.redactedNames = ["password", "token"]
  /// ```
  ///
  /// The names are kept in the store, for all readers; the pool that starts last decides. The values stay in the store:
  /// workers get them, and users who may read its file can read them there.
  public var redactedNames: Set<String> = []
  /// Kinds of jobs whose changes to the app's objects are kept beside the jobs, so that people can see and undo them:
  /// `workerpool jobs show --changes`, `workerpool undo`. Default: none. `--keep-changes`.
  ///
  /// A save of such a job writes one more row, with the values before it, and the plugin's jobs share no transactions.
  /// The rows are deleted with their jobs. Without it `undo` has nothing to take back.
  public var keptKinds: Set<String> = []
  /// Jobs that the pool submits when jobs fail or die, and when a kind stalls or recovers. Default: none. `--hook`. See
  /// `JobHook`.
  ///
  /// They are kept in the store; the pool that starts last decides. At most one of these jobs is in hand at a time,
  /// unless ``queueLimits`` has a number for the queue `hooks`.
  public var hooks: [JobHook] = []
  /// Seconds after which a kind with ready jobs is stalled, if none of its jobs begins, runs or ends, and neither a
  /// pause nor a limit nor a rate keeps them waiting. Default 300; the command takes 1 to 86,400. `--stalled-after`.
  ///
  /// Only ``hooks`` for `stalled` and `recovered` use it. Raise it where jobs of other kinds may have all workers for
  /// longer.
  public var stalledAfter = 300.0
  /// Seconds that the store may take to open while another process has it locked or its server cannot be reached; then
  /// the pool ends with an error. Nil: no limit. Default 60; the command takes 0 to 86,400. `--store-wait`.
  ///
  /// With 0 the pool tries once and does not wait: it ends with the error as soon as it finds the store locked or the
  /// server away. A store that only takes long to open, as one with a long log after a crash, is opened.
  ///
  /// Raise it where an app migrates the store for minutes when it starts.
  public var storeTimeout: Double? = 60
  /// Seconds that jobs in hand may take to finish when the pool is stopped. Default 30; the command takes 0 to 86,400.
  /// `--deadline`.
  ///
  /// Jobs that have not ended by then are asked to stop, and their workers killed; they go back as they were, and no
  /// attempt is counted. Raise it for jobs that take minutes and save no checkpoints, together with the time that a
  /// service manager gives the pool.
  public var stopDeadline = 30.0
  /// A file to which the messages between coordinator and workers are appended. Default: none. `--record`.
  ///
  /// Use it to find faults of a plugin in another language. The file holds verbs, URIs and counters, and no values; it
  /// grows without a limit.
  public var recording: String?
  /// Whether a SQLite store of an older model is migrated at the start, after a backup. Default `false`: the pool does
  /// not start then. `--migrate`.
  ///
  /// The backup needs as much space as the store. With a store at a server the pool does not start if this is set.
  public var migratesStore = false
  /// Whether the pool handles the signals TERM, INT, QUIT, HUP, TTIN and TTOU. Default `true`, for a process that is a
  /// pool and nothing else. The command has no option for it.
  ///
  /// A program with handlers of its own sets false, and stops the pool with `StatusRequest(.stop)`.
  public var handlesSignals = true
  /// Names of variables that the workers get from the pool's own environment, beside ``WorkerEnvironmentRule/passed``.
  /// Default: none. `--env`.
  ///
  /// Name only what a plugin reads, such as the key of a service. All other variables stay with the pool, so that
  /// plugins do not see secrets that they do not need.
  public var passedVariables: Set<String> = []
  /// Variables that the workers get with these values, in place of the pool's own. Default: none. The command has no
  /// option for it.
  ///
  /// Those of the protocol, such as `WORKERPOOL_STORE`, cannot be set here.
  public var extraEnvironment: [String: String] = [:]
  /// What one worker process may use. Default: 4,096 open files, no core file, nothing else limited: see
  /// ``WorkerLimits``. `--memory`, `--cpu`, `--open-files`, `--recycle-jobs`, `--recycle-memory`.
  ///
  /// Limit the memory where a job could drive the whole machine out of memory. Recycle workers whose memory grows from
  /// job to job.
  public var limits = WorkerLimits()
  /// Whether the kernel denies the workers all that they do not need: see `needs` in PROTOCOL.md. Default `false`.
  /// `--confine`.
  ///
  /// Set it for plugins that read input from strangers. The pool does not start if this kernel cannot do it, or if the
  /// store is at a server.
  public var confinesWorkers = false
  /// What confined workers of all plugins may use beside what their plugins declare. Default: nothing.
  /// `--confine-read`, `--confine-write`.
  ///
  /// Name files here that all plugins share, or that the author of a plugin could not know. Without ``confinesWorkers``
  /// it has no effect.
  public var confinedNeeds = PluginDescription.Needs()
  /// Seconds between liveness checks of workers that hold jobs. A worker that has sent nothing for two to three of
  /// these intervals is killed. Default 15; the command takes 0 to 86,400; 0: no checks. `--heartbeat`.
  ///
  /// Only plugins whose description says that they answer are checked. Those made with `WorkerKit` answer on another
  /// thread than that of the job, so a job that computes for hours is no reason to raise it. Set 0 to look at a worker
  /// with a debugger.
  public var heartbeat = 15.0
  /// Seconds that a worker may hold jobs without beginning one of them, while the store can be written. Default 60;
  /// above 0. The command has no option for it.
  ///
  /// Such a worker is told to give its jobs back and to exit; one that does neither is killed after as many seconds
  /// more. Raise it for plugins in other languages that need minutes before their first job begins.
  public var beginTimeout = 60.0
  /// Seconds that a worker may go on with its job after the pool's death. Default 300; the command takes 0 to 86,400.
  /// `--orphan-deadline`.
  ///
  /// Then the worker ends itself. The next pool runs the job only after that. Lower it where the next pool has to run
  /// the job soon, raise it for long jobs without checkpoints.
  public var orphanDeadline = 300.0
  /// A file that is replaced every 15 seconds with metrics in the text format of Prometheus. Default: none.
  /// `--metrics-file`.
  ///
  /// It is for the textfile collector of the node exporter: each replacement is one step, and all users may read it.
  public var metricsFile: String?
  /// Seconds from which an SQL statement of the pool or its workers is slow. Default: nil, none is counted; the command
  /// takes 0 to 86,400. `--slow-statements`.
  ///
  /// ```swift
  /// import WorkerPool
  ///
  /// var configuration = PoolConfiguration(store: "app.sqlite", queue: "queue/")
  /// configuration.slowStatements = 0.5
  /// ```
  ///
  /// Set it to find out why jobs or the pool are slow: the status counts slow statements, and shows those that took
  /// longest, with the database's plans and without values. The time of a fetch contains that of the program between
  /// two rows.
  ///
  /// The database calls a function of the process after each statement. CoreData asks for the plan at the first slow
  /// run of a text, for a SQLite file on another connection, and again at a run of more than twice the time. So a small
  /// limit, down to 0 for all statements, costs a line for each of them, and not a plan. In a program that contains a
  /// pool, the statements of its own stores count as the pool's.
  public var slowStatements: Double?
  /// Whether the pool stops, as for TERM, when the process that started it ends. Default `false`. `--with-parent`.
  ///
  /// Set it for a pool that a program starts as its child: the pool then stops even if the program is killed.
  public var stopsWithParent = false
  /// Where the pool's log goes. Default: lines of text on standard error; `.jsonLines` writes an object on each line.
  /// `--log-format`.
  ///
  /// The same records go to files in the queue directory in any case, which `workerpool logs` shows.
  public var log = Log.standardError

  /// The words with which the process was started, the program first: for a pool whose program can be replaced in
  /// place. Nil for a pool that is a part of another program.
  package var commandLine: [String]?
  /// What the program before this one in the process has handed over; nil for a pool that begins.
  var handover: Handover?
  /// What is locked; nil for a store at a server.
  var locks: PoolLocks?
  /// The store's file, which the pool has locked and the workers must find.
  var storeFile: FileID?
  /// How long plugins have to describe themselves.
  var patience = PluginDiscovery.Patience()
  /// The pool's identity, by which its processes are known.
  var identity: String?
  /// Where slow statements are counted; nil where none are.
  var slowStatementTable: SlowStatementTable?

  /// - Parameters:
  ///   - store: the path of the app's SQLite file, or the URL of a PostgreSQL database.
  ///   - model: the path of the app's model.
  ///   - queue: the path of the queue directory.
  ///   - workers: worker processes in all.
  ///   - pluginDirectories: directories with `worker-NAME` executables. Default: that of the running executable.
  public init(store: String, model: String = "", queue: String, workers: Int = 2, pluginDirectories: [String]? = nil) {
    self.store = store
    self.model = model
    self.queue = queue
    self.workers = workers
    self.pluginDirectories = pluginDirectories ?? [Self.executableDirectory]
  }

  /// The path of the running executable.
  public static var executablePath: String {
    // Without /proc the name by which the program was started is all that is known.
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
  }

  /// The directory that holds the running executable.
  public static var executableDirectory: String {
    URL(fileURLWithPath: executablePath).deletingLastPathComponent().path
  }

  var place: StorePlace { StorePlace(store) }

  /// The limits of queues, with that of the hooks.
  var allQueueLimits: QueueLimits {
    QueueLimits(hooks.isEmpty ? queueLimits : queueLimits.merging([JobHook.queue: 1]) { own, _ in own })
  }

  var incomingDirectory: String { QueueLayout(root: queue).incoming }

  /// The variables that PROTOCOL.md promises a worker. Paths are absolute: a worker may have another working directory.
  var workerEnvironment: [String: String] {
    var environment = ProcessInfo.processInfo.environment.filter {
      WorkerEnvironmentRule.passes($0.key) || passedVariables.contains($0.key)
        || place.isServer && WorkerEnvironmentRule.isForServer($0.key)
    }
    // The backtrace of a Swift program takes seconds, pushes its last words out of sight and shows what its memory
    // holds.
    if environment["SWIFT_BACKTRACE"] == nil { environment["SWIFT_BACKTRACE"] = "enable=no" }
    // Confined workers cannot write into the usual directories for temporary files.
    if confinesWorkers {
      for name in ["TMPDIR", "SQLITE_TMPDIR"] { environment[name] = QueueLayout(root: queue).temporary }
    }
    environment.merge(extraEnvironment) { $1 }
    // CoreData prints them then, and the pool reads what its workers print.
    if let slowStatements { environment["com.apple.CoreData.SlowStatements"] = String(slowStatements) }
    environment[.protocolEdition] = ProtocolVersion.edition
    environment[.connection] = "\(Program.inheritedDescriptor)"
    environment[.writeTurn] = QueueLayout(root: queue).writeTurn
    if !keptKinds.isEmpty { environment[.keepChanges] = keptKinds.sorted().joined(separator: ",") }
    environment[.queue] = URL(fileURLWithPath: queue).path
    environment[.jobs] = QueueLayout(root: queue).jobs
    environment[.store] = place.absolute.text
    environment[.pool] = identity
    environment[.storeID] = storeFile?.description
    environment[.model] = URL(fileURLWithPath: model).path
    environment[.orphanDeadline] = String(orphanDeadline)
    return environment
  }
}

/// Which variables of the pool's environment reach its workers: those that every program needs. Secrets in other
/// variables stay with the pool.
public enum WorkerEnvironmentRule {
  /// The names that are passed on; beside them all that begin with `LC_`, and Core Data's debugging switches, which
  /// begin with `com.apple.CoreData.`.
  public static let passed: Set<String> = [
    "HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "SHELL", "SQLITE_TMPDIR", "SWIFT_BACKTRACE",
    "TMPDIR", "TZ", "TZDIR", "USER",
  ]

  /// Whether libpq reads the variable: where the server is, and who opens the store.
  ///
  /// Source: https://www.postgresql.org/docs/15/libpq-envars.html
  static func isForServer(_ name: String) -> Bool { name.hasPrefix("PG") }

  static func passes(_ name: String) -> Bool {
    passed.contains(name) || name.hasPrefix("LC_") || name.hasPrefix("com.apple.CoreData.")
  }
}
