import Jobs
import LinuxSystem
import PoolClient

/// Measures what jobs use, by kind and for the jobs that ran last, and finds those that use more processor time than
/// their kind may.
///
/// It asks the kernel about a worker's process, so it measures workers in all languages. That takes some two
/// hundred microseconds, which short jobs must not pay: a process is asked when a job ends and the last time is a while
/// ago, and the jobs that have ended since share what was used, by the time that they ran. A job that ran for long has
/// its own measure.
final class UsageMeter {
  /// A worker process: what it had used when it was last asked, and which jobs have ended since.
  private final class Account {
    let pid: Int32
    var askedAt: Double
    var resources: ProcessResources
    var ended: [Handed.Ended] = []

    init(pid: Int32, askedAt: Double, resources: ProcessResources) {
      self.pid = pid
      self.askedAt = askedAt
      self.resources = resources
    }

    func add(_ kind: String, _ seconds: Double) {
      if let index = ended.firstIndex(where: { $0.kind == kind }) {
        ended[index].seconds += seconds
      } else {
        ended.append(Handed.Ended(kind: kind, seconds: seconds))
      }
    }
  }

  /// A worker process, as another program needs it to go on measuring.
  struct Handed: Codable, Equatable {
    /// Jobs of one kind that have ended since the process was last asked, and how long they ran.
    struct Ended: Codable, Equatable {
      let kind: String
      var seconds: Double
    }

    let askedAt: Double
    let resources: ProcessResources
    let ended: [Ended]
    /// What the worker had used before jobs with a limit began.
    let bases: [JobKey: Double]
  }

  /// Seconds between two questions about one process, and what each worker of the pool adds to them.
  private static let interval = 0.1
  private static let intervalPerWorker = 0.004
  /// Jobs whose use is kept.
  static let kept = 1000
  /// Seconds between two looks at jobs with a limit.
  private static let limitInterval = 0.25

  private let core: PoolCore
  private let supervisor: Supervisor
  private var accounts: [WorkerID: Account] = [:]
  private var uses: [JobKey: ResourceUse] = [:]
  private var order: [JobKey] = []
  private var next = 0
  /// Processes whose peaks of memory begin anew.
  private var peaks: Set<Int32> = []
  private var isResetting = false
  /// Seconds of processor time that a job may use, by kind.
  var limits: [String: Double] = [:]
  private var limited: [JobKey: LimitedJob] = [:]
  private var limitTimer: TimerQueue.Token?

  init(_ core: PoolCore, _ supervisor: Supervisor) {
    self.core = core
    self.supervisor = supervisor
  }

  /// What the job has used in its last attempt; nil for one that was too short, or ended too long ago.
  func use(of job: JobKey) -> ResourceUse? { uses[job] }

  /// A worker is up. What it has used to get there is no job's.
  func cameUp(_ id: WorkerID, pid: Int32) {
    guard let resources = ProcessResources(of: pid) else { return }
    resetPeak(of: pid)
    accounts[id] = Account(pid: pid, askedAt: core.coordinator.now, resources: resources)
  }

  /// What another program needs to go on; nil for a process that could not be asked.
  func handed(_ id: WorkerID) -> Handed? {
    guard let account = accounts[id] else { return nil }
    let bases = limited.filter { $0.value.worker == id }.compactMapValues(\.base)
    return Handed(askedAt: account.askedAt, resources: account.resources, ended: account.ended, bases: bases)
  }

  /// Goes on with a worker of the program before this one. Called when the coordinator has its jobs, and the limits are
  /// known.
  func adopt(_ id: WorkerID, pid: Int32, _ handed: Handed?) {
    guard let handed else { return cameUp(id, pid: pid) }
    let account = Account(pid: pid, askedAt: handed.askedAt, resources: handed.resources)
    account.ended = handed.ended
    accounts[id] = account
    began(Array(core.coordinator.hands.workers[id]?.begun ?? []), by: id)
    for (job, base) in handed.bases { limited[job]?.base = base }
  }

  /// These jobs leave the worker's hand now; the coordinator still has them.
  func ended(_ jobs: [JobKey], by id: WorkerID) {
    if !limited.isEmpty { for job in jobs { limited[job] = nil } }
    guard let account = accounts[id] else { return }
    let now = core.coordinator.now
    let longest = note(jobs, in: account, now: now)
    guard now - account.askedAt >= Self.interval + Self.intervalPerWorker * Double(accounts.count),
      let resources = ProcessResources(of: account.pid)
    else { return }
    settle(account, resources, peak: ProcessUsage.peakBytes(of: account.pid), longest: longest, now: now)
    resetPeak(of: account.pid)
  }

  /// Lets the peak of a process begin anew, beside the loop: the kernel may have to wait for the process. What it had
  /// at most in the moment before that counts for no job.
  private func resetPeak(of pid: Int32) {
    peaks.insert(pid)
    resetPeaks()
  }

  private func resetPeaks() {
    guard !isResetting, !peaks.isEmpty else { return }
    isResetting = true
    core.loop.blocking.run(on: "the memory of workers") { [peaks] in
      for pid in peaks { ProcessUsage.resetPeakBytes(of: pid) }
    } then: { [weak self] in
      self?.isResetting = false
      self?.resetPeaks()
    }
    peaks = []
  }

