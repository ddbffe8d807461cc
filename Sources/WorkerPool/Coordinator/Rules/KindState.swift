import Jobs
import WorkerProtocol

/// What the coordinator counts for a kind.
struct KindState: Sendable {
  var rules: KindRules
  var pastStarts: RateWindow?
  var inHand = 0
  /// How many of those in hand have begun.
  var begun = 0
  /// Jobs in the hands of survivors.
  var survivorJobs = 0
  /// Jobs that may have killed a worker together with others: each has to run alone.
  var suspects: [WindowJob] = []
  /// Jobs in its windows that may run.
  var runnable = 0
  /// Whether it had jobs at the last call of ``changeOfActivity()``.
  private var isActive = false
  /// Whether its jobs may be picked: it is not paused, and its limit and rate have room.
  var isOffered = true

  init(rules: KindRules) {
    self.rules = rules
    pastStarts = rules.rate.map(RateWindow.init)
  }

  /// What has begun counts against a new rate, too, as far as the period before reaches.
  mutating func setRules(_ new: KindRules) {
    if let rate = new.rate, pastStarts != nil {
      pastStarts?.rate = rate
    } else {
      pastStarts = new.rate.map(RateWindow.init)
    }
    rules = new
  }

  /// A job in hand begins.
  ///
  /// - Parameter isFirst: whether it has not begun before, together with others of whose group only it begins again
  ///   now.
  mutating func begin(isFirst: Bool, now: Double) {
    if isFirst { begun += 1 }
    pastStarts?.take(now: now)
  }

  /// Whether it has jobs that may run, jobs in hand or suspects, where that has changed since the last call.
  mutating func changeOfActivity() -> Bool? {
    let isNowActive = runnable > 0 || inHand > 0 || !suspects.isEmpty
    guard isNowActive != isActive else { return nil }
    isActive = isNowActive
    return isNowActive
  }

  /// How many are in hand and have not begun.
  var notBegun: Int { inHand - begun }

  /// Whether its limit lets one more be handed out.
  var isBelowLimit: Bool { rules.limit.map { inHand + survivorJobs < $0 } ?? true }

  /// How many more jobs may be handed out now.
  mutating func room(now: Double) -> Int {
    let byLimit = rules.limit.map { max(0, $0 - inHand - survivorJobs) } ?? .max
    return min(byLimit, rateRoom(now: now))
  }

  /// How many more the rate lets be handed out now. What is in hand and has not begun holds its place until it begins,
  /// however late that is, and is dated then.
  mutating func rateRoom(now: Double) -> Int {
    pastStarts.map { _ in max(0, (pastStarts?.room(now: now) ?? 0) - notBegun) } ?? .max
  }

  /// When the rate may have room, if it has none now; nil as long as jobs in hand have all its places.
  var nextRateTime: Double? {
    pastStarts.flatMap { notBegun < $0.rate.jobs ? $0.nextTime : nil }
  }
}
