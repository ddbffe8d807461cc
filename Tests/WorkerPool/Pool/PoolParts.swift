import Foundation
import Jobs
import TestFiles

@testable import WorkerPool

/// What the parts of a pool share, without processes and with a store that answers nothing: a test hands the parts
/// their events.
final class PoolParts {
  let source = MemoryJobSource([])
  let log = Collected<LogRecord>()
  let core: PoolCore
  let ready: ReadyJobs
  let directory: URL
  /// The deadlines with which the pool was told to stop.
  var stops: [Double] = []

  init() throws {
    directory = temporaryURL("parts")
    for name in ["incoming", "periodic", "run"] {
      try FileManager.default.createDirectory(
        at: directory.appendingPathComponent(name), withIntermediateDirectories: true)
    }
    let configuration = PoolConfiguration(
      store: directory.path + "/app.sqlite", model: directory.path + "/App.xcdatamodel", queue: directory.path)
    core = PoolCore(configuration, loop: try EventLoop(), log: .records { [log] in log.add($0) }, source: source)
    core.coordinator.jobURIs = FakeJob.uris
    ready = ReadyJobs(core)
    core.stop = { [weak self] deadline in
      self?.core.phase = .stopping
      self?.stops.append(deadline)
    }
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  /// Turns the loop until the condition holds, or for a while; returns whether it holds.
  func turn(until isSatisfied: () -> Bool) -> Bool {
    let end = Date(timeIntervalSinceNow: Double(TestLimit.seconds))
    while !isSatisfied(), Date() < end { core.loop.turn(milliseconds: 100) }
    return isSatisfied()
  }

  /// A worker of the kind "fake" that takes so many jobs. The coordinator knows that the store has none yet.
  func addWorker(credit: Int) {
    core.coordinator.setKinds(["fake": KindRules(limit: nil, rate: nil)])
    while let query = core.coordinator.windows.fetching.first.flatMap({ core.coordinator.windows[$0]?.query }) {
      core.coordinator.fetched(query, [], isComplete: true)
    }
    let id = WorkerID(number: 1)
    core.coordinator.workerCameUp(id, kinds: ["fake"])
    core.coordinator.workerSaid(.credit(credit), id)
    _ = core.coordinator.takeEffects()
  }

  /// The jobs that the coordinator wants sent to workers.
  func runs() -> [JobKey] {
    core.coordinator.takeEffects().flatMap { effect -> [JobKey] in
      guard case .send(.run(let uris), _) = effect else { return [] }
      return uris.compactMap(core.coordinator.jobURIs.key)
    }
  }
}
