import CoreData

/// What a pool did in an interval of time, and how it stood at the interval's end.
///
/// ```swift
/// let day = try JobStore.history(.halfHour, since: Date() - 86_400, in: context)
/// for interval in day { print(interval.start, interval.counts[0], "succeeded", interval.waiting?[0] ?? 0, "s wait") }
/// ```
public struct HistoryInterval: Equatable, Sendable {
  /// When the interval begins. Intervals begin at round times.
  public var start: Date
  /// Jobs that ended, by ``outcomes``.
  public var counts: [Int]
  /// Seconds from arrival to start of jobs that succeeded at their first attempt: by ``shares``. Nil without such jobs.
  public var waiting: [Double]?
  /// Seconds from start to end of jobs that succeeded: by ``shares``. Nil without such jobs.
  public var running: [Double]?
  /// How the pool stood; nil where no pool has said so.
  public var gauges: HistoryGauges?

  /// The states that jobs end in.
  public static let outcomes: [JobState] = [.succeeded, .dead, .cancelled]
  /// Half, 95 % and 99 % of the jobs took at most that long.
  public static let shares = [0.5, 0.95, 0.99]
  /// Jobs of an interval whose times are looked at.
  public static let sampled = 200

  /// An interval in which nothing is known to have ended.
  public init(start: Date, counts: [Int] = [0, 0, 0]) {
    self.start = start
    self.counts = counts
  }

  /// What is known from the rows of jobs that ended in it.
  init(start: Date, of jobs: [PoolJob]) {
    self.init(start: start, counts: Self.outcomes.map { state in jobs.count { $0.state == state } })
    var times = EndedJobTimes()
    for job in jobs.lazy.filter({ $0.state == .succeeded }).prefix(Self.sampled) {
      times.add(createdAt: job.createdAt, startedAt: job.startedAt, finishedAt: job.finishedAt, attempts: job.attempt)
    }
    (waiting, running) = (times.waiting, times.running)
  }

  /// Jobs that ended, in any state.
  public var total: Int { counts.reduce(0, +) }

  /// Whether a pool has noted the interval at its end. Until then only deleted jobs count.
  var isNoted: Bool { gauges != nil }

  /// Whether nothing happened, nothing waits and no worker is there.
  public var isIdle: Bool { counts.allSatisfy { $0 == 0 } && gauges.map { $0 == HistoryGauges() } ?? true }

  /// Several intervals as one: sums, means, and of the times the median of the medians and the largest of the others.
  ///
  /// The true median of all jobs is not known any more. The medians count by the number of their jobs, which is near
  /// enough for a plot; the largest 99 % is an upper bound.
  ///
  /// - Parameter parts: at least one, in their order.
  public init(start: Date, joining parts: [HistoryInterval]) {
    self.init(start: start)
    for part in parts {
      for index in counts.indices where part.counts.indices.contains(index) { counts[index] += part.counts[index] }
    }
    waiting = Self.joined(parts.compactMap { part in part.waiting.map { ($0, part.counts[0]) } })
    running = Self.joined(parts.compactMap { part in part.running.map { ($0, part.counts[0]) } })
    gauges = HistoryGauges(meanOf: parts.compactMap(\.gauges))
  }

  private static func joined(_ parts: [(times: [Double], jobs: Int)]) -> [Double]? {
    guard !parts.isEmpty else { return nil }
    let byMedian = parts.sorted { $0.times[0] < $1.times[0] }
    let half = Double(parts.reduce(0) { $0 + max(1, $1.jobs) }) / 2
    var jobs = 0
    let middle = byMedian.first { part in
      jobs += max(1, part.jobs)
      return Double(jobs) >= half
    }
    return [middle?.times[0] ?? 0] + [1, 2].map { index in parts.map { $0.times[index] }.max() ?? 0 }
  }
}

/// How long jobs that succeeded waited and ran. At most 200 jobs of an interval are looked at: enough for the 99 %,
/// and no more work in a busy minute than in a calm one.
struct EndedJobTimes {
  private var waits: [Double] = []
  private var runs: [Double] = []

