import Jobs
import LinuxSystem
import PoolMetrics
import WorkerProtocol

/// The files that a pool is told to write besides its own: metrics and a record of what is said. They replace no
/// file of another kind.
enum OutputFiles {
  /// Throws ``Pool/StartError/output(option:path:reason:)``, and ``Pool/StartError/store(path:reason:)`` for a store
  /// that lies where the pool takes, moves and removes files.
  static func check(_ configuration: PoolConfiguration) throws(Pool.StartError) {
    let place = configuration.place
    let files = place.isServer ? StoreFiles.none : StoreFiles(path: configuration.store)
    if !place.isServer {
      let layout = QueueLayout(root: configuration.queue)
      let folders = layout.directories.filter { $0 != layout.root }
      if let folder = folders.first(where: { DirectoryGuard($0).contains(configuration.store) }) {
        throw .store(
          path: configuration.store,
          reason: "it lies in \(folder), where the pool takes and removes files; move it, or choose another path")
      }
    }
    let (model, queue) = (configuration.model, configuration.queue)
    if let path = configuration.recording,
      let obstacle = OutputPath.obstacle(to: path, store: files, model: model, queue: queue)
        ?? OutputPath.obstacle(to: path, appending: "a recording", whichBegins: ConversationRecorder.start)
    {
      throw .output(option: "record", path: path, reason: obstacle)
    }
    // A pool runs also if the metrics' file system does not answer.
    guard let path = configuration.metricsFile else { return }
    let answer = PatientQuestion.ask("metrics file") {
      OutputPath.obstacle(to: path, store: files, model: model, queue: queue)
        ?? OutputPath.obstacle(to: path, replacing: "metrics", whichBegin: PrometheusText.start)
    }
    if let answer, let obstacle = answer { throw .output(option: "metrics-file", path: path, reason: obstacle) }
  }
}
