import CoreData

extension PoolSubmission {
  /// The jobs of the submission.
  public internal(set) var jobs: SubmittedJobs {
    // A text of a later version, which cannot be read, names no jobs here. Numbers and texts can always be written.
    get { (try? JSONDecoder().decode(SubmittedJobs.self, from: Data(jobsText.utf8))) ?? SubmittedJobs() }
    set { jobsText = String(decoding: (try? JSONEncoder().encode(newValue)) ?? Data(), as: UTF8.self) }
  }
}

/// Submissions: a token by which a producer may send the same file again, after it does not know whether it arrived.
///
/// ```text
/// producer                                 pool
/// file with the token "nightly 1"     ──▶  takes it: jobs p5 to p8, and a row of the token, in one save
/// (the answer is lost)
/// the same file, the same token       ──▶  knows the token: inserts nothing
/// asks for the token                  ──▶  p5 to p8
/// ```
///
/// A token is remembered as long as finished jobs are, and for a day at least.
extension JobStore {
  /// Seconds for which a token is remembered at least, even if finished jobs are deleted sooner.
  public static let shortestTokenMemory = 86_400.0

  /// The jobs of the submissions with these tokens that the pool has taken, by token.
  public func submissions(
    _ tokens: some Sequence<String>, in context: NSManagedObjectContext
  ) throws -> [String: SubmittedJobs] {
    let request = PoolSubmission.fetchRequest()
    request.predicate = NSPredicate(format: "token IN %@", Array(tokens))
    return try context.fetch(request).reduce(into: [:]) { $0[$1.token] = $1.jobs }
  }

  /// Deletes tokens that need not be remembered any longer, without saving; returns how many.
  ///
  /// - Parameter limit: how many at most; call again after the save while it returns as many.
  public func forgetSubmissions(
    _ retention: JobRetention, at now: Date? = nil, limit: Int = 1000, in context: NSManagedObjectContext
  ) throws -> Int {
    let now = now ?? self.now
    guard let age = retention.finished else { return 0 }
    let request = PoolSubmission.fetchRequest()
    request.predicate = NSPredicate(
      format: "createdAt < %@", (now - max(age, Self.shortestTokenMemory)) as NSDate)
    request.fetchLimit = limit
    let old = try context.fetch(request)
    for submission in old { context.delete(submission) }
    return old.count
  }

  /// Inserts the jobs of a submission and the note of its token, or nothing when the token is known. A request whose
  /// unique key another job has is answered with that job.
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
