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
