import Jobs
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Where no job is claimed, jobs of a kind with a rate begin in places that the store keeps.
@Suite struct CoordinatorRatePlaceTests {
  private static let rate = JobRate(jobs: 4, period: 10)
  private var scene = Scene()

  /// The store has answered that it has room.
  private mutating func start(_ rate: JobRate = rate) {
    scene.coordinator.hands.beginTimeout = .infinity
    scene.coordinator.keepsRatePlaces = true
    scene.coordinator.now = 100
    scene.coordinator.setKinds(["index": KindRules(rate: rate)])
    #expect(asked() == [0])
    scene.coordinator.tookPlaces(0, of: "index", retryAfter: nil)
  }

  /// How many places the store is asked for since the last call.
  private mutating func asked() -> [Int] {
    scene.coordinator.takeEffects().compactMap { effect in
      if case .takePlaces(let count, of: "index", _) = effect { count } else { nil }
    }
  }

  @Test mutating func nothingBeginsBeforeTheStoreKeepsAPlaceForIt() {
    start()
    scene.coordinator.becameReady((1...3).map { job($0) })
    #expect(asked() == [], "no worker wants a job")
    #expect(scene.coordinator.demandByKind() == ["index": 3])
    let worker = scene.worker(credit: 2)
    #expect(scene.coordinator.effects.contains(.takePlaces(2, of: "index", Self.rate)))
    #expect(scene.runs() == [:])
    #expect(scene.coordinator.obstacle(to: job(1)) == nil, "it is handed out soon")
    scene.coordinator.tookPlaces(2, of: "index", retryAfter: nil)
    #expect(scene.runs() == [worker: [uri(1), uri(2)]])
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    #expect(scene.coordinator.effects.contains(.noteBeginnings([1], of: "index")))
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    #expect(asked() == [1])
  }

  /// Another answer is waited for no longer than the store has said.
  @Test mutating func aStoreWithoutRoomIsAskedAgainInTime() {
    start()
    scene.coordinator.becameReady((1...3).map { job($0) })
    let worker = scene.worker(credit: 3)
    #expect(asked() == [3])
    scene.coordinator.tookPlaces(1, of: "index", retryAfter: 7)
    #expect(scene.runs() == [worker: [uri(1)]])
    #expect(scene.coordinator.obstacle(to: job(2)) == .rate(Self.rate, until: 107))
    #expect(scene.coordinator.demandByKind() == ["index": 1])
    scene.coordinator.now = 106.9
    scene.coordinator.deadlinePassed()
    #expect(asked() == [])
    #expect(scene.coordinator.nextDeadline == 107)
    scene.coordinator.now = 107
    scene.coordinator.deadlinePassed()
    #expect(asked() == [2])
    #expect(scene.coordinator.nextDeadline == nil, "the store answers")
    scene.coordinator.tookPlaces(2, of: "index", retryAfter: nil)
    #expect(scene.runs() == [worker: [uri(2), uri(3)]])
  }

  /// What comes back has its place still, unless it has begun: it may have had effects outside the store.
  @Test mutating func aJobThatComesBackKeepsItsPlaceIfItHasNotBegun() {
    start()
    scene.coordinator.becameReady([job(1), job(2)])
    let one = scene.worker(credit: 2)
    #expect(asked() == [2])
    scene.coordinator.tookPlaces(2, of: "index", retryAfter: nil)
    #expect(scene.runs() == [one: [uri(1), uri(2)]])
    scene.coordinator.workerSaid(.begin([uri(1)]), one)
    scene.coordinator.drain(one)
    scene.coordinator.workerSaid(.returned([uri(1), uri(2)]), one)
    #expect(scene.coordinator.ratePlaces["index"]?.count == 1)
    _ = scene.coordinator.takeEffects()
    let two = scene.worker(credit: 2)
    #expect(scene.coordinator.effects.contains(.takePlaces(1, of: "index", Self.rate)))
    #expect(scene.runs().values.flatMap(\.self).count == 1)
    scene.coordinator.tookPlaces(1, of: "index", retryAfter: nil)
    #expect(scene.runs()[two]?.count == 1)
  }

  /// A kind loses its rate, many jobs run, and it gets the rate again.
  @Test mutating func whatBeganWithoutARateIsNotOwed() {
    start()
    scene.coordinator.setKinds(["index": KindRules()])
    scene.coordinator.becameReady((1...6).map { job($0) })
    let worker = scene.worker(credit: 6)
    #expect(scene.runs()[worker]?.count == 6)
    for key in 1...6 {
      scene.coordinator.workerSaid(.begin([uri(key)]), worker)
      scene.coordinator.workerSaid(.done([uri(key)]), worker)
    }
    _ = asked()
    scene.coordinator.setKinds(["index": KindRules(rate: Self.rate)])
    #expect(asked() == [0])
    #expect(scene.coordinator.ratePlaces["index"]?.count == 0)
  }

  /// A plugin goes and comes back, while a job of its kind is in hand and another one's place is free.
  @Test mutating func aKindThatComesBackHasItsPlacesStill() {
    start()
    scene.coordinator.becameReady([job(1), job(2)])
    let worker = scene.worker(credit: 2)
    #expect(asked() == [2])
    scene.coordinator.tookPlaces(2, of: "index", retryAfter: 10)
    #expect(scene.runs() == [worker: [uri(1), uri(2)]])
    scene.coordinator.setKinds([:])
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    #expect(scene.coordinator.takeEffects().contains(.noteBeginnings([1], of: "index")))
    scene.coordinator.setKinds(["index": KindRules(rate: Self.rate)])
    #expect(asked() == [])
    #expect(scene.coordinator.ratePlaces["index"]?.count == 1)
  }

  /// A twentieth of a large rate is taken ahead, so that no worker waits for the store.
  @Test mutating func aLargeRateIsTakenAhead() {
    start(JobRate(jobs: 200, period: 10))
    scene.coordinator.becameReady((1...30).map { job($0) })
    let worker = scene.worker(credit: 1)
    #expect(asked() == [10])
    scene.coordinator.tookPlaces(10, of: "index", retryAfter: nil)
    for key in 1...5 {
      #expect(scene.runs() == [worker: [uri(key)]])
      scene.end([uri(key)], worker)
    }
    scene.coordinator.dispatch()
    #expect(asked() == [6], "one is in hand, and four places are free")
  }

  @Test mutating func kindsWithoutARateTakeNoPlaces() {
    scene.coordinator.keepsRatePlaces = true
    scene.coordinator.setKinds(["index": KindRules()])
    scene.coordinator.becameReady([job(1)])
    let worker = scene.worker(credit: 1)
    #expect(scene.runs() == [worker: [uri(1)]])
    scene.coordinator.workerSaid(.begin([uri(1)]), worker)
    #expect(scene.coordinator.ratePlaces.isEmpty)
    #expect(scene.effects().allSatisfy { if case .noteBeginnings = $0 { false } else { true } })
  }
}
