/// Work of which one run at a time is under way, and whose end comes back as an event. A request during a run starts no
/// second one: it notes that one more has to follow.
///
/// However many requests come during a run, one run follows it, which begins after all of them.
///
///     func promoteDueJobs() {
///       if dueJobs.request() { source.promoteDueJobs() }
///     }
///
///     func promoted() {
///       if dueJobs.ended() { promoteDueJobs() }
///     }
struct SingleFlight: Equatable, Sendable {
  private(set) var isRunning = false
  private var mustRunAgain = false

  /// Asks for a run.
  ///
  /// - Returns: whether the caller has to start it now; `false` while one is under way.
  mutating func request() -> Bool {
    mustRunAgain = isRunning
    defer { isRunning = true }
    return !isRunning
  }

  /// Notes that the run is over.
  ///
  /// - Returns: whether somebody has asked for a run since it began; the caller then requests it again.
  mutating func ended() -> Bool {
    isRunning = false
    defer { mustRunAgain = false }
    return mustRunAgain
  }
}
