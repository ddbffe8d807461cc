import Jobs
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Why a ready job is not handed out: the reason is that of the decision itself.
@Suite struct CoordinatorObstacleTests {
  /// Checks that a job waits for that reason, and who holds its place.
  private func check(
    _ scene: inout Scene, _ job: WindowJob, _ obstacle: Obstacle?, heldBy holders: [Int] = [],
    location: SourceLocation = #_sourceLocation
  ) {
    #expect(scene.coordinator.obstacle(to: job) == obstacle, sourceLocation: location)
    let named = obstacle.map { scene.coordinator.holders(of: $0, for: job) } ?? []
    #expect(named.map(\.job.key) == holders.map { JobKey($0) }, sourceLocation: location)
    #expect((scene.runs().values.joined().contains(uri(Int(job.key)))) == false, sourceLocation: location)
  }

  @Test func aLimitIsNamedWithTheJobThatHoldsThePlace() {
    var scene = Scene(kinds: ["index": 1])
    let worker = scene.worker(credit: 1)
    _ = scene.worker(credit: 1)
    scene.coordinator.becameReady([job(1), job(2)])
    #expect(scene.runs()[worker] == [uri(1)])
    check(&scene, job(2), .kindLimit(1), heldBy: [1])
  }

  @Test func limitsThatAreNotReachedAreListed() {
    var scene = Scene(kinds: ["index": 3, "mail": nil], queueLimits: ["slow": 2, "tenant-*": 1])
    _ = scene.worker(credit: 1)
    scene.coordinator.becameReady([job(1, queue: "slow")])
    _ = scene.runs()
    #expect(
      PoolStatus.Limit.all(of: scene.coordinator) == [
        .init(kind: "index", limit: 3, held: 1), .init(queue: "slow", limit: 2, held: 1),
        .init(queue: "tenant-*", limit: 1, held: nil),
      ])
  }

  @Test func aLimitKeyIsNamedWithTheJobThatHoldsThePlace() {
    var scene = Scene()
    _ = scene.worker(credit: 1)
    _ = scene.worker(credit: 1)
    scene.coordinator.becameReady([job(1, key: "tenant"), job(2, key: "tenant")])
    _ = scene.runs()
    check(&scene, job(2, key: "tenant"), .full(.key("tenant"), limit: 1), heldBy: [1])
  }

  @Test func aQueuesLimitAndItsPauseAreNamed() {
    var scene = Scene(queueLimits: ["mail": 1])
    _ = scene.worker(credit: 1)
    _ = scene.worker(credit: 1)
    scene.coordinator.becameReady([job(1, queue: "mail"), job(2, queue: "mail")])
    _ = scene.runs()
    check(&scene, job(2, queue: "mail"), .full(.queue("mail"), limit: 1), heldBy: [1])
    scene.coordinator.pause(.queue("mail"))
    check(&scene, job(2, queue: "mail"), .paused(.queue("mail")))
  }

  @Test func aKindWaitsForRoomWhileAllItsJobsAreInFullGroups() {
    var scene = Scene(queueLimits: ["mail": 1])
    _ = scene.worker(credit: 1)
    scene.coordinator.becameReady([job(1, queue: "mail")])
    _ = scene.runs()
    #expect(!scene.coordinator.waitsForRoom("index"), "none waits")
    scene.coordinator.becameReady([job(2, queue: "mail")])
    _ = scene.runs()
    #expect(scene.coordinator.waitsForRoom("index"))
    scene.coordinator.becameReady([job(3)])
    #expect(!scene.coordinator.waitsForRoom("index"), "a job waits for a worker alone")
  }

  @Test func aRateIsNamedWithTheTimeWhenThereIsRoom() {
    let rate = JobRate(jobs: 1, period: 60)
    var scene = Scene(rate: rate)
    scene.coordinator.now = 100
    let worker = scene.worker(credit: 1)
    _ = scene.worker(credit: 1)
    scene.coordinator.becameReady([job(1), job(2)])
    #expect(scene.runs() == [worker: [uri(1)]])
    check(&scene, job(2), .rate(rate, until: nil), heldBy: [1])
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    check(&scene, job(2), .rate(rate, until: 160))
    scene.coordinator.now = 161
    #expect(scene.coordinator.obstacle(to: job(2)) == nil)
  }

  @Test func pausesAndKindsWithoutAPluginAreNamed() {
    var scene = Scene()
    _ = scene.worker(credit: 1)
    check(&scene, job(1, kind: "unknown"), .noPlugin)
    scene.coordinator.pause(.kind("index"))
    scene.coordinator.becameReady([job(1)])
    check(&scene, job(1), .paused(.kind("index")))
    scene.coordinator.pause(.everything)
    check(&scene, job(1), .paused(.everything))
  }

  @Test func pausedQueuesAndFullGroupsAreNamedWithoutAJob() {
    var scene = Scene(queueLimits: ["mail": 1])
    _ = scene.worker(credit: 4)
    #expect(scene.coordinator.groupObstacles() == [])
    scene.coordinator.becameReady([
      job(1, queue: "mail"), job(2, queue: "mail"), job(3, key: "tenant"), job(4, key: "tenant"),
    ])
    _ = scene.runs()
    scene.coordinator.pause(.queue("slow"))
    let obstacles = scene.coordinator.groupObstacles()
    #expect(obstacles.count == 3 && obstacles.first == .paused(.queue("slow")))
    #expect(obstacles.contains(.full(.queue("mail"), limit: 1)))
    #expect(obstacles.contains(.full(.key("tenant"), limit: 1)))
  }

  @Test func busyWorkersAreNamedWithTheirJobs() {
    var scene = Scene(kinds: ["index": nil, "import": nil])
    let worker = scene.worker(credit: 1, kinds: ["index", "import"])
    scene.coordinator.becameReady([job(1, kind: "import"), job(2)])
    _ = scene.runs()
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    check(&scene, job(2), .workersBusy, heldBy: [1])
    #expect(scene.coordinator.countAhead(of: job(2)) == 0)
  }

  @Test func aJobInAWorkersHandWaitsForTheJobBeforeIt() {
    var scene = Scene()
    let worker = scene.worker(credit: 2)
    scene.coordinator.becameReady([job(1), job(2)])
    _ = scene.runs()
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    check(&scene, job(2), .inHand(worker), heldBy: [1])
  }
}
