import Jobs
import WorkerProtocol

/// Decides which worker gets which job, and keeps account of who holds what.
///
/// A pure state machine: it gets events with their time, and leaves what should happen in `effects`. It touches no
/// socket, store or process. It runs on the loop's thread.
///
/// Its parts keep the account. Each changes its own state alone, and knows none of the others; what an event means for
/// several of them stands here and in the extensions.
struct Coordinator {
  /// Seconds that a job gets to stop when it was asked to; then its process is killed.
  static let stopGrace = 5.0

  /// Seconds of the monotonic clock; set before each event.
  var now = 0.0
  var effects: [CoordinatorEffect] = []
  /// Something has happened since the last dispatch that may let jobs be handed out.
  var mustDispatch = false
  /// Turns keys into the URIs by which workers know the jobs.
  var jobURIs = JobURIs(store: "")
  /// Whether jobs of a kind with a rate begin in places that the store keeps: where no job is claimed.
  var keepsRatePlaces = false
  var pauses = JobPauses()
  /// The pool ends: nothing is handed out any more.
  var isClosed = false
  /// Nothing is handed out for now: another program is about to take this one's place.
  var isHeld = false
  /// Jobs whose settlement is being written.
  var settling: Set<JobKey> = []

  // MARK: Parts

  /// The workers, and who holds which job.
  var hands = Hands()
  /// The ready jobs.
  var windows = JobWindows()
  var kinds = KindTable()
  /// The places of the kinds that have a rate, or had one.
  var ratePlaces: [String: RatePlaces] = [:]
  var groups = GroupLimits()
  var weights = QueueWeights()
  /// Nil in a store that no other pool uses.
  var claims: Claims?
  var dependents = Dependents()
  var survivors = SurvivorJobs()
  var statistics = JobStatistics()

  /// Notes for the next pool who holds what. Nil in tests that need none.
  var ledger: JobLedger? {
    get { hands.ledger }
    set { hands.ledger = newValue }
  }

  /// Takes the effects, in order.
  ///
  /// Jobs are handed out here, once for all events since the last call.
  mutating func takeEffects() -> [CoordinatorEffect] {
    dispatchIfNeeded()
    defer { effects.removeAll(keepingCapacity: true) }
    return effects
  }

  /// Hands out jobs if something has come since the last time.
  mutating func dispatchIfNeeded() {
    guard mustDispatch else { return }
    mustDispatch = false
    dispatch()
  }

  /// A worker said a valid hello.
  mutating func workerCameUp(_ id: WorkerID, kinds: [String]) {
    hands.add(id, kinds: kinds)
    effects.append(.send(.welcome(version: ProtocolVersion.current), to: id))
    effects.append(.demandChanged)
  }

  /// A worker said something after its hello.
  mutating func workerSaid(_ message: WorkerMessage, _ id: WorkerID) {
    guard hands.workers[id] != nil else { return }
    switch message {
    case .hello:
      effects.append(.dismiss(id, .message))
    case .credit(let count): setCredit(count, id)
    case .begin(let uris): begin(inHand(uris, of: id), id)
    case .progress(let uri, let done, let total):
      for job in inHand([uri], of: id) { hands.setProgress(of: job, done: done, total: total) }
    case .waiting(let reason, let uris): hands.wait(inHand(uris, of: id), reason, by: id, now: now)
    case .saved(let change, let objects): saved(change, objects, by: id)
    case .done(let uris):
      let count = endAttempts(inHand(uris, of: id), \.done)
      statistics.count(\.done, count)
      if count > 0 {
        hands.noteWork(by: id)
        effects.append(.worked(id, jobs: count))
      }
      mustDispatch = true
    case .failed(let uri):
      let count = endAttempts(inHand([uri], of: id), \.failed)
      guard count > 0 else { return }
      hands.noteWork(by: id)
      statistics.count(\.failed, count)
      effects.append(.worked(id, jobs: count))
      effects.append(.promoteDueJobs)
      mustDispatch = true
    case .settle(let outcome, let uri, let run): settle(outcome, uri, run: run, id)
    case .returned(let uris): returned(inHand(uris, of: id), id)
    case .pong: break
    case .nudge:
      refetchAll()
      checkDependents()
      effects.append(.promoteDueJobs)
    }
  }

  /// Those of the jobs that the worker holds; it cannot speak for others.
  func inHand(_ uris: [ObjectURI], of id: WorkerID) -> [JobKey] {
    uris.compactMap(jobURIs.key).filter { hands.jobs[$0]?.worker == id }
  }

  private mutating func setCredit(_ count: Int, _ id: WorkerID) {
    let surplus = hands.setCredit(count, of: id)
    mustDispatch = true
    if surplus > 0 { recall(surplus, from: id) }
  }

  /// Tells the worker to finish what it has begun and to exit.
  mutating func drain(_ id: WorkerID) {
    guard hands.workers[id]?.isDraining == false else { return }
    hands.drain(id)
    effects.append(.send(.drain, to: id))
    noteIfEmptied(id)
  }

  mutating func noteIfEmptied(_ id: WorkerID) {
    if hands.workers[id]?.isEmptied == true { effects.append(.emptied(id)) }
  }

  /// The worker closed its connection. It keeps its jobs until its process has ended.
  mutating func workerLeft(_ id: WorkerID) { hands.drain(id) }

  private mutating func begin(_ said: [JobKey], _ id: WorkerID) {
    let isGroup = said.count > 1
    let jobs = said.filter { hands.jobs[$0]?.mayBegin(withOthers: isGroup) ?? false }
    if jobs.isEmpty { return }
    for job in jobs {
      guard let entry = hands.jobs[job] else { continue }
      if let former = entry.begunAt {
        takeBackBeginning(of: entry.job, at: former)
      } else {
        statistics.noteBegin(of: entry.job)
      }
      kinds.begin(entry, now: now)
    }
    hands.begin(jobs, by: id, withOthers: isGroup, now: now)
    noteBeginnings(jobs)
    recallFoundNothing(id)
    watchHands()
    effects.append(.demandChanged)
  }

  private mutating func saved(_ change: SavedChange, _ objects: [ObjectURI], by id: WorkerID) {
    for other in hands.workers.all.keys.sorted(by: { $0.number < $1.number }) where other != id {
      effects.append(.send(.saved(change, objects), to: other))
    }
    effects.append(.saved(change, objects))
  }
}
