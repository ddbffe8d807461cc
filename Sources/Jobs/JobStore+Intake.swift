import CoreData

extension JobStore {
  /// Inserts a job for each request, without saving. A request whose unique key an unfinished job has is left out.
  ///
  /// - Parameter now: when the jobs came; a request for a later time is scheduled.
  /// - Returns: the new jobs, in the order of the requests.
  @discardableResult
  public func insert(
    _ requests: [JobRequest], into context: NSManagedObjectContext, at now: Date = Date()
  ) throws -> [Job] {
    var taken = try unfinishedKeys(among: requests.compactMap(\.uniqueKey), in: context)
    var jobs: [Job] = []
    jobs.reserveCapacity(requests.count)
    for request in requests {
      if let key = request.uniqueKey, !taken.insert(key).inserted { continue }
      jobs.append(Job.insert(request, into: context, at: now))
    }
    return jobs
  }

  private func unfinishedKeys(among keys: [String], in context: NSManagedObjectContext) throws -> Set<String> {
    var found: Set<String> = []
    // SQLite allows 32,766 parameters in a statement (https://www.sqlite.org/limits.html); far below is as quick.
    var rest = Array(Set(keys))[...]
    while !rest.isEmpty {
      let request = Job.fetchRequest()
      request.predicate = NSPredicate(
        format: "uniqueKey IN %@ AND state IN %@", Array(rest.prefix(500)),
        JobState.allCases.filter(\.isUnfinished).map { NSNumber(value: $0.rawValue) })
      found.formUnion(try context.fetch(request).compactMap(\.uniqueKey))
      rest = rest.dropFirst(500)
    }
    return found
  }

  /// Notes that the jobs of a file are being taken, without saving: see ``TakenFile``.
  @discardableResult
  public func insertTakenFile(_ identity: FileIdentity, into context: NSManagedObjectContext) -> TakenFile? {
    let file = NSEntityDescription.insertNewObject(forEntityName: TakenFile.entityName, into: context) as? TakenFile
    file?.identity = identity
    return file
  }

  /// The files whose jobs are in the store, but which may still lie in the queue directory.
  public func takenFiles(in context: NSManagedObjectContext) throws -> [FileIdentity: NSManagedObjectID] {
    let files = try context.fetch(TakenFile.fetchRequest())
    return Dictionary(files.map { ($0.identity, $0.objectID) }, uniquingKeysWith: { first, _ in first })
  }
}

extension Job {
  /// Inserts one job into a context whose coordinator has the pool's store, without saving. Unique keys are not checked.
  ///
  /// A plugin submits further jobs in this way: they exist exactly if its own work does.
  @discardableResult
  public static func insert(
    _ request: JobRequest, into context: NSManagedObjectContext, at now: Date = Date()
  ) -> Job {
    guard let job = NSEntityDescription.insertNewObject(forEntityName: entityName, into: context) as? Job else {
      fatalError("The context's model has no entity \(entityName); use JobModel.merged(with:) for its coordinator.")
    }
    job.kind = request.kind
    job.createdAt = now
    if request.queue != JobRequest.defaultQueue { job.queue = request.queue }
    if request.priority != 0 { job.priority = request.priority }
    if !request.objects.isEmpty { job.objectURIs = request.objects }
    if let parameters = request.parameters { job.parametersText = parameters }
    if let key = request.uniqueKey { job.uniqueKey = key }
    if let attempts = request.maxAttempts { job.maxAttempts = attempts }
    if let timeout = request.timeout { job.timeout = timeout }
    if let runAt = request.runAt, runAt > now {
      job.state = .scheduled
      job.runAt = runAt
    }
    return job
  }
}
