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

    public var description: String {
      switch self {
      case .model(let path): "\(path) is not a data model that can be read"
      case .store(let path, let reason): "the store \(path) cannot be opened: \(reason)"
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
    let source = try openSource(configuration, layout, runtime)
    let server = try PoolServer(configuration, source: source, signals: signals)
    defer { runtime.clear() }
    let code = server.run()
    log(.poolStopped, "stopped", .pid(getpid()))
    return code
  }

  private static func openSource(
    _ configuration: PoolConfiguration, _ layout: QueueLayout, _ runtime: RuntimeDirectory
  ) throws -> StoreJobSource {
    guard let model = NSManagedObjectModel(contentsOf: URL(fileURLWithPath: configuration.model)) else {
      throw StartError.model(path: configuration.model)
    }
    let url = URL(fileURLWithPath: configuration.store)
    do {
      let store = try JobStore(
        url: url, model: model,
        options: [
          NSSQLitePragmasOption: ["wal_autocheckpoint": "0", "synchronous": "NORMAL"],
          NSPersistentStoreWriteTurnOption: runtime.writeTurn,
        ])
      return try StoreJobSource(
        store: store, layout: layout, writeTurn: runtime.writeTurn, retention: configuration.retention)
    } catch let error as FileError {
      throw error
    } catch {
      throw StartError.store(path: configuration.store, reason: ErrorText.text(error))
    }
  }
}
