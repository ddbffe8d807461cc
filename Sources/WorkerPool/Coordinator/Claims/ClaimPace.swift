/// How many jobs a pool claims ahead in a store that it shares: one for each worker process that could begin one soon,
/// or those of a quarter of a second, so that other pools find work while this one is busy, and the workers do not wait
/// for the next claim.
///
/// What cannot begin soon is given back, and claimed again later: two more updates of each such row. So after that the
/// pool is cautious: it holds one job for each worker process, or a quarter as many as have ended since then, or
/// between the last two times. However often the workers stand still, short jobs cost half an update more on average.
struct ClaimPace: Sendable {
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
  /// Jobs that have ended since claims were given back the last time, and between the last two times; nil before that.
  private var ended: (since: Int, before: Int)?

  /// Notes that jobs have ended.
  mutating func note(_ jobs: Int, now: Double) {
    ended?.since += jobs
    count += jobs
    guard now - since >= Self.interval else { return }
    rate = now - since > Self.longest ? 0 : Double(count) / (now - since)
    (count, since) = (0, now)
  }

  /// Notes that claims are given back. What waited here and what was in the hands of slow workers comes back one after
  /// the other, and is one time.
  mutating func gaveBack() {
    if ended?.since != 0 { ended = (0, before: ended?.since ?? 0) }
  }

  /// How many claimed jobs should wait here.
  ///
  /// - Parameter slow: worker processes whose running job takes long, and has not ended yet.
  func size(slow: Int = 0, now: Double) -> Int {
    let idle = max(0, workers - slow)
    if idle == 0 { return 0 }
    return now - since > Self.longest ? idle : max(idle, Int(rate * Self.ahead))
  }

  /// How many claimed jobs may wait here and in the workers' hands together; nil while the pool is not cautious.
  func sizeWithHands(slow: Int = 0) -> Int? {
    ended.map { max(workers - slow, max($0.since, $0.before) / 4) }
  }
}
