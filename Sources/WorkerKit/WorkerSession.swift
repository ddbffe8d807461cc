import WorkerProtocol

/// Why a job that runs should stop.
package enum StopReason: Equatable, Sendable {
  /// A person cancelled it.
  case cancelled
  /// It has taken longer than it may.
  case timedOut
  /// The pool ends and will wait no longer: the job goes back as it was.
  case terminated
}

/// A worker's side of the conversation: a pure state machine over what the coordinator says and what the jobs do.
///
/// What it wants to say waits in `outgoing`.
struct WorkerSession {
  /// Jobs in hand that have not begun, the next one first.
  private(set) var notBegun: [ObjectURI] = []
  /// Jobs that run, in one transaction.
  private(set) var running: [ObjectURI] = []
  private(set) var stops: [ObjectURI: StopReason] = [:]
  /// No more jobs will begin.
  private(set) var isDraining = false
  /// The job in hand was asked to stop, too.
  private(set) var isTerminated = false
  private(set) var refusal: Refusal?
  private(set) var credit = 0
  var outgoing: [UInt8] = []

  /// The hand is empty, and no job will come.
  var isOver: Bool { isDraining && notBegun.isEmpty && running.isEmpty }

  mutating func open(kinds: [String], credit: Int) {
    say(.hello(version: ProtocolVersion.current, kinds: kinds))
    setCredit(credit)
  }

  mutating func setCredit(_ count: Int) {
    guard count != credit else { return }
    credit = count
    say(.credit(count))
  }

  mutating func say(_ message: WorkerMessage) {
    message.append(to: &outgoing)
  }

  /// Handles a message of the coordinator. `SAVED` is for the caller.
  mutating func receive(_ message: CoordinatorMessage) {
    switch message {
    case .welcome, .saved: break
    case .refused(let refusal, _, _):
      self.refusal = refusal
      isDraining = true
    case .run(let jobs):
      if isDraining { say(.returned(jobs)) } else { notBegun += jobs }
    case .cancel(let job):
      if let index = notBegun.firstIndex(of: job) {
        notBegun.remove(at: index)
        say(.returned([job]))
      } else if running.contains(job) {
        stop(job, .cancelled)
      }
    case .recall(let count):
      let back = Array(notBegun.suffix(count))
      notBegun.removeLast(back.count)
      if !back.isEmpty { say(.returned(back)) }
    case .ping: say(.pong)
    case .drain: drain()
    }
  }

  /// Gives back what has not begun. No job begins any more.
  mutating func drain() {
    isDraining = true
    giveBack([])
  }

  /// Gives back jobs of a group that were not run, and what has not begun, in one message: the pool chooses among all
  /// of them.
  mutating func giveBack(_ jobs: [ObjectURI]) {
    let back = take(jobs) + notBegun
    notBegun = []
    if !back.isEmpty { say(.returned(back)) }
  }

  /// The connection is gone: jobs that have not begun are dropped, since the pool hands them out again.
  mutating func close() {
    isDraining = true
    notBegun = []
  }

  /// SIGTERM: the running jobs are asked to stop, too.
  mutating func terminate() {
    drain()
    isTerminated = true
    for job in running { stop(job, .terminated) }
  }

  mutating func stop(_ job: ObjectURI, _ reason: StopReason) {
    // The pool's end outweighs other reasons: it must not cost an attempt.
    if stops[job] == nil || reason == .terminated { stops[job] = reason }
  }

  /// Whether one of these jobs was cancelled or has to go back. One that is out of time may still be saved.
  func isStopping(_ jobs: [ObjectURI]) -> Bool {
    jobs.contains { stops[$0] == .cancelled || stops[$0] == .terminated }
  }

  /// Begins up to `limit` of the jobs in hand, together.
  mutating func begin(limit: Int) -> [ObjectURI] {
    precondition(running.isEmpty, "jobs begin after those before them have ended")
    running = Array(notBegun.prefix(limit))
    notBegun.removeFirst(running.count)
    if !running.isEmpty { say(.begin(running)) }
    return running
  }

  /// Jobs of a group are going to be run again, one by one: this one begins alone, the others go back to wait.
  mutating func ungroup() {
    notBegun = running + notBegun
    running = []
    if isDraining { drain() }
  }

  /// Takes jobs out of those that run; returns which of them did.
  private mutating func take(_ jobs: [ObjectURI]) -> [ObjectURI] {
    let mine = jobs.filter(running.contains)
    running.removeAll(where: mine.contains)
    for job in mine { stops[job] = nil }
    return mine
  }

  /// Jobs that ran have ended, and what they did is committed.
  mutating func end(_ jobs: [ObjectURI], _ end: JobEnd) {
    let mine = take(jobs)
    guard !mine.isEmpty else { return }
    switch end {
    case .done: say(.done(mine))
    case .snoozed:
      say(.done(mine))
      // The coordinator must notice its time.
      say(.nudge)
    case .failed: for job in mine { say(.failed(job)) }
    case .returned: say(.returned(mine))
    }
  }
}

/// How a job ended, in the protocol's terms.
enum JobEnd: Equatable, Sendable {
  case done
  /// It runs again at a time of its own choice.
  case snoozed
  case failed
  case returned
}
