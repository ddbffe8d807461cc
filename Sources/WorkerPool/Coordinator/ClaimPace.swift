/// How many jobs a pool claims ahead in a store that it shares: one for each worker process that could begin one soon,
/// or those of a quarter of a second, so that other pools find work while this one is busy, and the workers do not wait
/// for the next claim.
struct ClaimPace: Equatable, Sendable {
  /// Seconds for which jobs are claimed ahead.
  private static let ahead = 0.25
  /// Seconds over which the rate is measured, and after which an old rate says nothing.
  private static let interval = 0.05
  private static let longest = 1.0

  /// How many worker processes the pool should have. With none it claims nothing.
  var workers = 0
  private var count = 0
  private var since = 0.0
  /// Jobs that end in a second.
  private var rate = 0.0

  /// Notes that jobs have ended.
  mutating func note(_ jobs: Int, now: Double) {
    count += jobs
    guard now - since >= Self.interval else { return }
    rate = now - since > Self.longest ? 0 : Double(count) / (now - since)
    (count, since) = (0, now)
  }

  /// How many claimed jobs should wait here.
  ///
  /// - Parameter slow: worker processes whose running job takes long, and has not ended yet.
  func size(slow: Int = 0, now: Double) -> Int {
    let idle = max(0, workers - slow)
    if idle == 0 { return 0 }
    return now - since > Self.longest ? idle : max(idle, Int(rate * Self.ahead))
  }
}
