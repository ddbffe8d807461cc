import CoreData

extension JobStore {
  private static let pausedQueuesName = "pausedQueues"

  /// The queues whose jobs are not to be started.
  public func pausedQueues(in context: NSManagedObjectContext) throws -> Set<String> {
    Set(try setting(Self.pausedQueuesName, in: context)?.value?.split(separator: "\n").map(String.init) ?? [])
  }

  /// Sets the queues whose jobs are not to be started, without saving.
  public func setPausedQueues(_ queues: Set<String>, in context: NSManagedObjectContext) throws {
    let setting =
      try setting(Self.pausedQueuesName, in: context)
      ?? NSEntityDescription.insertNewObject(forEntityName: PoolSetting.entityName, into: context) as? PoolSetting
    setting?.name = Self.pausedQueuesName
    setting?.value = queues.sorted().joined(separator: "\n")
  }

  private func setting(_ name: String, in context: NSManagedObjectContext) throws -> PoolSetting? {
    let request = PoolSetting.fetchRequest()
    request.predicate = NSPredicate(format: "name == %@", name)
    request.fetchLimit = 1
    return try context.fetch(request).first
  }
}

extension JobStore {
  /// Writes claims for jobs that one process has been given, without saving.
  public func insertClaims(
    jobs: some Sequence<Int64>, pid: Int32, processStart: Int64, since: Date, into context: NSManagedObjectContext
  ) {
    for key in jobs {
      let object = NSEntityDescription.insertNewObject(forEntityName: JobClaim.entityName, into: context)
      guard let claim = object as? JobClaim else { continue }
      claim.job = key
      claim.pid = pid
      claim.processStart = processStart
      claim.since = since
    }
  }

  /// All claims: what runs now, and after a crash of the coordinator what ran then.
  public func claims(in context: NSManagedObjectContext) throws -> [JobClaim] {
    try context.fetch(JobClaim.fetchRequest())
  }
}
