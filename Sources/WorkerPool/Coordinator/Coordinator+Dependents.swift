import WorkerProtocol

/// Dependents: the store is told what has ended, one check at a time, and only while there are any.
extension Coordinator {
  /// What is known of dependents.
  struct Dependents: Equatable, Sendable {
    /// Whether there may be any. Without them ends of jobs are not told.
    var mayExist = false
    /// The store is checking them.
    var isChecking = false
    /// Jobs that ended since that check began.
    var ended: [JobKey] = []
    /// There may be `pending` ones.
    var hasNew = false
  }

  /// There may be new dependents.
  mutating func checkDependents() {
    dependents.mayExist = true
    dependents.hasNew = true
    startCheckIfNeeded()
  }

  /// These jobs have ended, with or without success: others may run now.
  mutating func releaseDependents(of jobs: [JobKey]) {
    guard dependents.mayExist, !jobs.isEmpty else { return }
    dependents.ended += jobs
    startCheckIfNeeded()
  }

  /// The store's answer: jobs that may run now, and whether dependents remain.
  mutating func released(_ jobs: [WindowJob], remain: Bool) {
    dependents.isChecking = false
    // What ended or came meanwhile is checked next. Where no job waits for others, ends of jobs need no check: it would
    // last while jobs end, and each check would be the reason for the next. New dependents are announced.
    dependents.mayExist = remain || dependents.hasNew
    if !dependents.mayExist { dependents.ended = [] }
    startCheckIfNeeded()
    becameReady(jobs)
  }

  private mutating func startCheckIfNeeded() {
    guard !dependents.isChecking, dependents.hasNew || !dependents.ended.isEmpty else { return }
    dependents.isChecking = true
    effects.append(.release(after: dependents.ended))
    dependents.hasNew = false
    dependents.ended = []
  }
}
