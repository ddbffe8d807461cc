import Jobs
import LinuxSystem
import Testing
import WorkerProtocol

@testable import WorkerPool

/// Many queues, and limits of queues and keys. The store is a sorted array.
@Suite struct CoordinatorGroupTests {
  /// A store that answers at once, and counts what it was asked for.
  private struct Store {
    var ready: [WindowJob]
    var queries: [ReadyQuery] = []
    var rows = 0

    mutating func answer(_ scene: inout Scene) {
      while let query = scene.queries().first {
        let fetched = ready.filter { job in
          query.kind == job.kind && query.groups.isSubset(of: job.groups) && query.without.isDisjoint(with: job.groups)
            && query.after.map { $0 < job.position } ?? true
        }.sorted { $0.precedes($1) }.prefix(query.limit)
        queries.append(query)
        rows += fetched.count
        scene.coordinator.fetched(query, Array(fetched), isComplete: fetched.count < query.limit)
      }
    }

    /// Runs all jobs with one worker that holds a few; the order in which they were handed out.
    mutating func runAll(_ scene: inout Scene, credit: Int = 8) -> [ObjectURI] {
      let worker = scene.worker(credit: credit)
      var order: [ObjectURI] = []
      while true {
        answer(&scene)
        let uris = scene.runs()[worker] ?? []
        if uris.isEmpty, scene.queries().isEmpty { return order }
        order += uris
        let done = Set(uris.map(\.key))
        ready.removeAll { done.contains($0.key) }
        scene.coordinator.workerSaid(.begin(uris), worker)
        scene.coordinator.workerSaid(.done(uris), worker)
      }
    }
  }

  /// One queue with 5,000 jobs and 5,000 queues with one each ask the store for the same.
  @Test func manyQueuesCostTheStoreWhatOneCosts() {
    var asked: [[ReadyQuery]] = []
    for queues in [1, 5000] {
      var scene = Scene()
      var store = Store(ready: (1...5000).map { job($0, queue: "q\($0 % queues)") })
      scene.refetch()
      #expect(store.runAll(&scene) == (1...5000).map(uri))
      #expect(store.rows < 2 * 5000, "\(queues) queues: \(store.rows) rows were read")
      #expect(scene.coordinator.windows.all.count == 1)
      asked.append(store.queries)
    }
    #expect(asked[0] == asked[1])
  }

  /// So do 5,000 limit keys with one job each.
  @Test func manyLimitKeysCostTheStoreWhatNoneCost() {
    var scene = Scene()
    var store = Store(ready: (1...5000).map { job($0, key: "k\($0)") })
    scene.refetch()
    #expect(store.runAll(&scene) == (1...5000).map(uri))
    #expect(store.rows < 2 * 5000)
    #expect(scene.coordinator.groups.inHand.isEmpty && scene.coordinator.windows.parkedIn.isEmpty)
  }

  /// Kinds that no plugin runs are never asked for.
  @Test func kindsWithoutAPluginCostNothing() {
    var scene = Scene()
    _ = scene.worker(credit: 1)
    scene.coordinator.becameReady((1...1000).map { job($0, kind: "unknown \($0)") })
    scene.refetch()
    #expect(scene.queries().map(\.kind) == ["index"])
    #expect(scene.coordinator.windows.all.count == 1 && scene.coordinator.kinds.active.isEmpty)
  }

  /// What waits behind a full key is read once, and not again with each job that ends.
  @Test func aFullKeyIsNotReadAgainWithEachEvent() {
    var scene = Scene()
    let worker = scene.worker(credit: 4)
    var store = Store(ready: (1...20_000).map { job($0, key: "big") } + (20_001...20_300).map { job($0) })
    scene.refetch()
    store.answer(&scene)
    #expect(scene.runs()[worker]?.prefix(2) == [uri(1), uri(20_001)])
    let rows = store.rows
    #expect(rows < 3000, "the index is passed over in the store, not here: \(rows) rows")
    var next = 20_001
    for _ in 0..<250 {
      scene.coordinator.workerSaid(.done([uri(next)]), worker)
      next += 1
      store.answer(&scene)
      _ = scene.effects()
    }
    #expect(store.rows == rows && store.queries.count <= 3, "\(store.queries)")
  }

