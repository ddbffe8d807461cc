import CoreData

/// Jobs by their keys.
extension JobStore {
  /// The jobs of these keys that are there, in no order, with their ``PoolJob/shortAttributes``. Reading another
  /// attribute, such as the parameters, reads the whole row.
  ///
  /// ```swift
  /// let store = try JobStore(url: url, model: model)
  /// for job in try store.jobs(keys: [17, 18], in: context) { print(job.objectID.key ?? 0, job.state.name) }
  /// ```
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

  /// The highest key of the jobs that are there; 0 without any. In a file it is that of the job that was submitted
  /// last; at a server each process takes keys from blocks of its own. One row is read.
  public static func newestKey(in context: NSManagedObjectContext) throws -> Int64 {
    let request = NSFetchRequest<NSManagedObjectID>(entityName: PoolJob.entityName)
    request.resultType = .managedObjectIDResultType
    request.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: false)]
    request.fetchLimit = 1
    return try context.fetch(request).first?.key ?? 0
  }

  /// The key of the first job that came at this time or later, as far as jobs came in the order of their keys; the one
  /// after the newest where none did.
  ///
  /// A binary search over the keys, each step of which reads the next job from the middle on: `createdAt` has no index
  /// of its own.
  ///
  /// - Parameter objectID: the ID of the job with a key, whether there is such a job or not.
  /// - Complexity: reads about twenty rows among a million jobs.
  public static func key(
    cameAt date: Date, in context: NSManagedObjectContext, objectID: (JobKey) -> NSManagedObjectID?
  ) throws -> JobKey {
    var (before, first) = (JobKey(0), try newestKey(in: context) + 1)
    while first - before > 1 {
      let middle = before + (first - before) / 2
      guard let id = objectID(middle) else { break }
      let request = PoolJob.fetchRequest()
      request.predicate = NSPredicate(format: "self >= %@", id)
      request.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: true)]
      request.fetchLimit = 1
      request.propertiesToFetch = ["createdAt"]
      if let job = try context.fetch(request).first, let key = job.objectID.key, key < first, job.createdAt < date {
        before = key
      } else {
        first = middle
      }
    }
    return first
  }
}
