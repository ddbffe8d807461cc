import Jobs

/// What processes of earlier pools do that still live, and what these pools left.
struct SurvivorJobs: Sendable {
  /// The jobs in the hands of survivors.
  private(set) var keys: Set<JobKey> = []
  private var countsByKind: [String: Int] = [:]
  private var countsByGroup: [JobGroup: Int] = [:]
  /// Survivors may run any job: nothing is handed out beside them.
  private(set) var mayBeAny = false
  /// Suspects of an earlier pool, or of this one, that have not been fetched since.
  private var suspects: Set<JobKey> = []

  /// The groups in which a survivor has a job.
  var groups: Set<JobGroup> { Set(countsByGroup.keys) }

  /// Takes over which jobs survivors have in hand.
  mutating func set(_ jobs: [InheritedJob]) {
    keys = Set(jobs.map(\.key))
    countsByKind = jobs.reduce(into: [:]) { counts, job in job.kind.map { counts[$0, default: 0] += 1 } }
    countsByGroup = jobs.reduce(into: [:]) { counts, job in
      if let queue = job.queue { counts[.queue(queue), default: 0] += 1 }
      if let key = job.limitKey { counts[.key(key), default: 0] += 1 }
    }
  }

  /// Notes whether survivors may run any job. Returns whether that is a change.
  mutating func setMayBeAny(_ mayBeAny: Bool) -> Bool {
    defer { self.mayBeAny = mayBeAny }
    return mayBeAny != self.mayBeAny
  }

  // MARK: Suspects that the store keeps

  mutating func add(suspects: Set<JobKey>) { self.suspects.formUnion(suspects) }

  /// Whether the job is a suspect; true once.
  mutating func takeSuspect(_ job: JobKey) -> Bool { !suspects.isEmpty && suspects.remove(job) != nil }

  mutating func forgetSuspects(_ jobs: [JobKey]) { suspects.subtract(jobs) }

  // MARK: Counts

  /// How many of the jobs count against the limit of a kind.
  func count(ofKind kind: String) -> Int { countsByKind[kind] ?? 0 }

  /// How many of the jobs count against the limit of a group.
  func count(in group: JobGroup) -> Int { countsByGroup[group] ?? 0 }
}