  /// Keys with a long backlog each, full most of the time: each job is read about twice.
  @Test func jobsOfLimitedKeysAreReadAFewTimesEach() {
    var scene = Scene()
    var store = Store(ready: (1...3000).map { job($0, key: "k\($0 / 300)") })
    scene.refetch()
    let order = store.runAll(&scene, credit: 64)
    #expect(Set(order) == Set((1...3000).map(uri)) && order.count == 3000)
    #expect(store.rows < 4 * 3000, "\(store.rows) rows")
  }

  // MARK: Limits of queues

  @Test func aQueuesLimitHoldsOverAllKindsAndTheOthersPassIt() {
    var scene = Scene(kinds: ["index": nil, "export": nil], queueLimits: ["mail": 2])
    scene.coordinator.becameReady(
      [1, 2, 3].map { job($0, queue: "mail", priority: 9) } + [job(4, kind: "export", queue: "mail", priority: 5)]
        + [job(5)])
    let worker = scene.worker(credit: 10, kinds: ["index", "export"])
    #expect(scene.runs() == [worker: [uri(1), uri(2), uri(5)]])
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    #expect(scene.runs() == [worker: [uri(3)]])
    scene.coordinator.workerSaid(.done([uri(2), uri(3)]), worker)
    #expect(scene.runs() == [worker: [uri(4)]])
  }

  @Test func eachQueueThatMatchesAPatternHasTheLimit() {
    var scene = Scene(queueLimits: ["tenant-*": 1])
    scene.coordinator.becameReady((1...3000).map { job($0, queue: "tenant-\($0 % 1000)") })
    let worker = scene.worker(credit: 2000)
    #expect(scene.runs()[worker]?.count == 1000, "one of each tenant")
    scene.coordinator.workerSaid(.done([uri(7)]), worker)
    #expect(scene.runs() == [worker: [uri(1007)]])
  }

  /// A queue's name goes before patterns, and the longest pattern before the others.
  @Test func theMostSpecificLimitOfAQueueCounts() {
    let limits = QueueLimits(["tenant-*": 1, "tenant-big-*": 5, "tenant-7": 9, "*-end": 3])
    #expect(limits.limit(of: "tenant-1") == 1)
    #expect(limits.limit(of: "tenant-big-1") == 5)
    #expect(limits.limit(of: "tenant-7") == 9)
    #expect(limits.limit(of: "the-end") == 3 && limits.limit(of: "-end") == 3 && limits.limit(of: "end") == nil)
    #expect(limits.limit(of: "tenant") == nil && limits.limit(of: "default") == nil)
    #expect(QueueLimits(["a*b*c": 1]).limit(of: "aXbYc") == 1 && QueueLimits(["a*b*c": 1]).limit(of: "acb") == nil)
    #expect(QueueLimits(["ab*ba": 1]).limit(of: "aba") == nil, "the parts do not overlap")
  }

  /// What a worker of an earlier pool still runs counts against its queue's limit.
  @Test func aQueuesLimitHoldsAcrossPools() {
    var scene = Scene(queueLimits: ["mail": 1])
    scene.coordinator.setSurvivorJobs([
      InheritedJob(key: 1, process: ProcessIdentity(pid: 7, start: 1), kind: "index", queue: "mail")
    ])
    scene.coordinator.becameReady([job(2, queue: "mail")])
    let worker = scene.worker(credit: 10)
    #expect(scene.runs() == [:])
    scene.coordinator.setSurvivorJobs([])
    #expect(scene.runs() == [worker: [uri(2)]])
  }

  /// A job that waits for its queue and its key is let go when both have room, whichever comes first.
  @Test func aJobWaitsForItsQueueAndItsKey() {
    for first in [1, 2] {
      var scene = Scene(queueLimits: ["mail": 1])
      scene.coordinator.becameReady([job(1, queue: "mail"), job(2, key: "k")])
      let worker = scene.worker(credit: 10)
      _ = scene.runs()
      scene.coordinator.becameReady([job(3, queue: "mail", key: "k")])
      #expect(scene.runs() == [:])
      scene.coordinator.workerSaid(.done([uri(first)]), worker)
      #expect(scene.runs() == [:])
      scene.coordinator.workerSaid(.done([uri(3 - first)]), worker)
      #expect(scene.runs() == [worker: [uri(3)]])
    }
  }

