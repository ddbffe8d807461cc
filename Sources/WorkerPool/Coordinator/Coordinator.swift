import Jobs
import WorkerProtocol

/// Decides which worker gets which job, and keeps account of who holds what.
///
/// A pure state machine: it gets events with their time, and leaves what should happen in `effects`. It touches no
/// socket, store or process. It runs on the loop's thread.
struct Coordinator {
  /// A job in a worker's hand.
  struct HeldJob {
    let job: WindowJob
    let worker: WorkerID
    let handedOutAt: Double
    /// The lanes among which its lane was picked; empty where no lane was charged.
    let pickedAmong: Set<String>
    /// When the worker said that it began; `nil` while it only holds the job.
    var begunAt: Double?
    /// It began together with others: if one of them fails, it begins once more, alone.
    var hasBegunInGroup = false
    var isCancelled = false
    /// When it must have ended; nil without a timeout, before it begins, and during a store wait.
    var deadline: Double?
    /// Seconds until `deadline`, kept during a store wait.
    var timeLeft: Double?
    /// The index of its entry in the ledger.
    var ledgerIndex: Int?
    /// Its progress, as the worker reports it.
    var progress: (done: Int, total: Int)?
    /// Its store wait: before it begins, or before its commit.
    var storeWait: StoreWait?
  }

  /// What the coordinator knows of a worker.
  struct Worker {
    let kinds: Set<String>
    var credit = 0
    var held: Set<JobKey> = []
    var begun: Set<JobKey> = []
    var isDraining = false
    /// It holds a suspect, and gets no other job.
    var isAlone = false
    /// It was asked to give jobs back, and has not answered. Until then it gets no other jobs: those that come back may
    /// be better.
    var isRecalling = false
    /// How many times it has given jobs back unasked since it last ended one.
    var refusals = 0
    /// Until when it gets no jobs, since it gives them back.
    var restsUntil: Double?
    /// When the first of its running jobs must have ended.
    var deadline: Double?
    /// When it began its running jobs.
    var begunAt: Double?
    /// Since when it holds jobs and runs none; nil while it runs one, or holds none.
    var hesitatesSince: Double?
    /// It has begun nothing for ``Coordinator/beginTimeout``, and was told to give its jobs back and to exit.
    var isGivenUp = false

    /// How many jobs it holds that it has not begun.
    var notBegun: Int { held.count - begun.count }
    var freeCredit: Int { isDraining || isAlone || isRecalling || restsUntil != nil ? 0 : max(0, credit - held.count) }

    /// Whether its running job takes longer than the jobs of a whole hand should.
    func isSlow(now: Double) -> Bool { begunAt.map { $0 + Coordinator.slowAfter <= now } ?? false }
  }

  /// Jobs since the start, for `status`.
  struct Counters: Equatable, Sendable {
    var handedOut = 0
    var done = 0
    var failed = 0
    var returned = 0
    var crashed = 0
    var timedOut = 0
  }

  /// Seconds that a job gets to stop when it was asked to; then its process is killed.
  static let stopGrace = 5.0
  /// Seconds that a job may run before its worker counts as slow: it gets no further jobs, and gives back those that
  /// another worker could run.
  static let slowAfter = 0.03

  /// The most jobs that a worker may hold: one that asks for all would keep them from the others, and fill the pool's
  /// memory.
  static let mostCredit = 4096
  /// Seconds that a worker may hold jobs without beginning one, outside store waits. It is replaced then, and killed
  /// when it still holds them after as many seconds more.
  var beginTimeout = 60.0

  /// Seconds of the monotonic clock; set before each event.
  var now = 0.0
  /// Seconds since the reference date, for comparison with times in rows; set before jobs begin.
  var wallClock: Double?
  var effects: [CoordinatorEffect] = []

