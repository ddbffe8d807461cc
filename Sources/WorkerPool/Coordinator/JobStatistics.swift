import Jobs
import PoolClient

/// What happened to jobs since the pool was started, for a status.
struct JobStatistics {
  struct Counters: Equatable, Sendable {
    var handedOut = 0
    var done = 0
    var failed = 0
    var returned = 0
    var crashed = 0
    var timedOut = 0
  }

  private(set) var counters = Counters()
  private(set) var kinds: [String: KindTimes] = [:]
  /// Seconds since the reference date, for comparison with times in rows; set before jobs begin.
  var wallClock: Double?

  init() {}

  mutating func count(_ counter: WritableKeyPath<Counters, Int>, _ jobs: Int) { counters[keyPath: counter] += jobs }

  /// The job begins now, for the first time in this attempt.
  mutating func noteBegin(of job: WindowJob) {
    guard let wallClock, let readyAt = job.readyAt else { return }
    kinds[job.kind, default: KindTimes()].waiting.add(wallClock - readyAt)
  }

  /// Jobs of the kind have used this.
  mutating func noteUse(_ use: ResourceUse, of kind: String) {
    var sum = kinds[kind]?.use ?? ResourceUse()
    sum.add(use)
    kinds[kind, default: KindTimes()].use = sum
  }

  /// An attempt ends now. One whose beginning the worker did not report has taken no time.
  mutating func noteEnd(of entry: HeldJob, _ counter: WritableKeyPath<KindCounters, Int>, now: Double) {
    kinds[entry.job.kind, default: KindTimes()].running.add(now - (entry.begunAt ?? now))
    kinds[entry.job.kind]?.counters[keyPath: counter] += 1
  }
}