  /// A parked job that is cancelled keeps no other from its place.
  @Test func aCancelledJobGivesItsPlaceToTheNextOfItsKey() {
    var scene = Scene()
    scene.coordinator.becameReady((1...3).map { job($0, key: "k") })
    let worker = scene.worker(credit: 10)
    #expect(scene.runs() == [worker: [uri(1)]])
    scene.coordinator.pause(.kind("index"))
    scene.coordinator.workerSaid(.done([uri(1)]), worker)
    _ = scene.effects()
    scene.coordinator.cancel(2)
    scene.coordinator.resume(.kind("index"))
    #expect(scene.runs() == [worker: [uri(3)]])
  }

  /// A queue with very many jobs is paused: what lies behind them runs, and what was left out comes when it goes on.
  @Test func aPausedQueueWithManyJobsHidesNothingAndIsWholeAgainLater() {
    var scene = Scene()
    scene.coordinator.pause(.queue("slow"))
    var store = Store(ready: (1...5000).map { job($0, queue: "slow", priority: 1) } + [job(6000)])
    scene.refetch()
    #expect(store.runAll(&scene) == [uri(6000)])
    #expect(store.rows < 2 * JobWindow.size, "\(store.rows) rows")
    scene.coordinator.resume(.queue("slow"))
    let worker = WorkerID(number: 1)
    var order: [ObjectURI] = []
    for _ in 0..<2000 {
      store.answer(&scene)
      guard let uris = scene.runs()[worker] else { break }
      order += uris
      store.ready.removeAll { uris.contains(uri(Int($0.key))) }
      scene.coordinator.workerSaid(.done(uris), worker)
    }
    #expect(order == (1...5000).map(uri))
  }

  // MARK: The order

  /// A job that came while the store was asked is not lost behind the answer.
  @Test func aJobThatCameDuringAFetchIsThere() {
    // Loop                              Store
    // fetchReady after p1000 ────────▶  reads p1001 … p2000
    // p1500 becomes ready
    // fetched p1001 … ◀──────────────   (p1500 is not among them)
    var scene = Scene()
    scene.refetch()
    scene.fetched("index", (1...JobWindow.size).map { job($0) }, isComplete: false)
    let worker = scene.worker(credit: 600)
    #expect(scene.runs()[worker]?.count == 600)
    #expect(scene.queries().first?.after == job(1000).position)
    scene.coordinator.becameReady([job(1500)])
    scene.fetched("index", (1001...2000).filter { $0 != 1500 }.map { job($0) }, isComplete: false)
    scene.coordinator.workerSaid(.credit(2000), worker)
    #expect(scene.runs()[worker]?.contains(uri(1500)) == true)
  }

  /// Nothing is handed out behind what is known: a better job may lie in between.
  @Test func nothingIsHandedOutBehindTheFrontier() {
    var scene = Scene()
    scene.refetch()
    scene.fetched("index", (1...10).map { job($0, key: "k") } + [job(11)], isComplete: false)
    let worker = scene.worker(credit: 50)
    #expect(scene.runs() == [worker: [uri(1), uri(11)]])
    scene.coordinator.becameReady([job(99)])
    #expect(scene.runs() == [:], "the store knows what is between 11 and 99")
    scene.fetched("index", [job(50), job(99)])
    #expect(scene.runs() == [worker: [uri(50), uri(99)]])
  }

  /// A slow refetch is not repeated at once.
  @Test func looksThatTakeLongAreSeldom() {
    var scene = Scene()
    scene.refetch()
    guard let query = scene.queries().first else { return #expect(Bool(false)) }
    scene.coordinator.now = 100
    scene.coordinator.fetched(query, [job(1)], isComplete: true, seconds: 0.2)
    scene.refetch()
    #expect(scene.queries().isEmpty)
    #expect(scene.coordinator.nextDeadline == 102)
    scene.coordinator.becameReady([job(2)])
    let worker = scene.worker(credit: 5)
    #expect(scene.runs() == [worker: [uri(1), uri(2)]], "what is told of does not wait")
    scene.coordinator.now = 102
    scene.coordinator.deadlinePassed()
    #expect(scene.queries().count == 1)
  }
}
