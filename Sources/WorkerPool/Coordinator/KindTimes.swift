import PoolClient

/// What happened to the jobs of one kind since the pool was started.
struct KindTimes: Equatable, Sendable {
  /// From when a job could begin to when it did, for each attempt.
  var waiting = TimeHistogram()
  /// From when a job began to when the pool heard of its end.
  var running = TimeHistogram()
  var counters = KindCounters()
}

extension Coordinator {
  /// The job begins now.
  mutating func noteBegin(of job: WindowJob) {
    guard let wallClock, let readyAt = job.readyAt else { return }
    kindTimes[job.kind, default: KindTimes()].waiting.add(wallClock - readyAt)
  }

  /// These attempts end now, all in one way. An attempt whose beginning the worker did not report has taken no time.
  mutating func noteEnd(of jobs: [JobKey], _ counter: WritableKeyPath<KindCounters, Int>) {
    for job in jobs {
      guard let entry = held[job] else { continue }
      kindTimes[entry.job.kind, default: KindTimes()].running.add(now - (entry.begunAt ?? now))
      kindTimes[entry.job.kind]?.counters[keyPath: counter] += 1
    }
  }
}
