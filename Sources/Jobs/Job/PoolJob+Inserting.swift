import CoreData

extension PoolJob {
  /// Inserts one job into a context whose coordinator has the pool's store, without saving; nil when another job has
  /// its unique key.
  ///
  /// A plugin or an app submits jobs in this way. They exist exactly if the save with its own work succeeds.
  /// If another process takes the unique key meanwhile, that save fails with a constraint conflict.
  ///
  /// ```swift
  /// if let job = try Job.submit(JobRequest(kind: "index", objects: [book]), into: context) {
  ///   try context.save()
  ///   print(job.objectID.uriString)
  /// }
  /// ```
  ///
  /// - Throws: ``JobObjectNameError`` for an object that no worker could find; ``MissingJobError`` for a job in
  ///   ``JobOptions/after`` that is not there; what a fetch throws, if the request has a unique key or waits for jobs.
  @discardableResult
  public static func submit(
    _ request: JobRequest, into context: NSManagedObjectContext, at now: Date = Date()
  ) throws -> PoolJob? {
    let request = try request.keyed(at: now, in: context)
    if let key = request.uniqueKey, try !takenKeys(among: [key], in: context, at: now).isEmpty { return nil }
    if let missing = try request.missingJob(in: context) { throw missing }
    return try insert(request, into: context, at: now)
  }

  /// Inserts one job into a context whose coordinator has the pool's store, without saving. Unique keys are not
  /// checked: the save fails when another job has the same. ``submit(_:into:at:)`` checks them.
  ///
  /// ```swift
  /// let job = try Job.insert(JobRequest(kind: "index", objects: [book]), into: context)
  /// try context.save()
  /// print(job.objectID.uriString)
  /// ```
  ///
  /// - Parameter now: when the job comes. Default: by the clock of this machine.
  /// - Throws: ``JobObjectNameError``.
  @discardableResult
  public static func insert(
    _ request: JobRequest, into context: NSManagedObjectContext, at now: Date = Date()
  ) throws -> PoolJob {
    try insert(request, entity(in: context), into: context, at: now)
  }

  /// The entity in the model of a context's coordinator.
  static func entity(in context: NSManagedObjectContext) -> NSEntityDescription {
    guard let entity = NSEntityDescription.entity(forEntityName: entityName, in: context) else {
      fatalError("The context's model has no entity \(entityName); use JobModel.merged(with:) for its coordinator.")
    }
    return entity
  }

  /// The same for many jobs, which find the entity once.
  static func insert(
    _ request: JobRequest, _ entity: NSEntityDescription, into context: NSManagedObjectContext, at now: Date
  ) throws -> PoolJob {
    if request.hasUniqueParts {
      return try insert(request.keyed(at: now, in: context), entity, into: context, at: now)
    }
    guard request.objects.allSatisfy({ ObjectURI($0) != nil }) else {
      var permanent = request
      permanent.objects = try request.permanentObjects(in: context)
      return try insert(permanent, entity, into: context, at: now)
    }
    let job = PoolJob(entity: entity, insertInto: context)
    for column in JobField.columns { column.value(request, now)?.set(job, column.name) }
    return job
  }
}
