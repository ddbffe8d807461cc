import LinuxSystem
import PoolMetrics

/// Keeps the file of the node exporter's textfile collector up to date, where one is wanted.
final class MetricsFile {
  /// Seconds between two writings.
  static let interval = 15.0
  /// Seconds that a pool waits for the last writing before it ends without it.
  private static let lastTimeout = 2.0

  private let core: PoolCore
  private let collector: StatusCollector

  init(_ core: PoolCore, _ collector: StatusCollector) {
    self.core = core
    self.collector = collector
  }

  /// Writes the file, now and from time to time.
  func start() {
    guard let path = core.configuration.metricsFile, !core.isStopping else { return }
    collector.collectForReaders { [weak self] status in
      // At the end there is a last one, which this must not replace.
      guard let self, !core.isFinishing else { return }
      write(status, to: path) { [weak self] in
        guard let self else { return }
        core.loop.timers.after(Self.interval) { [weak self] in self?.start() }
      }
    }
  }

  /// Says in the file that the pool does not run any more, and goes on when that is done, or does not get done.
  func end(then goOn: @escaping () -> Void) {
    guard let path = core.configuration.metricsFile else { return goOn() }
    var isOver = false
    func end() {
      guard !isOver else { return }
      isOver = true
      goOn()
    }
    core.loop.timers.after(Self.lastTimeout) { [weak self] in
      if !isOver { self?.core.log(.trouble, "the metrics file is not written: \(path) does not answer", .path(path)) }
      end()
    }
    write(collector.status(), to: path, then: end)
  }

  /// The file's directory may be one that does not answer. What is written then is old when it gets there, so nothing
  /// waits behind it.
  private func write(_ status: PoolStatus, to path: String, then goOn: @escaping () -> Void) {
    core.loop.blocking.run(on: "the metrics file \(path)") {
      Result { try PrometheusText.write(status, to: path) }
    } then: { [weak self] result in
      if case .failure(let error) = result {
        self?.core.log(.trouble, "the metrics file cannot be written: \(error)", .path(path))
      }
      goOn()
    }
  }
}
