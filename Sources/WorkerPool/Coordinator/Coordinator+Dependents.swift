import Jobs

/// Dependents: the store is told what has ended, and checks new ones.
extension Coordinator {
  /// There may be new dependents.
  mutating func checkDependents() {
    dependents.noteNew()
    startCheckIfNeeded()
  }

  /// These jobs have ended, with or without success: others may run now.
  mutating func releaseDependents(of jobs: [JobKey]) {
    dependents.noteEnded(jobs)
    startCheckIfNeeded()
  }

  /// The store's answer: jobs that may run now, and whether dependents remain.
  mutating func released(_ jobs: [WindowJob], remain: Bool) {
    dependents.endCheck(remain: remain)
    startCheckIfNeeded()
    becameReady(jobs)
  }

  private mutating func startCheckIfNeeded() {
    if let ended = dependents.beginCheck() { effects.append(.release(after: ended)) }
  }
}
