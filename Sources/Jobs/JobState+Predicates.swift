import CoreData

extension JobState {
  /// Jobs in this state.
  ///
  /// The time at which a job finished is nil exactly while the job is unfinished. Naming it lets SQLite use the indexes of unfinished
  /// and of finished jobs, which hold nothing else.
  public var predicate: NSPredicate {
    NSPredicate(format: "state == %d AND \(isUnfinished ? "finishedAt == nil" : "finishedAt != nil")", Int(rawValue))
  }

  /// Jobs that the pool may still run without a person asking for it.
  static var unfinished: NSPredicate { NSPredicate(format: "finishedAt == nil") }
}

extension Job {
  /// The attributes that are short, whatever a producer or a plugin writes: all but the objects, parameters, checkpoint, results, output
  /// and errors.
  ///
  /// A fetch with these reads, keeps and caches nothing of a job's parameters.
  public static let shortAttributes = [
    "kind", "queue", "state", "priority", "runAt", "uniqueKey", "activeKey", "maxAttempts", "timeout", "attempt",
    "crashes", "progressDone", "progressTotal", "createdAt", "startedAt", "finishedAt", "batch", "limitKey", "options",
  ]

  /// A request for all jobs with their ``shortAttributes``; what is read beside them reads the whole row.
  ///
  /// Changes in the context that are not saved do not count.
  public class func shortFetchRequest() -> NSFetchRequest<Job> {
    let request = fetchRequest()
    request.propertiesToFetch = shortAttributes
    request.includesPendingChanges = false
    return request
  }
}
