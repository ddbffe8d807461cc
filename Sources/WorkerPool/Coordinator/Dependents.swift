import Jobs

/// What is known of dependents, and what the store has to be told about them: one check at a time.
struct Dependents: Equatable, Sendable {
  /// Whether there may be any. Without them ends of jobs are not told.
  private var mayExist = false
  /// The store is checking them.
  private var isChecking = false
  /// Jobs that ended since that check began.
  private var ended: [JobKey] = []
  /// There may be `pending` ones.
  private(set) var hasNew = false

  init() {}

  /// There may be new dependents.
  mutating func noteNew() {
    mayExist = true
    hasNew = true
  }

  /// These jobs have ended, with or without success: others may run now.
  mutating func noteEnded(_ jobs: some Collection<JobKey>) { if mayExist { ended += jobs } }

  /// The store has checked them.
  ///
  /// - Parameter remain: whether dependents remain.
  mutating func endCheck(remain: Bool) {
    isChecking = false
    // What ended or came meanwhile is checked next. Where no job waits for others, ends of jobs need no check: it would
    // last while jobs end, and each check would be the reason for the next. New dependents are announced.
    mayExist = remain || hasNew
    if !mayExist { ended = [] }
  }

  /// Begins the next check if there is a reason for it. Returns the jobs that have ended since the last one.
  mutating func beginCheck() -> [JobKey]? {
    guard !isChecking, hasNew || !ended.isEmpty else { return nil }
    isChecking = true
    hasNew = false
    defer { ended = [] }
    return ended
  }
}
