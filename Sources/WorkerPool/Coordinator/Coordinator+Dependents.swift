import WorkerProtocol

/// Jobs that wait for others: what has ended is told to the store, one look at a time, and only while any job waits.
extension Coordinator {
  /// What is known of jobs that wait.
  struct Waiting: Equatable, Sendable {
    /// Whether there may be any: ends of jobs are of interest.
    var mayExist = false
    /// The store is looking.
    var isLooking = false
    /// Jobs that ended since the last look.
    var ended: [JobKey] = []
    /// New jobs may wait that nobody has looked at.
    var hasNew = false
  }

  /// There may be new jobs that wait for others.
  mutating func lookForWaitingJobs() {
    waiting.mayExist = true
    waiting.hasNew = true
    lookIfNeeded()
  }

  /// These jobs are over, in whatever way: others may wait for them.
  mutating func noteOver(_ jobs: [JobKey]) {
    guard waiting.mayExist, !jobs.isEmpty else { return }
    waiting.ended += jobs
    lookIfNeeded()
  }

  /// The store's answer: jobs that may run now, and whether any still waits.
  mutating func released(_ jobs: [WindowJob], remain: Bool) {
    waiting.isLooking = false
    // What ended or came meanwhile is looked at next, so there may be some as long as there is something to look at.
    waiting.mayExist = remain || waiting.hasNew || !waiting.ended.isEmpty
    lookIfNeeded()
    becameReady(jobs)
  }

  private mutating func lookIfNeeded() {
    guard !waiting.isLooking, waiting.hasNew || !waiting.ended.isEmpty else { return }
    waiting.isLooking = true
    effects.append(.release(after: waiting.ended))
    waiting.hasNew = false
    waiting.ended = []
  }
}
