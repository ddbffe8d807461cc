/// How many times were how long: a count for each range between fixed bounds. Adding a time costs a few comparisons and
/// no memory.
///
/// ```swift
/// import PoolClient
///
/// for kind in try StatusClient(queue: "queue/").request(StatusRequest(.status)).status?.kinds ?? [] {
///   let counts = zip(TimeHistogram.bounds + [.infinity], kind.running.counts)
///   let slow = counts.filter { $0.0 > 60 }.reduce(0) { $0 + $1.1 }
///   print(kind.kind, slow, "attempts took longer than a minute")
/// }
/// ```
///
/// `workerpool web` serves the same counts to Prometheus as `_bucket`, where each bucket includes the smaller ones.
public struct TimeHistogram: Codable, Equatable, Sendable {
  /// The upper bounds in seconds; a time that equals a bound counts below it.
  public static let bounds = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200]

  /// How many times lie below each bound and above the one before; the last number counts those above all bounds.
  public private(set) var counts: [Int]
  /// All times together, in seconds.
  public private(set) var sum: Double

  /// Without any time.
  public init() {
    counts = [Int](repeating: 0, count: Self.bounds.count + 1)
    sum = 0
  }

  /// Adds a time. A negative time counts as zero: the clock was set back.
  package mutating func add(_ seconds: Double) {
    let seconds = max(0, seconds)
    counts[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
    sum += seconds
  }
}

/// Attempts of one kind of jobs since the pool was started.
public struct KindCounters: Codable, Equatable, Sendable {
  /// Attempts that succeeded.
  public var done = 0
  /// Attempts that ended in an error.
  public var failed = 0
  /// Attempts that ended with the death of the worker.
  public var crashed = 0
  /// Attempts whose worker was killed, because the job did not stop when its time was over.
  public var timedOut = 0

  /// Without any attempt.
  public init() {}
}

extension PoolStatus {
  /// What happened to the jobs of one kind since this pool was started.
  public struct Kind: Codable, Equatable, Sendable {
    /// The kind's name.
    public var kind: String
    /// From when a job could begin to when it did, for each attempt.
    public var waiting: TimeHistogram
    /// From when a job began to when the pool heard of its end. Short jobs that share a transaction end together.
    public var running: TimeHistogram
    /// What came of its attempts.
    public var counters: KindCounters
    /// Seconds for which the oldest ready job has been waiting; nil if none waits, or the store did not answer.
    public var oldestWaiting: Double?
    /// Jobs that would begin now if a worker of their kind were free: no limit, rate or pause holds them back. Nil
    /// where there are none.
    public var couldBegin: Int?
    /// What its jobs have used; nil before it was measured.
    public var use: ResourceUse?

    package init(
      kind: String, waiting: TimeHistogram = .init(), running: TimeHistogram = .init(),
      counters: KindCounters = .init(),
      oldestWaiting: Double? = nil
    ) {
      self.kind = kind
      self.waiting = waiting
      self.running = running
      self.counters = counters
      self.oldestWaiting = oldestWaiting
    }
  }
}
