import Jobs
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Jobs that wait for others.
@Suite struct DependentsTests {
  @Test func endsAreOfInterestOnlyWhileAJobWaits() {
    var scene = Scene()
    let worker = scene.worker(credit: 3)
    scene.coordinator.becameReady([job(1), job(2), job(3)])
    _ = scene.effects()
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    #expect(!scene.releases().contains { _ in true })
    scene.coordinator.checkDependents()
    #expect(scene.releases() == [[]])
    // What ends during a check is checked next.
    scene.coordinator.workerSaid(.done([uri(2)]), worker)
    #expect(scene.releases() == [])
    scene.coordinator.released([], remain: true)
    #expect(scene.releases() == [[2]])
    scene.coordinator.released([job(9)], remain: false)
    #expect(scene.runs() == [worker: [uri(9)]])
    scene.coordinator.workerSaid(.done([uri(3)]), worker)
    #expect(scene.releases() == [])
    // Where no job waits, a job that ends during a check is no reason for the next one: checks would never end.
    scene.coordinator.checkDependents()
    #expect(scene.releases() == [[]])
    scene.coordinator.workerSaid(.done([uri(9)]), worker)
    scene.coordinator.released([], remain: false)
    #expect(scene.releases() == [])
  }
}

extension Scene {
  /// The checks of dependents since the last call.
  fileprivate mutating func releases() -> [[JobKey]] {
    effects().compactMap { if case .release(let ended) = $0 { ended } else { nil } }
  }
}