  /// The worker's process has ended; the coordinator still has its jobs.
  func died(_ id: WorkerID, _ obituary: Obituary) {
    limited = limited.filter { $0.value.worker != id }
    guard let account = accounts.removeValue(forKey: id), let resources = obituary.resources else { return }
    let begun = Array(core.coordinator.hands.workers[id]?.begun ?? [])
    let longest = note(begun, in: account, now: core.coordinator.now)
    settle(account, resources, peak: obituary.peakMemory, longest: longest, now: core.coordinator.now)
  }

  /// Notes how long the jobs ran; returns the one that ran longest.
  private func note(_ jobs: [JobKey], in account: Account, now: Double) -> (job: JobKey, seconds: Double)? {
    var longest: (job: JobKey, seconds: Double)?
    for job in jobs {
      guard let held = core.coordinator.hands.jobs[job], let begunAt = held.begunAt else { continue }
      account.add(held.job.kind, now - begunAt)
      if now - begunAt > longest?.seconds ?? -1 { longest = (job, now - begunAt) }
    }
    return longest
  }

  private func settle(
    _ account: Account, _ resources: ProcessResources, peak: Int?, longest: (job: JobKey, seconds: Double)?,
    now: Double
  ) {
    defer {
      account.askedAt = now
      account.resources = resources
      account.ended.removeAll(keepingCapacity: true)
    }
    let use = ResourceUse(from: account.resources, to: resources, peak: peak)
    let seconds = account.ended.reduce(0) { $0 + $1.seconds }
    guard seconds > 0 else { return }
    for part in account.ended {
      core.coordinator.statistics.noteUse(use.share(part.seconds / seconds), of: part.kind)
    }
    // A job that ran beside others for most of that time has a measure of its own.
    if let longest, longest.seconds >= Self.interval { keep(use.share(longest.seconds / seconds), of: longest.job) }
  }

  private func keep(_ use: ResourceUse, of job: JobKey) {
    if uses.updateValue(use, forKey: job) != nil { return }
    if order.count < Self.kept { return order.append(job) }
    uses[order[next]] = nil
    order[next] = job
    next = (next + 1) % Self.kept
  }

  // MARK: Limits

  /// The worker begins jobs, and the coordinator knows it.
  func began(_ jobs: [JobKey], by id: WorkerID) {
    guard !limits.isEmpty, let pid = accounts[id]?.pid else { return }
    // Asked once, and only for kinds with a limit: it takes a microsecond.
    var moment: ProcessMoment?
    for job in jobs {
      // A worker that says so again gets no more time.
      guard limited[job]?.worker != id, let kind = core.coordinator.hands.jobs[job]?.job.kind, let limit = limits[kind]
      else { continue }
      moment = moment ?? ProcessMoment(of: pid)
      guard let moment else { return }
      limited[job] = LimitedJob(worker: id, pid: pid, limit: limit, begin: moment)
    }
    look()
  }

  /// Looks at the jobs with a limit now and then while there are any.
  private func look() {
    guard limitTimer == nil, !limited.isEmpty else { return }
    limitTimer = core.loop.timers.after(Self.limitInterval) { [weak self] in self?.askForLimited() }
  }

  private func askForLimited() {
    limited = limited.filter { core.coordinator.hands.jobs[$0.key]?.worker == $0.value.worker }
    let pids = Set(limited.values.map(\.pid))
    guard !pids.isEmpty else { return limitTimer = nil }
    core.loop.blocking.run(on: "the processor time of workers") {
      Dictionary(uniqueKeysWithValues: pids.map { ($0, ProcessTree(of: $0)) })
    } then: { [weak self] (trees: [Int32: ProcessTree?]) in
      guard let self else { return }
      limitTimer = nil
      checkLimited(trees)
      look()
    }
  }

  /// - Parameter trees: what each worker and the programs that it has started have used.
  private func checkLimited(_ trees: [Int32: ProcessTree?]) {
    for (job, entry) in limited {
      guard let tree = trees[entry.pid] ?? nil else { continue }
      guard core.coordinator.hands.jobs[job]?.worker == entry.worker else {
        limited[job] = nil
        continue
      }
      guard let used = limited[job]?.used(tree), used > entry.limit else { continue }
      limited[job] = nil
      core.coordinator.hands.noteOverrun(of: job)
      supervisor.usedTooMuch(entry.worker, seconds: entry.limit)
    }
  }
}

extension ResourceUse {
  /// What a process has used between two moments.
  init(from start: ProcessResources, to end: ProcessResources, peak: Int?) {
    self.init()
    // The clocks of a process that lives and of one that has ended are not read in the same units.
    processorTime = max(0, end.processorSeconds - start.processorSeconds)
    peakMemory = peak
    func difference(_ path: KeyPath<ProcessResources, Int?>) -> Int? {
      guard let start = start[keyPath: path], let end = end[keyPath: path] else { return nil }
      return max(0, end - start)
    }
    bytesRead = difference(\.bytesRead)
    bytesWritten = difference(\.bytesWritten)
  }
}
