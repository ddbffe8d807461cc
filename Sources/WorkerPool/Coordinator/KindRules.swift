/// So many jobs in so many seconds.
public struct JobRate: Codable, Hashable, Sendable {
  public var jobs: Int
  /// In seconds.
  public var period: Double

  public init(jobs: Int, period: Double) {
    self.jobs = jobs
    self.period = period
  }
}

/// How jobs of a kind may be handed out.
struct KindRules: Equatable, Sendable {
  /// How many may be in hand at a time; nil is any number.
  var limit: Int?
  /// How many may be handed out in a time; nil is any number.
  var rate: JobRate?
}

/// What is left of a rate at a time: fills up evenly, to no more than one period's jobs.
struct RateBucket: Equatable, Sendable {
  let rate: JobRate
  private var tokens: Double
  private var time: Double

  init(_ rate: JobRate, now: Double) {
    self.rate = rate
    tokens = Double(rate.jobs)
    time = now
  }

  /// How many jobs may be handed out now.
  mutating func room(now: Double) -> Int {
    tokens = min(Double(rate.jobs), tokens + max(0, now - time) * Double(rate.jobs) / rate.period)
    time = max(time, now)
    // What was added up in small parts may lack a little.
    return Int(tokens + 1e-9)
  }

  mutating func take(_ count: Int) { tokens -= Double(count) }

  /// When the next job may be handed out, if none may be now.
  var nextTime: Double { time + max(0, 1 - tokens) * rate.period / Double(rate.jobs) }
}

/// What the coordinator keeps account of for a kind.
struct KindState: Sendable {
  var rules: KindRules
  var bucket: RateBucket?
  var inHand = 0
  /// Jobs that may have killed a worker together with others: each is to run alone.
  var suspects: [WindowJob] = []
  /// The queues that have a window.
  var queues: Set<String> = []
  var isFindingQueues = false
  var mustFindAgain = false

  init(rules: KindRules, now: Double) {
    self.rules = rules
    bucket = rules.rate.map { RateBucket($0, now: now) }
  }

  mutating func setRules(_ new: KindRules, now: Double) {
    if new.rate != rules.rate { bucket = new.rate.map { RateBucket($0, now: now) } }
    rules = new
  }

  /// Whether its limit lets one more be handed out.
  var isBelowLimit: Bool { rules.limit.map { inHand < $0 } ?? true }

  /// How many more jobs may be handed out now.
  mutating func room(now: Double) -> Int {
    let byLimit = rules.limit.map { max(0, $0 - inHand) } ?? .max
    return min(byLimit, bucket?.room(now: now) ?? .max)
  }

  /// How many jobs the window of each queue should hold.
  var windowSize: Int { max(JobWindow.smallest, JobWindow.size / max(1, queues.count)) }
}