  /// Turns keys into the URIs by which workers know the jobs.
  var jobURIs = JobURIs(store: "")
  var kinds: [String: KindState] = [:]
  var windows: [WindowKey: JobWindow] = [:]
  /// The best job of each window.
  var heads = JobHeads()
  /// Nil in a store that no other pool uses.
  var claims: Claims?
  /// Windows that may need a fetch, for `refill`.
  var listed: ArraySlice<WindowKey> = []
  /// Windows with a fetch under way, and those whose refetch has to wait for its time.
  var fetching: Set<WindowKey> = []
  var delayed: Set<WindowKey> = []
  /// The windows that have parked jobs of a group, or left some of them in the store.
  var parkedIn: [JobGroup: Set<WindowKey>] = [:]
  /// Jobs in hand by the groups that limit them.
  var inHandByGroup: [JobGroup: Int] = [:]
  /// Whether jobs of a kind with a rate begin in places that the store keeps: where no job is claimed.
  var keepsRatePlaces = false
  /// The places of the kinds that have a rate, or had one.
  var ratePlaces: [String: RatePlaces] = [:]
  var queueLimits = QueueLimits()
  var weights = QueueWeights()
  var dependents = Dependents()
  /// Kinds with jobs in windows or in hand: only they have a demand.
  var activeKinds: Set<String> = []
  /// Kinds whose rate lets no job begin now.
  var ratedOut: Set<String> = []
  /// When to check the hands of slow workers.
  var handCheck: Double?
  /// When to look for workers that begin nothing.
  var beginCheck: Double?
  /// Something has happened since the last dispatch that may let jobs be handed out.
  var mustDispatch = false
  var workers: [WorkerID: Worker] = [:]
  var held: [JobKey: HeldJob] = [:]
  /// Jobs whose settlement is being written.
  var settling: Set<JobKey> = []
  var pauses = JobPauses()
  /// The pool ends: nothing is handed out any more.
  var isClosed = false
  /// The suspects of all kinds; they are in no window.
  var suspectKeys: Set<JobKey> = []
  var survivors = SurvivorJobs()
  /// Notes for the next pool who holds what. Nil in tests that need none.
  var ledger: JobLedger?
  var counters = Counters()
  var kindTimes: [String: KindTimes] = [:]

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

  /// The kinds that plugins run, with their limits.
  mutating func setKinds(_ rules: [String: KindRules]) {
    for kind in kinds.keys where rules[kind] == nil { remove(kind) }
    for (kind, rules) in rules.sorted(by: { $0.key < $1.key }) {
      if let former = kinds[kind]?.rules {
        kinds[kind]?.setRules(rules)
        if former.rate != rules.rate { openPlaces(of: kind) }
        refresh(kind)
      } else {
        kinds[kind] = KindState(rules: rules)
        kinds[kind]?.survivorJobs = survivors.count(ofKind: kind)
        for job in held.values where job.job.kind == kind {
          kinds[kind]?.inHand += 1
          if job.begunAt != nil { kinds[kind]?.begun += 1 }
        }
        openPlaces(of: kind)
        refresh(kind)
        for lane in weights.lanes { open(WindowKey(kind: kind, lane: lane)) }
      }
    }
    refill()
  }

  /// A worker said a valid hello.
  mutating func workerCameUp(_ id: WorkerID, kinds: [String]) {
    workers[id] = Worker(kinds: Set(kinds))
    effects.append(.send(.welcome(version: ProtocolVersion.current), to: id))
    effects.append(.demandChanged)
  }

