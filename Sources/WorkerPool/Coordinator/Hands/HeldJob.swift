import Jobs
import WorkerProtocol

/// A job in a worker's hand.
struct HeldJob: Codable {
  /// How far a job is, in units of its own.
  struct Progress: Codable {
    let done: Int
    let total: Int
  }

  let job: WindowJob
  let worker: WorkerID
  let handedOutAt: Double
  /// The number of this handing out: no other one of this pool has it, but after 2^31 others.
  let run: Int
  /// The lanes among which its lane was picked; empty where no lane was charged.
  let pickedAmong: Set<String>
  /// When the worker said that it began; `nil` while it only holds the job.
  private(set) var begunAt: Double?
  /// It began together with others: if one of them fails, it begins once more, alone.
  private(set) var hasBegunInGroup = false
  private(set) var isCancelled = false
  /// It has used more processor time than it may.
  var hasOverrun = false
  /// When it must have ended; nil without a timeout, before it begins, and during a store wait.
  private(set) var deadline: Double?
  /// Seconds until `deadline`, kept during a store wait.
  private var timeLeft: Double?
  /// The index of its entry in the ledger; nil without a ledger, and when the entry stays after the job has left.
  var ledgerIndex: Int?
  /// Its progress, as the worker reports it.
  var progress: Progress?
  /// Its store wait: before it begins, or before its commit.
  var storeWait: StoreWait?

  /// What another program needs to go on with it: its ledger is another one.
  private enum CodingKeys: CodingKey {
    case job, worker, handedOutAt, run, pickedAmong, begunAt, hasBegunInGroup, isCancelled, deadline, timeLeft, progress
    case storeWait
  }

  init(_ job: WindowJob, worker: WorkerID, run: Int, pickedAmong lanes: Set<String>, ledgerIndex: Int?, now: Double) {
    self.job = job
    self.worker = worker
    self.ledgerIndex = ledgerIndex
    handedOutAt = now
    self.run = run
    pickedAmong = lanes
  }

  /// Whether a `BEGIN` counts: a worker that repeats itself does not put off the deadlines of its jobs.
  ///
  /// - Parameter withOthers: whether the message names several jobs.
  func mayBegin(withOthers: Bool) -> Bool { begunAt == nil || hasBegunInGroup && !withOthers }

  mutating func begin(withOthers: Bool, now: Double) {
    begunAt = now
    hasBegunInGroup = withOthers
    storeWait = nil
    timeLeft = nil
    // `CANCEL` may have been on its way when the job began.
    let seconds = isCancelled ? 0 : job.timeout
    deadline = seconds.map { now + $0 + Coordinator.stopGrace }
  }

  /// It is asked to stop. Once it has begun, it has to end soon.
  mutating func cancel(now: Double) {
    isCancelled = true
    if begunAt != nil { deadline = min(deadline ?? .infinity, now + Coordinator.stopGrace) }
  }

  /// Whether it has used more time than it may.
  func isLate(now: Double) -> Bool { hasOverrun || deadline.map { $0 <= now } ?? false }

  // MARK: Its time

  /// A store wait begins.
  mutating func holdClock(now: Double) {
    guard let end = deadline else { return }
    timeLeft = end - now
    deadline = nil
  }

  /// The store wait is over.
  mutating func resumeClock(now: Double) {
    if let timeLeft { deadline = now + timeLeft }
    timeLeft = nil
  }

  mutating func stopClock() {
    deadline = nil
    timeLeft = nil
  }
}
