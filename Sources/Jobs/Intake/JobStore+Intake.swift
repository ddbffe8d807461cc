import CoreData

extension JobStore {
  /// Inserts a job for each request, without saving. A request whose unique key another job has is left out, and so is
  /// one with its key. New objects of the context that a request names get their permanent IDs.
  ///
  /// When the first request has a ``JobRequest/submission`` token, its jobs are noted under it. If the token is known,
  /// nothing is inserted.
  ///
  /// The save fails with a constraint conflict when another process has taken a unique key since: roll back and call
  /// again.
  /// - Parameter now: when the jobs came; a request for a later time is scheduled.
  /// - Returns: the new jobs, in the order of the requests.
  /// - Throws: ``JobObjectNameError``, ``JSONError`` for ``JobRequest/uniqueBy`` with parameters that are not JSON, and
  ///   what a fetch throws.
  @discardableResult
  public func insert(
    _ requests: [JobRequest], into context: NSManagedObjectContext, at now: Date? = nil
  ) throws -> [PoolJob] {
    let now = now ?? self.now
    if requests.contains(where: \.hasUniqueParts) {
      return try insert(requests.map { try $0.keyed(at: now, in: context) }, into: context, at: now)
    }
    if let token = requests.first?.submission {
      return try insertSubmission(token, requests, into: context, at: now)
    }
    return try insertEach(requests, into: context, at: now).compactMap(\.self)
  }

  /// The new job of each request, nil for one that is left out, because of a unique key that a job of the store or of
  /// an earlier request has. The keys are looked up in one fetch for all requests.
  func insertEach(
    _ requests: [JobRequest], into context: NSManagedObjectContext, at now: Date
  ) throws -> [PoolJob?] {
    var taken = try PoolJob.takenKeys(among: requests.compactMap(\.uniqueKey), in: context, at: now)
    var labels: [String: PoolJob?] = [:]
    var jobs: [PoolJob?] = []
    jobs.reserveCapacity(requests.count)
    let entity = PoolJob.entity(in: context)
    for request in requests {
      if let key = request.uniqueKey, !taken.insert(ExactText(key)).inserted {
        if let label = request.label { labels[label] = .some(nil) }
        jobs.append(nil)
        continue
      }
      let job = try PoolJob.insert(request, entity, into: context, at: now)
      if let label = request.label { labels[label] = job }
      if request.options.after.contains(where: { labels[$0] != nil }) {
        try resolve(request, of: job, labels, in: context, at: now)
      }
      jobs.append(job)
    }
    return jobs
  }

  /// Replaces labels by URIs. The job does not wait for requests that were left out because another job has their key.
  private func resolve(
    _ request: JobRequest, of job: PoolJob, _ labels: [String: PoolJob?], in context: NSManagedObjectContext,
    at now: Date
  ) throws {
    let named = request.options.after.compactMap { labels[$0] ?? nil }
    try context.obtainPermanentIDs(for: named.filter { $0.objectID.isTemporaryID })
    var options = request.options
    options.after = options.after.compactMap { name in
      guard let label = labels[name] else { return name }
      return label?.objectID.uriString
    }
    job.options = options
    if !options.waitsForJobs { try job.markReleased(at: now) }
  }

  /// Why requests cannot be taken into this store, if they cannot: one of them waits for a job that is not there; see
  /// ``MissingJobError``.
  public func problem(with requests: [JobRequest], in context: NSManagedObjectContext) throws -> String? {
    // By index: a job has many fields, and a copy counts them all.
    for index in requests.indices where !requests[index].options.after.isEmpty {
      if let missing = try requests[index].missingJob(in: context) { return "job \(index + 1): \(missing)" }
    }
    return nil
  }
}
