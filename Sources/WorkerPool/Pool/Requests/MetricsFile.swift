/// Keeps the file of the node exporter's textfile collector up to date, where one is wanted.
final class MetricsFile {
  /// Seconds between two writings.
  static let interval = 15.0

  private let core: PoolCore
  private let collector: StatusCollector

  init(_ core: PoolCore, _ collector: StatusCollector) {
    self.core = core
    self.collector = collector
  }

  /// Writes the file, now and from time to time.
  func start() {
    guard let path = core.configuration.metricsFile, !core.isStopping else { return }
    collector.collect { [weak self] status in
      // At the end there is a last one, which this must not replace.
      guard let self, !core.isFinishing else { return }
      write(status, to: path)
      core.loop.timers.after(Self.interval) { [weak self] in self?.start() }
    }
  }

  /// Says in the file that the pool does not run any more.
  func end() {
    if let path = core.configuration.metricsFile { write(collector.status(), to: path) }
  }

  private func write(_ status: PoolStatus, to path: String) {
    do {
      try PrometheusText.write(status, to: path)
    } catch {
      core.log(.trouble, "the metrics file cannot be written: \(error)", .path(path))
    }
  }
}
