import Foundation
import Jobs
import LinuxSystem
import WorkerProtocol

/// What a pool runs on, and how.
public struct PoolConfiguration: Sendable {
  /// Path of the app's SQLite file, created when there is none; or the URL of a PostgreSQL database, as
  /// `postgresql://user@host/database`, whose schema is created when there is none.
  public var store: String
  /// Path of the app's model, `.xcdatamodeld` or `.xcdatamodel`, or compiled, `.momd`. It may also be a store that
  /// keeps a copy of its model; empty for `store` itself.
  public var model: String
  /// Path of the queue directory; created when there is none.
  public var queue: String
  /// Directories with `worker-NAME` executables; the first directory that has a name wins.
  public var pluginDirectories: [String]
  /// Worker processes in all. Default 2.
  public var workers: Int
  /// Worker processes of single plugins, by name; they count among `workers`.
  public var fixedWorkers: [String: Int] = [:]
  /// Shares of the picks for queues, by name; queues without a weight share 1. Default: priority decides alone.
  public var queueWeights: [String: Int] = [:]
  /// How many jobs of a kind may be in hand at a time; instead of what the plugin says.
  public var kindLimits: [String: Int] = [:]
  /// How many jobs of a queue may be in hand at a time, by the queue's name or by a pattern with `*`: see
  /// ``QueueLimits``.
  public var queueLimits: [String: Int] = [:]
  /// How many jobs of a kind may begin in a period; instead of what the plugin says.
  public var kindRates: [String: JobRate] = [:]
  /// Whether job files of other users are taken if they belong to the pool's group; see `workerpool run --help`.
  /// Default `false`.
  public var allowsGroup = false
  /// How long finished jobs are kept.
  public var retention = JobRetention()
  /// Seconds that the store may take to open, which others may have locked; then the pool ends. Nil: without a limit.
  /// Default 60.
  public var storeTimeout: Double? = 60
  /// Seconds that jobs in hand may take to finish when the pool is stopped. Default 30.
  public var stopDeadline = 30.0
  /// A file to which the conversation of coordinator and workers is appended; default none.
  public var recording: String?
  /// Whether a store of an older model is migrated at the start, after a backup. Default `false`: the pool does not
  /// start then.
  public var migratesStore = false
  /// Whether the pool handles TERM, INT, HUP, TTIN and TTOU. Default `true`, for a process that is a pool and nothing
  /// else.
  public var handlesSignals = true
  /// Names of variables that the workers get from the pool's own environment, beside ``WorkerEnvironmentRule/passed``.
  public var passedVariables: Set<String> = []
  /// Variables that the workers get in any case.
  public var extraEnvironment: [String: String] = [:]
  /// What one worker process may use.
  public var limits = WorkerLimits()
  /// Whether the kernel denies the workers all that they do not need: see `needs` in PROTOCOL.md. Default `false`.
  public var confinesWorkers = false
  /// What confined workers of all plugins may use beside what their plugins declare. Default: nothing.
  public var confinedNeeds = PluginDescription.Needs()
  /// Seconds between liveness checks of workers that hold jobs. One that has been silent for two to three of them
  /// hangs, and is killed. 0: never. Default 15.
  public var heartbeat = 15.0
  /// Seconds that a worker may hold jobs without beginning one of them, while the store can be written. It is replaced
  /// then; one that neither begins its jobs nor gives them back is killed after as many seconds more. Default 60.
  public var beginTimeout = 60.0
  /// Seconds that a worker may go on with its job after the pool's death. Default 300.
  public var orphanDeadline = 300.0
  /// A file that is kept up to date with metrics in the text format of Prometheus; default none.
  public var metricsFile: String?
  /// Whether the pool stops, as for TERM, when the process that started it ends. Default `false`.
  public var stopsWithParent = false
  /// Where the pool says what it does. Default: standard error.
  public var log = Log.standardError

  /// The store's file, which the pool has locked and the workers must find.
  var storeFile: FileID?
  /// How long plugins have to describe themselves.
  var patience = PluginDiscovery.Patience()
  /// The pool's identity, by which its processes are known.
  var identity: String?

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
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
  }

  /// The directory that holds the running executable.
  public static var executableDirectory: String {
    URL(fileURLWithPath: executablePath).deletingLastPathComponent().path
  }

  var place: StorePlace { StorePlace(store) }

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
    environment[.protocolEdition] = ProtocolVersion.edition
    environment[.connection] = "\(Program.inheritedDescriptor)"
    environment[.writeTurn] = QueueLayout(root: queue).writeTurn
    environment[.queue] = URL(fileURLWithPath: queue).path
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
