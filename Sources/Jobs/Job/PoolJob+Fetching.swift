import CoreData

extension PoolJob {
  /// The attributes that are always short: all that ``JobField`` does not call long.
  ///
  /// A fetch with these reads, keeps and caches nothing of a job's parameters.
  public static let shortAttributes = JobField.all.filter { !$0.isLong }.compactMap(\.attribute)

  /// A request for all jobs with their ``shortAttributes``; reading any other attribute reads the whole row.
  ///
  /// ```swift
  /// let request = Job.shortFetchRequest()
  /// request.predicate = JobState.available.predicate
  /// for job in try context.fetch(request) { print(job.kind, job.queue) }
  /// ```
  ///
  /// Changes in the context that are not saved do not count.
  public class func shortFetchRequest() -> NSFetchRequest<PoolJob> {
    let request = fetchRequest()
    request.propertiesToFetch = shortAttributes
    request.includesPendingChanges = false
    return request
  }
}
