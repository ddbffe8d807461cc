import Jobs
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Pausing, cancelling and closing, and the time that a job has.
@Suite struct CoordinatorControlTests {
  /// Otherwise a worker that says the same again and again would never be out of time.
  @Test func aRepeatedBeginPutsOffNoDeadline() {
    var scene = Scene()
    let worker = scene.worker(credit: 2)
    scene.coordinator.becameReady([job(1, timeout: 10), job(2, timeout: 10)])
    scene.coordinator.workerSaid(.begin([uri(1), uri(2)]), worker)
    let first = scene.coordinator.nextDeadline
    scene.coordinator.now = 3
    scene.coordinator.workerSaid(.begin([uri(1), uri(2)]), worker)
    #expect(scene.coordinator.nextDeadline == first)
    // The group failed, so the job begins once more, alone.
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    #expect(scene.coordinator.nextDeadline == first.map { $0 + 3 })
    scene.coordinator.now = 6
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    #expect(scene.coordinator.nextDeadline == first.map { $0 + 3 })
  }

  @Test func aRunningJobThatIgnoresItsCancellationIsStoppedWithItsProcess() {
    var scene = Scene()
    let worker = scene.worker(credit: 1)
    scene.coordinator.becameReady([job(1)])
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    scene.coordinator.now = 50
    scene.coordinator.cancel(1)
    #expect(scene.coordinator.nextDeadline == 50 + Coordinator.stopGrace)
    scene.coordinator.now = 50 + Coordinator.stopGrace
    scene.coordinator.deadlinePassed()
    #expect(scene.effects().contains(.killTimedOut(worker)))
    scene.coordinator.workerDied(worker, obituary(.timedOut))
    #expect(scene.effects().contains(.settle([1], .cancelled)))
  }

  /// A queue that was paused by its name was paused for a reason of its own.
  @Test func aPauseByNameOutlivesThatOfTheWholePool() {
    var scene = Scene()
    let worker = scene.worker(credit: 2)
    scene.coordinator.pause(.queue("mail"))
    scene.coordinator.pause(.everything)
    scene.coordinator.resume(.everything)
    scene.fetched("index", [job(1, queue: "mail"), job(2)])
    #expect(scene.runs() == [worker: [uri(2)]])
    #expect(!scene.coordinator.pauses.all && scene.coordinator.pauses.queues == ["mail"])
  }

  @Test func closingIsNoPause() {
    var scene = Scene()
    let worker = scene.worker(credit: 1)
    scene.coordinator.close()
    scene.coordinator.resume(.everything)
    scene.coordinator.becameReady([job(1)])
    #expect(scene.runs() == [:] && scene.coordinator.pauses == JobPauses())
    _ = worker
  }
}
