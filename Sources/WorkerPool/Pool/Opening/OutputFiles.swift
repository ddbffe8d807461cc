import Jobs
import LinuxSystem
import PoolMetrics

/// The files that a pool is told to write besides its own: metrics and a record of what is said. They replace nothing
/// that somebody needs.
enum OutputFiles {
  /// Throws ``Pool/StartError/output(option:path:reason:)``, and ``Pool/StartError/store(path:reason:)`` for a store
  /// that lies where the pool takes, moves and removes files.
  static func check(_ configuration: PoolConfiguration) throws(Pool.StartError) {
    let layout = QueueLayout(root: configuration.queue)
    let files = configuration.place.isServer ? StoreFiles.none : StoreFiles(path: configuration.store)
    if !configuration.place.isServer {
      let folders = layout.directories.filter { $0 != layout.root }
      if let folder = folders.first(where: { DirectoryGuard($0).contains(configuration.store) }) {
        throw .store(
          path: configuration.store,
          reason: "it lies in \(folder), where the pool takes and removes files; move it, or choose another path")
      }
    }
    for (option, path) in [("metrics-file", configuration.metricsFile), ("record", configuration.recording)] {
      guard let path else { continue }
      if let obstacle = OutputPath.obstacle(to: path, store: files, queue: configuration.queue) {
        throw .output(option: option, path: path, reason: obstacle)
      }
    }
    if let path = configuration.metricsFile {
      let start = OutputPath.start(of: path, PrometheusText.start.utf8.count)
      if !start.isEmpty, !start.elementsEqual(PrometheusText.start.utf8) {
        throw .output(
          option: "metrics-file", path: path, reason: "holds something other than metrics; choose another path")
      }
    }
  }
}
