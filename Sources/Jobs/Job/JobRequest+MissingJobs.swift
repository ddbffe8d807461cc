import CoreData

/// A request names a job in ``JobOptions/after`` that is not there.
public struct MissingJobError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The URI in the request.
  public let uri: ObjectURI
  /// Whether it is the URI of something else than a job of this pool.
  public let isOfAnotherStore: Bool

  /// A sentence with the URI.
  public var description: String {
    isOfAnotherStore ? "\(uri) is not a job of this pool" : "there is no job \(uri), or not any more"
  }
}

extension JobRequest {
  /// The first job that the request waits for and that is not there; nil if all are there, saved or new in the context.
  ///
  /// The next save of the context fails with a conflict if a job that the request waits for, and that has not succeeded
  /// yet, is deleted before. Without its row the one that waits would run.
  ///
  /// - Complexity: one query if the request waits for jobs by their URIs.
  package func missingJob(in context: NSManagedObjectContext) throws -> MissingJobError? {
    let uris = options.after.compactMap { ObjectURI($0) }
    guard !uris.isEmpty else { return nil }
    var ids: [NSManagedObjectID] = []
    for uri in uris {
      guard uri.entity == PoolJob.entityName, let id = context.persistentStoreCoordinator?.objectID(for: uri) else {
        return MissingJobError(uri: uri, isOfAnotherStore: true)
      }
      ids.append(id)
    }
    let request = PoolJob.fetchRequest()
    request.predicate = .isOne(of: ids)
    request.propertiesToFetch = PoolJob.shortAttributes
    let jobs = try context.fetch(request)
    var known = Set(jobs.map(\.objectID))
    for job in jobs where job.state != .succeeded && !job.isInserted { context.detectDeletion(of: job) }
    // Those that come with the same save have no rows yet.
    for object in context.insertedObjects where object is PoolJob { known.insert(object.objectID) }
    return zip(uris, ids).first { !known.contains($1) }.map { MissingJobError(uri: $0.0, isOfAnotherStore: false) }
  }
}
