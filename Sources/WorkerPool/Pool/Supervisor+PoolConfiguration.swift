import Foundation

extension Supervisor.Configuration {
  /// The part of a pool's configuration that its processes need.
  ///
  /// - Parameter socket: the path of the socket that workers connect to.
  init(_ configuration: PoolConfiguration, socket: String) {
    self.init(
      pluginDirectories: configuration.pluginDirectories, workers: configuration.workers,
      fixedWorkers: configuration.fixedWorkers, environment: configuration.workerEnvironment(socket: socket),
      limits: configuration.limits,
      confinement: configuration.confinesWorkers ? WorkerConfinement(configuration) : nil)
  }
}

extension WorkerConfinement {
  init(_ configuration: PoolConfiguration) {
    func directory(of path: String) -> String {
      URL(fileURLWithPath: path).resolvingSymlinksInPath().deletingLastPathComponent().path
    }
    self.init(
      own: [directory(of: configuration.store), URL(fileURLWithPath: configuration.queue).path],
      readable: [URL(fileURLWithPath: configuration.model).path], extra: configuration.confinedNeeds)
  }
}
