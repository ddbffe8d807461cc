import Jobs
import WorkerProtocol

/// The kinds that plugins run: their rules, what counts against them, and which of them have jobs.
///
/// A kind is active exactly while it has jobs that may run, jobs in hand or suspects.
struct KindTable {
  private(set) var states: [String: KindState] = [:]
  /// Kinds with jobs in windows or in hand: only they have a demand.
  private(set) var active: Set<String> = []
  /// Kinds whose rate lets no job begin now.
  private(set) var ratedOut: Set<String> = []
  /// The suspects of all kinds; they are in no window.
  private(set) var suspectKeys: Set<JobKey> = []

  subscript(_ kind: String) -> KindState? { states[kind] }

  /// Whether jobs of the kind may be picked.
  func isOffered(_ kind: String) -> Bool { states[kind]?.isOffered == true }

  // MARK: Which kinds there are

  /// A kind that no plugin ran before.
  ///
  /// - Parameters:
  ///   - held: its jobs in hand.
  ///   - survivorJobs: its jobs in the hands of survivors.
  mutating func add(_ kind: String, _ rules: KindRules, held: [HeldJob], survivorJobs: Int) {
    var state = KindState(rules: rules)
    state.survivorJobs = survivorJobs
    state.inHand = held.count
    state.begun = held.count { $0.begunAt != nil }
    states[kind] = state
    noteActivity(of: kind)
  }

  mutating func setRules(_ rules: KindRules, of kind: String) { states[kind]?.setRules(rules) }

  mutating func remove(_ kind: String) {
    if let state = states.removeValue(forKey: kind) { suspectKeys.subtract(state.suspects.map(\.key)) }
    active.remove(kind)
    ratedOut.remove(kind)
  }

  // MARK: Jobs

  /// This many more of the kind's jobs in windows may run.
  mutating func addRunnable(_ count: Int, of kind: String) {
    states[kind]?.runnable += count
    noteActivity(of: kind)
  }

  mutating func setSurvivorJobs(_ count: Int, of kind: String) { states[kind]?.survivorJobs = count }

  mutating func take(_ job: WindowJob) {
    states[job.kind]?.inHand += 1
    noteActivity(of: job.kind)
  }

  /// A job in hand begins, perhaps once more.
  mutating func begin(_ job: HeldJob, now: Double) {
    states[job.job.kind]?.begin(isFirst: job.begunAt == nil, now: now)
  }

  mutating func release(_ job: HeldJob) {
    states[job.job.kind]?.inHand -= 1
    if job.begunAt != nil { states[job.job.kind]?.begun -= 1 }
    noteActivity(of: job.job.kind)
  }

  /// A job that began has left no effect: its beginning does not count against the rate.
  mutating func giveBackBeginning(_ time: Double, of kind: String) { states[kind]?.pastStarts?.giveBack(from: time) }

  // MARK: Suspects

  /// A job that may have killed its worker together with others runs alone next time.
  mutating func addSuspect(_ job: WindowJob) {
    guard states[job.kind] != nil else { return }
    states[job.kind]?.suspects.append(job)
    suspectKeys.insert(job.key)
    noteActivity(of: job.kind)
  }

  /// Takes one of a kind's suspects, to hand it out.
  mutating func takeSuspect(_ kind: String, at index: Int) -> WindowJob? {
    guard let job = states[kind]?.suspects.remove(at: index) else { return nil }
    suspectKeys.remove(job.key)
    noteActivity(of: kind)
    return job
  }

  mutating func forgetSuspects(_ jobs: [JobKey]) {
    let suspects = suspectKeys.intersection(jobs)
    if suspects.isEmpty { return }
    suspectKeys.subtract(suspects)
    for kind in active {
      states[kind]?.suspects.removeAll { suspects.contains($0.key) }
      noteActivity(of: kind)
    }
  }

  // MARK: Rates

  /// How many more jobs of the kind the rate lets be handed out now; nil for a kind that no plugin runs.
  mutating func rateRoom(_ kind: String, now: Double) -> Int? { states[kind]?.rateRoom(now: now) }

  /// How many more jobs of the kind may be handed out now.
  mutating func room(_ kind: String, now: Double) -> Int { states[kind]?.room(now: now) ?? 0 }

  // MARK: What follows

  /// Offers the kind's jobs or takes them back. Returns whether that is a change.
  mutating func setOffered(_ isOffered: Bool, isRatedOut: Bool, _ kind: String) -> Bool {
    if isRatedOut { ratedOut.insert(kind) } else { ratedOut.remove(kind) }
    guard let state = states[kind], state.isOffered != isOffered else { return false }
    states[kind]?.isOffered = isOffered
    return true
  }

  private mutating func noteActivity(of kind: String) {
    guard let isActive = states[kind]?.changeOfActivity() else { return }
    if isActive { active.insert(kind) } else { active.remove(kind) }
  }
}
