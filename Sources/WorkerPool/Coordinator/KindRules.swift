import WorkerProtocol

/// How jobs of a kind may be handed out.
struct KindRules: Equatable, Sendable {
  /// How many may be in hand at a time; nil is any number.
  var limit: Int?
  /// How many may begin in a period; nil is any number.
  var rate: JobRate?
}

/// When the jobs of a kind with a rate began. No span of one period has more beginnings than the rate allows.
///
/// A job that is in hand and has not begun may begin at any time, so it takes a place without a date: see
/// ``KindState/rateRoom(now:)``.
struct RateWindow: Sendable {
  /// Jobs that began at about the same time.
  private struct Starts {
    let first: Double
    var last: Double
    var count = 1
  }

  var rate: JobRate
  /// The oldest first; all within the last period.
  private var starts: [Starts] = []
  private var count = 0

  /// A period is divided into this many steps. Jobs within one step count as begun with the last of them, so that the
  /// rate is kept.
  private static let resolution = 1000.0

  init(_ rate: JobRate) { self.rate = rate }

  /// How many jobs may begin now.
  mutating func room(now: Double) -> Int {
    let over = starts.prefix { $0.last + rate.period <= now }
    guard !over.isEmpty else { return max(0, rate.jobs - count) }
    count -= over.reduce(0) { $0 + $1.count }
    starts.removeFirst(over.count)
    return max(0, rate.jobs - count)
  }

  /// Counts a job that begins.
  mutating func take(now: Double) {
    count += 1
    if let last = starts.last, now - last.first < rate.period / Self.resolution {
      starts[starts.count - 1].last = max(now, last.last)
      starts[starts.count - 1].count += 1
    } else {
      starts.append(Starts(first: now, last: now))
    }
  }

  /// Takes back a job that began at that time and has left no effect.
  mutating func giveBack(from time: Double) {
    guard let index = starts.lastIndex(where: { $0.first <= time && time <= $0.last }) else { return }
    count -= 1
    starts[index].count -= 1
    if starts[index].count == 0 { starts.remove(at: index) }
  }

  /// When the next of these beginnings no longer counts; nil without any.
  var nextTime: Double? { starts.first.map { $0.last + rate.period } }
}

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
  /// Whether it has jobs that may run, or in hand.
  var isActive = false
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
