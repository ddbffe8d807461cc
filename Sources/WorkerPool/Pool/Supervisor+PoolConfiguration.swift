import CoreData
import Glibc
import LinuxSystem
import PoolClient

extension Supervisor.Configuration {
  /// The part of a pool's configuration that its processes need.
  init(_ configuration: PoolConfiguration) {
    self.init(
      pluginDirectories: configuration.pluginDirectories, workers: configuration.workers,
      fixedWorkers: configuration.fixedWorkers, environment: configuration.workerEnvironment,
      limits: configuration.limits,
      confinement: configuration.confinesWorkers ? WorkerConfinement(configuration) : nil,
      patience: configuration.patience)
  }
}

extension WorkerConfinement {
  /// The store's files, which SQLite keeps as long as the pool has them open, and not their directory: it may be
  /// a user's home. Workers have one place of the queue directory, the one where jobs are submitted: `exec.json` says
  /// what `exec` may start, and the pool, which nothing confines, trusts the other files there.
  init(_ configuration: PoolConfiguration) {
    let store = URL(fileURLWithPath: configuration.store).resolvingSymlinksInPath()
    let layout = QueueLayout(root: URL(fileURLWithPath: configuration.queue).path)
    self.init(
      writable: ["", "-wal", "-shm"].map { store.path + $0 }
        + [
          ExternalData.supportFolder(of: store).path, layout.incoming, layout.temporary, layout.jobs, layout.writeTurn,
        ],
      readable: [URL(fileURLWithPath: configuration.model).path], extra: configuration.confinedNeeds)
  }

  /// Makes the directories that confined workers need and may not make themselves.
  ///
  /// - Parameter keepsFiles: whether workers have temporary files that they still need.
  static func makePlaces(
    _ configuration: PoolConfiguration, _ model: NSManagedObjectModel, keepsFiles: Bool
  ) throws {
    let files = FileManager.default
    let temporary = QueueLayout(root: configuration.queue).temporary
    // What workers of an earlier pool left, and a link that one of them may have put in its place.
    if !keepsFiles { try? files.removeItem(atPath: temporary) }
    guard mkdir(temporary, QueueLayout.privateMode) == 0 || keepsFiles && errno == EEXIST else {
      throw FileError(path: temporary, action: "be made a directory", errno: errno)
    }
    // One that is there stays: an orphan of an earlier pool may write into it.
    mkdir(QueueLayout(root: configuration.queue).jobs, QueueLayout.privateMode)
    let attributes = model.entities.flatMap { $0.properties.compactMap { $0 as? NSAttributeDescription } }
    guard attributes.contains(where: \.allowsExternalBinaryDataStorage) else { return }
    let store = URL(fileURLWithPath: configuration.store).resolvingSymlinksInPath()
    try files.createDirectory(at: ExternalData.supportFolder(of: store), withIntermediateDirectories: true)
  }
}
