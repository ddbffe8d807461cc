import Jobs
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Workers that hold jobs and begin none: their jobs come back, and jobs that have begun are never taken away.
@Suite struct CoordinatorHesitationTests {
  private let timeout = Coordinator().hands.beginTimeout

  /// A worker with two jobs in hand, of which none has begun.
  private func scene() -> (Scene, WorkerID) {
    var scene = Scene()
    scene.coordinator.becameReady([job(1), job(2)])
    let worker = scene.worker(credit: 2)
    _ = scene.effects()
    return (scene, worker)
  }

  /// Lets time pass, and its deadlines with it.
  private func pass(_ seconds: Double, _ scene: inout Scene) {
    let end = scene.coordinator.now + seconds
    while let deadline = scene.coordinator.nextDeadline, deadline <= end {
      scene.coordinator.now = deadline
      scene.coordinator.deadlinePassed()
    }
    scene.coordinator.now = end
  }

  @Test func aHandThatIsNotBegunIsAskedBackAndThenTakenFromAKilledProcess() {
    var (scene, worker) = scene()
    pass(timeout - 1, &scene)
    #expect(scene.effects() == [])
    pass(1, &scene)
    #expect(scene.effects() == [.replaceHesitant(worker, jobs: 2)])
    // As the supervisor does.
    scene.coordinator.drain(worker)
    _ = scene.effects()
    pass(timeout, &scene)
    #expect(scene.effects() == [.killHesitant(worker)])
    #expect(scene.coordinator.hands.jobs.count == 2, "until its process has ended the jobs are its own")
    let other = scene.worker(credit: 2)
    scene.coordinator.workerDied(
      worker, Obituary(pid: 1, death: .signalled(9), cause: .hung(seconds: 2), lastLines: []))
    #expect(scene.runs() == [other: [uri(1), uri(2)]], "no crash is counted")
  }

  @Test func aHandThatComesBackGoesToAnotherWorker() {
    var (scene, worker) = scene()
    pass(timeout, &scene)
    scene.coordinator.drain(worker)
    scene.coordinator.workerSaid(.returned([uri(1), uri(2)]), worker)
    _ = scene.effects()
    let other = scene.worker(credit: 2)
    #expect(scene.runs() == [other: [uri(1), uri(2)]])
    scene.coordinator.workerSaid(.begin([uri(1)]), other)
    pass(3 * timeout, &scene)
    #expect(scene.effects() == [], "a job that has begun takes as long as it needs")
  }

  /// The worker goes on to its second job, and never begins it.
  @Test func whatIsLeftOfAHandCountsFromTheEndOfTheLastJob() {
    var (scene, worker) = scene()
    pass(1, &scene)
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    pass(2 * timeout, &scene)
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    _ = scene.effects()
    pass(timeout - 1, &scene)
    #expect(scene.effects() == [])
    pass(1, &scene)
    #expect(scene.effects() == [.replaceHesitant(worker, jobs: 1)])
  }

  @Test func aStoreThatCannotBeWrittenIsNotTheWorkersFault() {
    var (scene, worker) = scene()
    scene.coordinator.workerSaid(.waiting(.locked, [uri(1)]), worker)
    pass(5 * timeout, &scene)
    #expect(scene.effects() == [])
    scene.coordinator.workerSaid(.waiting(.over, [uri(1)]), worker)
    pass(timeout - 1, &scene)
    #expect(scene.effects() == [])
    pass(1, &scene)
    #expect(scene.effects() == [.replaceHesitant(worker, jobs: 2)])
  }
}
