import CoreData

extension JobStore {
  /// Inserts a job for each request, without saving. A request whose unique key another job has is left out, as is one that
  /// refers to it. New objects of the context that a request names get their permanent IDs.
  ///
  /// When the first request has a ``JobRequest/submission`` token, its jobs are noted under it, and nothing is inserted if they
  /// were before.
  ///
  /// The save fails with a constraint conflict when another process has taken a unique key since: roll back and call again.
  /// - Parameter now: when the jobs came; a request for a later time is scheduled.
  /// - Returns: the new jobs, in the order of the requests.
  /// - Throws: ``JobObjectNameError``, and what a fetch throws.
  @discardableResult
  public func insert(
    _ requests: [JobRequest], into context: NSManagedObjectContext, at now: Date = Date()
  ) throws -> [PoolJob] {
    if let token = requests.first?.submission {
      return try insertSubmission(token, requests, into: context, at: now)
    }
    return try insertEach(requests, into: context, at: now).compactMap(\.self)
  }

  /// The new job of each request, nil for one that is left out.
  func insertEach(
    _ requests: [JobRequest], into context: NSManagedObjectContext, at now: Date
  ) throws -> [PoolJob?] {
    var taken = try PoolJob.takenKeys(among: requests.compactMap(\.uniqueKey), in: context, at: now)
    var labels: [String: PoolJob?] = [:]
    var jobs: [PoolJob?] = []
    jobs.reserveCapacity(requests.count)
    for request in requests {
      if let key = request.uniqueKey, !taken.insert(ExactText(key)).inserted {
        if let label = request.label { labels[label] = .some(nil) }
        jobs.append(nil)
        continue
      }
      let job = try PoolJob.insert(request, into: context, at: now)
      if let label = request.label { labels[label] = job }
      if request.options.after.contains(where: { labels[$0] != nil }) {
        try resolve(request, of: job, labels, in: context)
      }
      jobs.append(job)
    }
    return jobs
  }

  /// Puts URIs in place of labels. Jobs that were left out are not waited for: one of the same key is on its way.
  private func resolve(
    _ request: JobRequest, of job: PoolJob, _ labels: [String: PoolJob?], in context: NSManagedObjectContext
  ) throws {
    let named = request.options.after.compactMap { labels[$0] ?? nil }
    try context.obtainPermanentIDs(for: named.filter { $0.objectID.isTemporaryID })
    var options = request.options
    options.after = options.after.compactMap { name in
      guard let label = labels[name] else { return name }
      return label?.objectID.uriString
    }
    job.options = options
    if !options.waitsForJobs { try job.markReleased() }
  }

  /// Why requests cannot be taken into this store, if they cannot: a job that one of them is to wait for is not there.
  public func problem(with requests: [JobRequest], in context: NSManagedObjectContext) throws -> String? {
    for (index, request) in requests.enumerated() {
      let uris = request.options.after.compactMap { ObjectURI($0) }
      guard !uris.isEmpty else { continue }
      let keys = uris.map(jobURIs.key)
      if let stranger = keys.firstIndex(of: nil) { return "job \(index + 1): \(uris[stranger]) is no job of this pool" }
      let known = Set(try jobs(keys: keys.compactMap(\.self), in: context).compactMap(\.objectID.key))
      if let missing = keys.firstIndex(where: { !known.contains($0 ?? 0) }) {
        return "job \(index + 1): there is no job \(uris[missing]), or not any more"
      }
    }
    return nil
  }

  /// The jobs of these keys that are there, in no order, with their ``PoolJob/shortAttributes``.
  public func jobs(keys: [Int64], in context: NSManagedObjectContext) throws -> [PoolJob] {
    var jobs: [PoolJob] = []
    var rest = keys[...]
    while !rest.isEmpty {
      let request = PoolJob.fetchRequest()
      let ids = rest.prefix(500).compactMap(objectID(job:))
      request.predicate = NSPredicate(format: "self IN %@", ids)
      request.propertiesToFetch = PoolJob.shortAttributes
      jobs += try context.fetch(request)
      rest = rest.dropFirst(500)
    }
    return jobs
  }

