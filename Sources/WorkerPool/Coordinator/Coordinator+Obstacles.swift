import Jobs
import WorkerProtocol

/// Why a ready job is not handed out now.
enum Obstacle: Equatable, Sendable {
  case paused(PauseScope)
  case stopping
  /// Survivors may run any job.
  case survivors
  case noPlugin
  case kindLimit(Int)
  /// As many have begun as the rate lets, and there is room at this time of the monotonic clock. Nil where jobs in hand
  /// that have not begun have all places.
  case rate(JobRate, until: Double?)
  /// As many of the group are in hand as its limit lets.
  case full(JobGroup, limit: Int)
  /// Over all pools that share the store a limit or a rate is used up.
  case sharedLimit
  /// It waits for a worker of its own.
  case alone
  case inHand(WorkerID)
  case workersBusy
}

/// The decisions of handing out, each with its reason. Handing out and explaining ask the same functions.
extension Coordinator {
  /// What keeps all jobs from being handed out.
  var poolObstacle: Obstacle? {
    if isClosed || isHeld { return .stopping }
    if pauses.all { return .paused(.everything) }
    return survivors.mayBeAny ? .survivors : nil
  }

  /// What keeps the jobs of a kind from being handed out.
  mutating func obstacle(ofKind kind: String) -> Obstacle? {
    guard kinds[kind] != nil else { return .noPlugin }
    if pauses.kinds.contains(kind) { return .paused(.kind(kind)) }
    if let limit = kinds[kind]?.rules.limit, kinds[kind]?.isBelowLimit == false { return .kindLimit(limit) }
    guard let rate = kinds[kind]?.rules.rate else { return nil }
    if kinds.rateRoom(kind, now: now) == 0 { return .rate(rate, until: kinds[kind]?.nextRateTime) }
    return retryTime(of: kind).map { .rate(rate, until: $0) }
  }

  /// What keeps a job of a group from being handed out when the group blocks it.
  func obstacle(of group: JobGroup, for job: WindowJob) -> Obstacle {
    if case .queue(let queue) = group, isPaused(group) { return .paused(.queue(queue)) }
    return .full(group, limit: groups.limit(of: group, for: job) ?? 0)
  }

  /// What keeps the known jobs of paused queues and of full groups from being handed out.
  func groupObstacles() -> [Obstacle] {
    let queues = pauses.queues.sorted().map { Obstacle.paused(.queue($0)) }
    let full = windows.parkedIn.keys.compactMap { group -> Obstacle? in
      guard !isPaused(group) else { return nil }
      let parked = windows.parkedIn[group]?.lazy.compactMap { self.windows[$0]?.parked[group]?.all.first }.first
      return parked.flatMap { blockingGroup(of: $0) == group ? obstacle(of: group, for: $0) : nil }
    }
    return queues + full
  }

  /// Whether all known jobs of a kind are in full groups.
  func waitsForRoom(_ kind: String) -> Bool {
    let windows = windows.all.filter { $0.key.kind == kind }.values
    return windows.contains { $0.parkedCount > 0 } && windows.allSatisfy(\.runnable.isEmpty)
  }

  /// What keeps a ready job from being handed out; nil when nothing does, and it is handed out as soon as it is known.
  mutating func obstacle(to job: WindowJob) -> Obstacle? {
    if let entry = hands.jobs[job.key] { return .inHand(entry.worker) }
    if let obstacle = poolObstacle ?? obstacle(ofKind: job.kind) { return obstacle }
    if let group = blockingGroup(of: job) { return obstacle(of: group, for: job) }
    if kinds.suspectKeys.contains(job.key) { return .alone }
    if claims?.heldBack.contains(job.kind) == true, windows[window(of: job)]?.contains(job.key) != true {
      return .sharedLimit
    }
    return hands.idlest(for: job.kind, now: now) == nil ? .workersBusy : nil
  }

  /// The jobs in hand that hold the place of a job, those that were handed out first at the beginning.
  func holders(of obstacle: Obstacle, for job: WindowJob) -> [HeldJob] {
    let isHolder: (HeldJob) -> Bool
    switch obstacle {
    case .kindLimit: isHolder = { $0.job.kind == job.kind }
    case .rate(_, until: nil): isHolder = { $0.job.kind == job.kind && $0.begunAt == nil }
    case .full(let group, _): isHolder = { $0.job.groups.contains(group) }
    case .inHand(let worker): isHolder = { $0.worker == worker && $0.begunAt != nil && $0.job.key != job.key }
    case .alone, .workersBusy: isHolder = { $0.begunAt != nil }
    default: return []
    }
    return hands.jobs.values.filter(isHolder).sorted { ($0.handedOutAt, $0.job.key) < ($1.handedOutAt, $1.job.key) }
  }

  /// How many jobs in the hands of survivors count against the same limit.
  func survivorJobs(holding obstacle: Obstacle, for job: WindowJob) -> Int {
    switch obstacle {
    case .kindLimit: survivors.count(ofKind: job.kind)
    case .full(let group, _): survivors.count(in: group)
    default: 0
    }
  }

  /// How many jobs of its window go before a job, of those that may run and are known.
  func countAhead(of job: WindowJob) -> Int {
    guard let window = windows[window(of: job)] else { return 0 }
    let upTo = window.runnable.count(upTo: job.position)
    return window.contains(job.key) ? max(0, upTo - 1) : upTo
  }
}
