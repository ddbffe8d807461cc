import CoreData

/// Unique keys. The column `activeKey` has a unique index: it is the key of a job that is unfinished, or that still
/// reserves it. `uniqueKey` stays in the row for people, and for a job that is retried.
///
/// ```text
/// job                        uniqueKey     activeKey
/// available                  nightly       nightly
/// succeeded                  nightly       NULL, so that another job may have the key
/// succeeded, uniqueFor       nightly       nightly, until the period is over
/// retried                    nightly       nightly again; the save fails if another job has it (133021)
/// ```
extension PoolJob {
  /// The unique keys among these that a job has. A finished job whose period is over loses its key here, so no
  /// other code has to look for such jobs.
  static func takenKeys(
    among keys: [String], in context: NSManagedObjectContext, at now: Date
  ) throws -> Set<ExactText> {
    var taken: Set<ExactText> = []
    for job in try jobs(havingAnyOf: keys, in: context) {
      if job.state.isUnfinished || job.isKeyTaken(at: now) {
        if let key = job.activeKey { taken.insert(ExactText(key)) }
      } else {
        job.activeKey = nil
      }
    }
    return taken
  }

  /// The key of the job that has each of these unique keys now.
  static func holders(
    of uniqueKeys: [String], in context: NSManagedObjectContext
  ) throws -> [ExactText: Int64] {
    var holders: [ExactText: Int64] = [:]
    for job in try jobs(havingAnyOf: uniqueKeys, in: context) {
      if let name = job.activeKey { holders[ExactText(name)] = job.objectID.key }
    }
    return holders
  }

  /// The jobs that have one of these unique keys, or are finished and still reserve it.
  private static func jobs(havingAnyOf keys: [String], in context: NSManagedObjectContext) throws -> [PoolJob] {
    guard !keys.isEmpty else { return [] }
    let request = fetchRequest()
    request.predicate = NSPredicate(format: "activeKey IN %@", Set(keys.map(ExactText.init)).map(\.text))
    return try context.fetch(request)
  }
}
