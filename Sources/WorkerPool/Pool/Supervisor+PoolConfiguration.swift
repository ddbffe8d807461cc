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
