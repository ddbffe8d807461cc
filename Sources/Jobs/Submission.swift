import CoreData

/// Which jobs came of one submission, in the order of its requests.
///
/// Runs of consecutive keys keep it small: a file of many jobs usually gets one run.
public struct SubmittedJobs: Codable, Hashable, Sendable {
  /// Consecutive jobs.
  public struct Run: Codable, Hashable, Sendable {
    /// The key of the first job: the number in its URI.
    public var first: Int64
    public var count: Int
    /// False for jobs that were there before: they hold the unique key of the request, for which no second job was made.
    public var isNew: Bool

    public init(first: Int64, count: Int, isNew: Bool) {
      self.first = first
      self.count = count
      self.isNew = isNew
    }
  }

  public private(set) var runs: [Run] = []

  public init() {}

  /// How many requests the submission had.
  public var count: Int { runs.reduce(0) { $0 + $1.count } }

  /// The keys of all jobs, in the order of the requests.
  public var keys: [Int64] { runs.flatMap { $0.first..<($0.first + Int64($0.count)) } }

  /// Appends the job of the next request.
  public mutating func append(_ key: Int64, isNew: Bool) {
    if let last = runs.last, last.isNew == isNew, last.first + Int64(last.count) == key {
      runs[runs.count - 1].count += 1
    } else {
      runs.append(Run(first: key, count: 1, isNew: isNew))
    }
  }
}

extension PoolSubmission {
  /// The jobs of the submission.
  public internal(set) var jobs: SubmittedJobs {
    get { (try? JSONDecoder().decode(SubmittedJobs.self, from: Data(jobsText.utf8))) ?? SubmittedJobs() }
    set { jobsText = String(decoding: (try? JSONEncoder().encode(newValue)) ?? Data(), as: UTF8.self) }
  }
}

extension JobStore {
  /// Seconds for which a token is remembered at least, however soon finished jobs are deleted.
  public static let shortestTokenMemory = 86_400.0

  /// What came of the submissions with these tokens, as far as the pool has taken them.
  public func submissions(
    _ tokens: some Sequence<String>, in context: NSManagedObjectContext
  ) throws -> [String: SubmittedJobs] {
    var found: [String: SubmittedJobs] = [:]
    var rest = Array(tokens)[...]
    while !rest.isEmpty {
      let request = PoolSubmission.fetchRequest()
      request.predicate = NSPredicate(format: "token IN %@", Array(rest.prefix(500)))
      for submission in try context.fetch(request) { found[submission.token] = submission.jobs }
      rest = rest.dropFirst(500)
    }
    return found
  }

  /// Deletes tokens that need not be remembered any longer, without saving; returns how many.
  public func forgetSubmissions(
    _ retention: JobRetention, at now: Date = Date(), limit: Int = 1000, in context: NSManagedObjectContext
  ) throws -> Int {
    guard let age = retention.finished else { return 0 }
    let request = PoolSubmission.fetchRequest()
    request.predicate = NSPredicate(
      format: "createdAt < %@", (now - max(age, Self.shortestTokenMemory)) as NSDate)
    request.fetchLimit = limit
    let old = try context.fetch(request)
    for submission in old { context.delete(submission) }
    return old.count
  }

  /// Inserts the jobs of a submission and the note of its token, or nothing when the token is known.
  func insertSubmission(
    _ token: String, _ requests: [JobRequest], into context: NSManagedObjectContext, at now: Date
  ) throws -> [PoolJob] {
    guard try submissions([token], in: context).isEmpty else { return [] }
    let slots = try insertEach(requests, into: context, at: now)
    let jobs = slots.compactMap(\.self)
    try context.obtainPermanentIDs(for: jobs.filter { $0.objectID.isTemporaryID })
    let takenKeys = zip(requests, slots).compactMap { request, job in job == nil ? request.uniqueKey : nil }
    let holders = try PoolJob.holders(of: takenKeys, in: context)
    var submitted = SubmittedJobs()
    for (request, job) in zip(requests, slots) {
      if let key = job?.objectID.key {
        submitted.append(key, isNew: true)
      } else if let key = request.uniqueKey.flatMap({ holders[ExactText($0)] }) {
        submitted.append(key, isNew: false)
      }
    }
    let submission = PoolSubmission(context: context)
    submission.token = token
    submission.jobs = submitted
    submission.createdAt = now
    return jobs
  }
}

extension PoolJob {
  /// The key of the job that has each of these unique keys now.
  fileprivate static func holders(
    of uniqueKeys: [String], in context: NSManagedObjectContext
  ) throws -> [ExactText: Int64] {
    var holders: [ExactText: Int64] = [:]
    var rest = Array(Set(uniqueKeys.map(ExactText.init)))[...]
    while !rest.isEmpty {
      let request = fetchRequest()
      request.predicate = NSPredicate(format: "activeKey IN %@", rest.prefix(500).map(\.text))
      for job in try context.fetch(request) {
        if let name = job.activeKey { holders[ExactText(name)] = job.objectID.key }
      }
      rest = rest.dropFirst(500)
    }
    return holders
  }
}
