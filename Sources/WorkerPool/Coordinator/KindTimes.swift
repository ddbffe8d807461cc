import PoolClient

/// What happened to the jobs of one kind since the pool was started.
struct KindTimes: Equatable, Sendable {
  /// From when a job could begin to when it did, for each attempt.
  var waiting = TimeHistogram()
  /// From when a job began to when the pool heard of its end.
  var running = TimeHistogram()
  var counters = KindCounters()
  /// What its jobs have used; nil before it was measured.
  var use: ResourceUse?
}
