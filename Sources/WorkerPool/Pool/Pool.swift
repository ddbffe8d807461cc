import CSystem
import CoreData
import Foundation
import Glibc
import Jobs

/// A pool: a supervisor with its worker processes, and a coordinator that hands them the jobs of one store.
public enum Pool {
  /// Why a pool cannot start.
  public enum StartError: Error, Sendable, CustomStringConvertible {
    /// The model cannot be read.
    case model(path: String)
    /// The store cannot be opened.
    case store(path: String, reason: String)
    /// The store was not open after so many seconds: most likely another process has it locked.
    case storeIsLocked(path: String, seconds: Double, reason: String)

    public var description: String {
      switch self {
      case .model(let path): "\(path) is not a data model that can be read"
      case .store(let path, let reason): "the store \(path) cannot be opened: \(reason)"
      case .storeIsLocked(let path, let seconds, let reason):
        "the store \(path) could not be opened within \(seconds) seconds: \(reason)"
      }
    }
  }

  /// Runs a pool on the calling thread until it is told to stop, through a signal or its status socket; returns the exit code.
  ///
  /// The thread must be the process's main thread or live as long as the process: the kernel tells workers of their supervisor's
  /// death when the thread ends that started them. Throws ``StartError``, `FileError`, an error that says that another pool runs on
  /// the queue directory, or a failed system call.
  public static func run(_ configuration: PoolConfiguration) throws -> Int32 {
    let log = configuration.log
    defer { log.flush() }
    let layout = QueueLayout(root: configuration.queue)
    try layout.create()
    let runtime = RuntimeDirectory(queue: configuration.queue)
    let lock = try runtime.claim()
    defer { close(lock) }
    // Before there are other threads, which a signal for the process could reach.
    if configuration.handlesSignals {
      // A log that nobody reads any more is no reason to die.
      signal(SIGPIPE, SIG_IGN)
    }
    let signals = configuration.handlesSignals ? try SignalSource(PoolServer.signals) : nil
    if configuration.stopsWithParent, csystem_signal_on_parent_death(SIGTERM) != 0 { return 0 }
    let strays = StrayProcesses.end(socket: URL(fileURLWithPath: runtime.workerSocket).path)
    for pid in strays.killed {
      log(.processStray, "process \(pid), left behind by a dead worker, is killed", .pid(pid))
    }
    for pid in strays.finishing { log(.processStray, "worker \(pid) of an earlier pool finishes its job", .pid(pid)) }
    defer { runtime.clear() }
    var configuration = configuration
    let opening = try StoreOpening(configuration, signals: signals) { [configuration] in
      try openSource(configuration, layout, runtime)
    }
    let source = try opening.run()
    configuration.workers = opening.workers
    var code: Int32 = 0
    if let source { code = try PoolServer(configuration, source: source, signals: signals).run() }
    log(.poolStopped, "stopped", .pid(getpid()))
    return code
  }

  /// Blocks until the store is open and in order, or its locks have been waited for long enough.
  private static func openSource(
    _ configuration: PoolConfiguration, _ layout: QueueLayout, _ runtime: RuntimeDirectory
  ) throws -> StoreJobSource {
    guard let model = NSManagedObjectModel(contentsOf: URL(fileURLWithPath: configuration.model)) else {
      throw StartError.model(path: configuration.model)
    }
    let store = try JobStore(
      url: URL(fileURLWithPath: configuration.store), model: model,
      options: [
        NSSQLitePragmasOption: ["wal_autocheckpoint": "0", "synchronous": "NORMAL"],
        NSPersistentStoreWriteTurnOption: runtime.writeTurn,
      ])
    let source = try StoreJobSource(
      store: store, layout: layout, writeTurn: runtime.writeTurn, retention: configuration.retention,
      owners: FileOwnerRule(allowsGroup: configuration.allowsGroup))
    try source.prepare()
    return source
  }
}
