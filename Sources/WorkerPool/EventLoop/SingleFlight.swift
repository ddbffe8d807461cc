/// Work that runs once at a time, and whose end comes back as an event. A request during a run starts no second run,
/// but notes that another one has to follow.
///
/// All requests during a run lead to one further run, which begins after all of them.
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
  /// - Returns: whether there was a request since the run began; the caller then requests a run again.
  mutating func ended() -> Bool {
    isRunning = false
    defer { mustRunAgain = false }
    return mustRunAgain
  }
}
