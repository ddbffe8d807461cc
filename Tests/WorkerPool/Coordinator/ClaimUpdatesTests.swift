import Jobs
import Testing
import WorkerProtocol

@testable import WorkerPool

/// How many row updates a job costs in a store that pools share: its claim, its end, and what is given back and claimed
/// again. Simulated, with a clock of its own: a pool with a few workers, and a server with a long backlog.
@Suite struct ClaimUpdatesTests {
  /// Every 40th job of a worker takes 60 ms, all others take almost nothing.
  @Test(arguments: [1, 2, 4]) func aSlowJobAmongShortOnesMakesOthersComeBackOnce(workers: Int) {
    var pool = SimulatedPool(workers: workers, credit: 100) { $0 % 40 == 0 ? 0.06 : 0.0002 }
    pool.run(seconds: 5)
    #expect(pool.updatesPerJob < 3.2, "\(pool)")
    #expect(pool.ended > workers * 2500, "\(pool)")
    #expect(pool.longestKept < 2 * WorkerHand.slowAfter + 0.01, "\(pool)")
  }

  /// The processors have other work: every tenth of a second no worker runs for 50 ms.
  @Test func workersThatStandStillNowAndThenDoNotMultiplyTheUpdates() {
    var pool = SimulatedPool(workers: 2, credit: 100) { _ in 0.0002 }
    pool.stall = (every: 0.1, seconds: 0.05)
    pool.run(seconds: 5)
    #expect(pool.updatesPerJob < 2.75, "\(pool)")
    #expect(pool.ended > 10_000, "\(pool)")
    #expect(pool.longestKept < 2 * WorkerHand.slowAfter + 0.01, "\(pool)")
  }

  /// Each worker is slow most of the time, and finds its next job at once.
  @Test(arguments: [1, 8]) func longJobsAreClaimedAFewAhead(workers: Int) {
    var pool = SimulatedPool(workers: workers, credit: 1) { _ in 0.1 }
    pool.run(seconds: 10)
    #expect(pool.updatesPerJob <= 4.1, "\(pool)")
    #expect(pool.ended > workers * 90, "\(pool)")
    #expect(pool.longestKept < 2 * WorkerHand.slowAfter + 0.01, "\(pool)")
  }

  /// With short jobs alone nothing comes back.
  @Test func shortJobsCostTwoUpdates() {
    var pool = SimulatedPool(workers: 2, credit: 100) { _ in 0.0002 }
    pool.run(seconds: 2)
    #expect(pool.updatesPerJob < 2.2, "\(pool)")
    #expect(pool.ended > 15_000, "\(pool)")
  }
}

/// A coordinator of a shared store, its workers and the server, at simulated times.
private struct SimulatedPool: CustomStringConvertible {
  private enum Event {
    case arrives([ObjectURI], WorkerID)
    case ends(ObjectURI, WorkerID)
    case returns(Int, WorkerID)
    case answers(ReadyQuery)
    case releases(keeping: Set<JobKey>)
  }

  /// Seconds of a statement of the server, and of a message between processes.
  private static let statement = 0.002
  private static let message = 0.0001

  private var coordinator = Coordinator()
  private var events: [(time: Double, number: Int, event: Event)] = []
  private var lastEvent = 0
  private var hands: [WorkerID: [ObjectURI]] = [:]
  private var running: [WorkerID: ObjectURI] = [:]
  private let seconds: (Int) -> Double
  /// Pauses in which no worker runs.
  var stall: (every: Double, seconds: Double)?

  private var serverIsFreeAt = 0.0
  private var free = Array((1...200_000).map { JobKey($0) }.reversed())
  private var claimed: Set<JobKey> = []
  private var given = 0
  private(set) var ended = 0
  private var taken = 0
  /// Since when all workers run jobs, and the longest time for which claimed jobs lay here meanwhile.
  private var busySince: Double?
  private(set) var longestKept = 0.0

  var updatesPerJob: Double { Double(taken + given + ended) / Double(max(1, ended)) }
  var description: String {
    "\(ended) ended, \(taken) claimed, \(given) given back: \(updatesPerJob) updates, kept for \(longestKept) s"
  }