  /// A worker said something after its hello.
  mutating func workerSaid(_ message: WorkerMessage, _ id: WorkerID) {
    guard workers[id] != nil else { return }
    switch message {
    case .hello:
      effects.append(.dismiss(id, .message))
    case .credit(let count): setCredit(count, id)
    case .begin(let uris): begin(inHand(uris, of: id), id)
    case .progress(let uri, let done, let total):
      for job in inHand([uri], of: id) { held[job]?.progress = (done, total) }
    case .waiting(let reason, let uris): waits(inHand(uris, of: id), reason, id)
    case .saved(let change, let objects): saved(change, objects, by: id)
    case .done(let uris):
      let count = endAttempts(inHand(uris, of: id), \.done)
      counters.done += count
      if count > 0 {
        workers[id]?.refusals = 0
        effects.append(.worked(id, jobs: count))
      }
      mustDispatch = true
    case .failed(let uri):
      let count = endAttempts(inHand([uri], of: id), \.failed)
      guard count > 0 else { return }
      workers[id]?.refusals = 0
      counters.failed += count
      effects.append(.worked(id, jobs: count))
      effects.append(.promoteDueJobs)
      mustDispatch = true
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
    uris.compactMap(jobURIs.key).filter { held[$0]?.worker == id }
  }

  private mutating func setCredit(_ wanted: Int, _ id: WorkerID) {
    guard let worker = workers[id] else { return }
    let count = min(wanted, Self.mostCredit)
    workers[id]?.credit = count
    mustDispatch = true
    // Its jobs take longer than before: it holds far more than it can do soon.
    let surplus = worker.held.count - max(count, worker.begun.count)
    guard worker.held.count > 2 * count, surplus > 0, !worker.isRecalling, !worker.isDraining else { return }
    workers[id]?.isRecalling = true
    effects.append(.send(.recall(surplus), to: id))
  }

  /// Tells the worker to finish what it has begun and to exit.
  mutating func drain(_ id: WorkerID) {
    guard workers[id]?.isDraining == false else { return }
    workers[id]?.isDraining = true
    effects.append(.send(.drain, to: id))
    noteIfEmptied(id)
  }

  mutating func noteIfEmptied(_ id: WorkerID) {
    if let worker = workers[id], worker.isDraining, worker.held.isEmpty { effects.append(.emptied(id)) }
  }

  /// The worker closed its connection. It keeps its jobs until its process has ended.
  mutating func workerLeft(_ id: WorkerID) {
    workers[id]?.isDraining = true
  }

  private mutating func begin(_ said: [JobKey], _ id: WorkerID) {
    // The first counts: a worker that repeats itself does not put off the deadlines of its jobs.
    let jobs = said.filter { job in
      guard let entry = held[job] else { return false }
      return entry.begunAt == nil || (entry.hasBegunInGroup && said.count == 1)
    }
    if jobs.isEmpty { return }
    // A job that begins again was in a group whose jobs are now run one by one: the others begin again later.
    if jobs.contains(where: { held[$0]?.begunAt != nil }) {
      for job in workers[id]?.begun ?? [] { stopClock(of: job) }
    }
    var ledgerIndices: [Int] = []
    for job in jobs {
      guard let entry = held[job] else { continue }
      if let former = entry.begunAt {
        takeBackBeginning(of: entry.job, at: former)
      } else {
        kinds[entry.job.kind]?.begun += 1
        noteBegin(of: entry.job)
      }
      kinds[entry.job.kind]?.pastStarts?.take(now: now)
      held[job]?.begunAt = now
      held[job]?.hasBegunInGroup = said.count > 1
      held[job]?.storeWait = nil
      held[job]?.timeLeft = nil
      // `CANCEL` may have been on its way when the job began.
      let seconds = entry.isCancelled ? 0 : entry.job.timeout
      held[job]?.deadline = seconds.map { now + $0 + Self.stopGrace }
      workers[id]?.begun.insert(job)
      if let index = entry.ledgerIndex { ledgerIndices.append(index) }
    }
    ledger?.begin(ledgerIndices)
    noteBeginnings(jobs)
    setDeadline(id)
    if workers[id]?.begun.isEmpty == false {
      workers[id]?.begunAt = now
      workers[id]?.hesitatesSince = nil
    }
    recallFoundNothing(id)
    watchHands()
    effects.append(.demandChanged)
  }

  private mutating func saved(_ change: SavedChange, _ objects: [ObjectURI], by id: WorkerID) {
    for other in workers.keys.sorted(by: { $0.number < $1.number }) where other != id {
      effects.append(.send(.saved(change, objects), to: other))
    }
    effects.append(.saved(change, objects))
  }
}