  /// Notes that the jobs of a file are being taken, without saving: see ``PoolFile``.
  ///
  /// - Parameter name: the file's private name, unique for ever.
  public func insertTakenFile(_ name: String, into context: NSManagedObjectContext) -> NSManagedObject {
    let file = PoolFile(context: context)
    file.name = name
    return file
  }

  /// The files whose jobs are in the store, but which may still lie in the queue directory.
  public func takenFiles(in context: NSManagedObjectContext) throws -> [TakenFileRow] {
    let request = PoolFile.fetchRequest()
    request.returnsObjectsAsFaults = false
    return try context.fetch(request).map {
      TakenFileRow(objectID: $0.objectID, name: $0.name, earlierIdentity: $0.earlierIdentity)
    }
  }
}

/// What the store holds of a file that was taken.
public struct TakenFileRow: Sendable {
  public let objectID: NSManagedObjectID
  public let name: String
  /// Only in rows that an earlier version of the pool wrote.
  public let earlierIdentity: EarlierFileIdentity?
}

extension PoolJob {
  /// The unique keys among these that a job has. One that a finished job had for a period that is over is taken away from it.
  static func takenKeys(
    among keys: [String], in context: NSManagedObjectContext, at now: Date
  ) throws -> Set<ExactText> {
    var taken: Set<ExactText> = []
    // SQLite allows 32,766 parameters in a statement (https://www.sqlite.org/limits.html); far below is as quick.
    var rest = Array(Set(keys.map(ExactText.init)))[...]
    while !rest.isEmpty {
      let request = fetchRequest()
      request.predicate = NSPredicate(format: "activeKey IN %@", rest.prefix(500).map(\.text))
      for job in try context.fetch(request) {
        if job.state.isUnfinished || job.isKeyTaken(at: now) {
          if let key = job.activeKey { taken.insert(ExactText(key)) }
        } else {
          job.activeKey = nil
        }
      }
      rest = rest.dropFirst(500)
    }
    return taken
  }

  /// Inserts one job into a context whose coordinator has the pool's store, without saving; nil when another job has its unique
  /// key.
  ///
  /// A plugin or an app submits jobs in this way: they exist exactly if the save comes through that holds its own work. If another
  /// process takes the unique key meanwhile, that save fails with a constraint conflict.
  /// - Throws: ``JobObjectNameError`` for an object that no worker could find; what a fetch throws, if the request has a unique key.
  @discardableResult
  public static func submit(
    _ request: JobRequest, into context: NSManagedObjectContext, at now: Date = Date()
  ) throws -> PoolJob? {
    if let key = request.uniqueKey, try !takenKeys(among: [key], in: context, at: now).isEmpty { return nil }
    return try insert(request, into: context, at: now)
  }

  /// Inserts one job into a context whose coordinator has the pool's store, without saving. Unique keys are not checked: the save
  /// fails when another job has the same.
  ///
  /// - Throws: ``JobObjectNameError``.
  @discardableResult
  public static func insert(
    _ request: JobRequest, into context: NSManagedObjectContext, at now: Date = Date()
  ) throws -> PoolJob {
    let objects = try request.permanentObjects(in: context)
    guard let job = NSEntityDescription.insertNewObject(forEntityName: entityName, into: context) as? PoolJob else {
      fatalError("The context's model has no entity \(entityName); use JobModel.merged(with:) for its coordinator.")
    }
    job.kind = request.kind
    job.createdAt = now
    if request.queue != JobRequest.defaultQueue { job.queue = request.queue }
    if request.priority != 0 { job.priority = request.priority }
    if !objects.isEmpty { job.objectURIs = objects }
    if let parameters = request.parameters { job.parametersText = parameters }
    if let key = request.uniqueKey {
      job.uniqueKey = key
      job.activeKey = key
    }
    if let attempts = request.maxAttempts { job.maxAttempts = attempts }
    if let timeout = request.timeout { job.timeout = timeout }
    if let batch = request.batch { job.batch = batch }
    if let key = request.limitKey { job.limitKey = key }
    if request.options != JobOptions() { job.options = request.options }
    let isEarly = request.runAt.map { $0 > now } ?? false
    if isEarly { job.runAt = request.runAt }
    if request.options.waitsForJobs {
      job.state = .pending
    } else if isEarly {
      job.state = .scheduled
    }
    return job
  }
}