  init(workers: Int, credit: Int, seconds: @escaping (Int) -> Double) {
    self.seconds = seconds
    coordinator.jobURIs = JobURIs(store: "POOL")
    coordinator.claims = Claims()
    coordinator.setKinds(["index": KindRules(limit: nil, rate: nil)])
    coordinator.workersWanted(workers)
    for number in 1...workers {
      coordinator.workerCameUp(WorkerID(number: number), kinds: ["index"])
      coordinator.workerSaid(.credit(credit), WorkerID(number: number))
    }
    perform()
  }

  mutating func run(seconds: Double) {
    while coordinator.now < seconds {
      let next = events.indices.min { (events[$0].time, events[$0].number) < (events[$1].time, events[$1].number) }
      let deadline = coordinator.nextDeadline ?? .infinity
      noteKept(until: min(deadline, next.map { events[$0].time } ?? .infinity))
      guard let next, events[next].time <= deadline else {
        if deadline == .infinity { return }
        coordinator.now = max(coordinator.now, deadline)
        coordinator.deadlinePassed()
        perform()
        continue
      }
      coordinator.now = max(coordinator.now, events[next].time)
      handle(events.remove(at: next).event)
      perform()
    }
  }

  private mutating func happen(after delay: Double, _ event: Event) {
    lastEvent += 1
    events.append((coordinator.now + delay, lastEvent, event))
  }

  private mutating func ask(_ event: Event) {
    serverIsFreeAt = max(coordinator.now, serverIsFreeAt) + Self.statement
    happen(after: serverIsFreeAt - coordinator.now, event)
  }

  private mutating func perform() {
    for effect in coordinator.takeEffects() {
      switch effect {
      case .send(.run(let uris), let id): happen(after: Self.message, .arrives(uris, id))
      case .send(.recall(let count), let id): happen(after: Self.message, .returns(count, id))
      case .fetchReady(let query): ask(.answers(query))
      case .releaseClaims(_, let kept): ask(.releases(keeping: Set(kept)))
      default: break
      }
    }
  }

  private mutating func handle(_ event: Event) {
    switch event {
    case .arrives(let uris, let id):
      hands[id, default: []] += uris
      begin(id)
    case .ends(let uri, let id):
      running[id] = nil
      busySince = nil
      ended += 1
      if let key = coordinator.jobURIs.key(uri) { claimed.remove(key) }
      coordinator.workerSaid(.done([uri]), id)
      begin(id)
    case .returns(let count, let id):
      let hand = hands[id] ?? []
      hands[id] = Array(hand.dropLast(count))
      if !hand.isEmpty { coordinator.workerSaid(.returned(hand.suffix(count)), id) }
    case .answers(let query): answer(query)
    case .releases(let kept):
      let released = claimed.subtracting(kept)
      given += released.count
      claimed.formIntersection(kept)
      putBack(released)
    }
  }

  /// Jobs are free again. They are among the first of the backlog, whose end is not touched.
  private mutating func putBack(_ released: Set<JobKey>) {
    guard let last = released.max() else { return }
    var first = Array(released)
    while let next = free.last, next < last { first.append(free.removeLast()) }
    free += first.sorted(by: >)
  }

  private mutating func begin(_ id: WorkerID) {
    guard running[id] == nil, let uri = hands[id]?.first, let key = coordinator.jobURIs.key(uri) else { return }
    hands[id]?.removeFirst()
    running[id] = uri
    coordinator.workerSaid(.begin([uri]), id)
    var seconds = seconds(Int(key))
    if let stall {
      let next = (coordinator.now / stall.every).rounded(.up) * stall.every
      if coordinator.now + seconds >= next { seconds += stall.seconds }
    }
    happen(after: seconds, .ends(uri, id))
    if running.count == coordinator.hands.workers.all.count { busySince = coordinator.now }
  }

  private mutating func answer(_ query: ReadyQuery) {
    let new = Array(free.suffix(query.claims))
    free.removeLast(new.count)
    claimed.formUnion(new)
    taken += new.count
    let jobs = claimed.sorted().prefix(query.limit).map { job(Int($0)) }
    let areMore = new.count == query.claims || jobs.count >= query.limit
    coordinator.fetched(query, jobs, isComplete: !areMore)
  }

  /// Other pools could run what is claimed here while all workers are busy.
  private mutating func noteKept(until time: Double) {
    guard let busySince, time < .infinity, claimed.count > running.count else { return }
    longestKept = max(longestKept, time - busySince)
  }
}
