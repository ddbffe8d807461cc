/// The jobs of one submission, in the order of its requests.
///
/// Runs of consecutive keys keep it small: a file of many jobs usually gets one run.
///
/// ```text
/// [{"first": 5, "count": 1000, "isNew": true}, {"first": 17, "count": 1, "isNew": false}]
/// ```
public struct SubmittedJobs: Codable, Hashable, Sendable {
  /// Consecutive jobs.
  public struct Run: Codable, Hashable, Sendable {
    /// The key of the first job: the number in its URI.
    public var first: Int64
    /// How many jobs they are.
    public var count: Int
    /// False for jobs that were there before: they hold the unique key of the request, for which no second job was
    /// made.
    public var isNew: Bool

    /// The keys of the jobs.
    public var keys: Range<Int64> { first..<(first + Int64(count)) }

    /// Jobs with the keys from `first` on.
    public init(first: Int64, count: Int, isNew: Bool) {
      self.first = first
      self.count = count
      self.isNew = isNew
    }
  }

  /// The jobs, in the order of the requests.
  public private(set) var runs: [Run] = []

  /// No jobs.
  public init() {}

  /// How many requests the submission had.
  public var count: Int { runs.reduce(0) { $0 + $1.count } }

  /// The keys of all jobs, in the order of the requests.
  public var keys: [Int64] { runs.flatMap(\.keys) }

  /// Appends the job of the next request.
  public mutating func append(_ key: Int64, isNew: Bool) {
    if let last = runs.last, last.isNew == isNew, last.keys.upperBound == key {
      runs[runs.count - 1].count += 1
    } else {
      runs.append(Run(first: key, count: 1, isNew: isNew))
    }
  }
}
