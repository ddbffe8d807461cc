import CoreData

/// Jobs by their keys.
extension JobStore {
  /// The jobs of these keys that are there, in no order, with their ``PoolJob/shortAttributes``.
  public func jobs(keys: [Int64], in context: NSManagedObjectContext) throws -> [PoolJob] {
    guard !keys.isEmpty else { return [] }
    let request = PoolJob.fetchRequest()
    request.predicate = .isOne(of: keys.compactMap(objectID(job:)))
    request.propertiesToFetch = PoolJob.shortAttributes
    return try context.fetch(request)
  }

  /// The jobs of these keys that are there, whole and as the store has them now, in no order: what a worker reads.
  package func wholeJobs(keys: [Int64], in context: NSManagedObjectContext) throws -> [PoolJob] {
    try context.objects(of: PoolJob.entity(in: context), keys: keys).compactMap { $0 as? PoolJob }
  }

  /// Which of these jobs are available in the store: those that run now, and have not ended.
  public func available(among keys: [Int64], in context: NSManagedObjectContext) throws -> [JobSummary] {
    try jobs(keys: keys, in: context).compactMap { JobSummary($0, limit: nil) }
  }

  /// The key of the job that was submitted last of those that are there; 0 without any. One row is read.
  public static func newestKey(in context: NSManagedObjectContext) throws -> Int64 {
    let request = NSFetchRequest<NSManagedObjectID>(entityName: PoolJob.entityName)
    request.resultType = .managedObjectIDResultType
    request.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: false)]
    request.fetchLimit = 1
    return try context.fetch(request).first?.key ?? 0
  }
}