  /// Adds a job, if it is known when it began. A job with failed attempts has waited for more than a worker.
  mutating func add(createdAt: Date?, startedAt: Date?, finishedAt: Date?, attempts: Int) {
    guard let createdAt, let startedAt, let finishedAt else { return }
    runs.append(max(0, finishedAt.timeIntervalSince(startedAt)))
    if attempts <= 1 { waits.append(max(0, startedAt.timeIntervalSince(createdAt))) }
  }

  /// ``HistoryInterval/waiting`` and ``HistoryInterval/running``.
  var waiting: [Double]? { Self.percentiles(waits) }
  var running: [Double]? { Self.percentiles(runs) }

  /// The nearest ranks of ``HistoryInterval/shares``; nil without values: of 200 values the 100th, the 190th and the
  /// 198th.
  static func percentiles(_ values: [Double]) -> [Double]? {
    guard !values.isEmpty else { return nil }
    let sorted = values.sorted()
    return HistoryInterval.shares.map {
      sorted[min(sorted.count - 1, Int((Double(sorted.count) * $0).rounded(.up)) - 1)]
    }
  }
}

/// How a pool stands at a moment. Doubles, since a longer interval has the means of its parts.
public struct HistoryGauges: Equatable, Sendable {
  /// Jobs that could run now and do not.
  public var waiting = 0.0
  /// Jobs that wait for a time or for other jobs.
  public var later = 0.0
  /// Jobs that run.
  public var running = 0.0
  /// Resident memory of all workers, in bytes.
  public var memory = 0.0
  /// Processors that the workers kept busy.
  public var processors = 0.0

  /// Nothing waits or runs.
  public init() {}

  /// The mean of how the pool stood at several moments; nil for none.
  public init?(meanOf all: [HistoryGauges]) {
    guard !all.isEmpty else { return nil }
    for field in Self.fields {
      self[keyPath: field] = all.reduce(0) { $0 + $1[keyPath: field] } / Double(all.count)
    }
  }

  // `nonisolated(unsafe)`: a constant list of key paths without captured values.
  nonisolated(unsafe) fileprivate static let fields: [WritableKeyPath<HistoryGauges, Double>] = [
    \.waiting, \.later, \.running, \.memory, \.processors,
  ]
}

extension HistoryInterval {
  /// The interval as a line of text: seconds since 2001, counts, gauges, times, separated by spaces; "-" for what is
  /// not known.
  ///
  /// ```text
  /// 817551660 5 0 1 12 3 2 75497472 1.5 0.02 0.4 1.1 2.5 3 3.2
  /// start     ended waiting later running memory processors   waits, runs: 50, 95 and 99 %
  /// ```
  var line: String {
    func text(_ value: Double?) -> String {
      guard let value else { return "-" }
      let rounded = (value * 10_000).rounded() / 10_000
      return rounded == rounded.rounded() && abs(rounded) < 1e15 ? String(Int64(rounded)) : String(rounded)
    }
    var fields = [text(start.timeIntervalSinceReferenceDate)] + counts.map(String.init)
    fields += HistoryGauges.fields.map { field in text(gauges.map { $0[keyPath: field] }) }
    fields += [waiting, running].flatMap { times in [0, 1, 2].map { text(times?[$0]) } }
    return fields.joined(separator: " ")
  }

  /// Reads ``line``; nil for another line, such as one of a later version with more fields.
  init?(line: Substring) {
    let fields = line.split(separator: " ")
    guard fields.count == 15, let start = Double(fields[0]), start.isFinite else { return nil }
    let counts = fields[1...3].compactMap { Int($0) }
    guard counts.count == 3 else { return nil }
    self.init(start: Date(timeIntervalSinceReferenceDate: start), counts: counts)
    let gauges = fields[4...8].compactMap { Double($0) }
    if gauges.count == 5 {
      var value = HistoryGauges()
      for (field, number) in zip(HistoryGauges.fields, gauges) { value[keyPath: field] = number }
      self.gauges = value
    }
    let times = fields[9...14].map { Double($0) }
    let (waits, runs) = (times[0..<3].compactMap(\.self), times[3..<6].compactMap(\.self))
    waiting = waits.count == 3 ? waits : nil
    running = runs.count == 3 ? runs : nil
  }
}
