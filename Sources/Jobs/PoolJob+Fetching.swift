import CoreData

extension PoolJob {
  /// The attributes that are short, whatever a producer or a plugin writes: all but the objects, parameters, checkpoint, results,
  /// output and errors.
  ///
  /// A fetch with these reads, keeps and caches nothing of a job's parameters.
  public static let shortAttributes = [
    "kind", "queue", "state", "priority", "runAt", "uniqueKey", "activeKey", "maxAttempts", "timeout", "attempt",
    "crashes", "progressDone", "progressTotal", "createdAt", "startedAt", "finishedAt", "batch", "limitKey", "options",
  ]

  /// A request for all jobs with their ``shortAttributes``; reading any other attribute reads the whole row.
  ///
  /// Changes in the context that are not saved do not count.
  public class func shortFetchRequest() -> NSFetchRequest<PoolJob> {
    let request = fetchRequest()
    request.propertiesToFetch = shortAttributes
    request.includesPendingChanges = false
    return request
  }
}
