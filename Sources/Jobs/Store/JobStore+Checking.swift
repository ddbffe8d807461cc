import CoreData

/// The version of a store, and rows that were changed by hand.
extension JobStore {
  static let versionName = "version"

  /// Checks the version of the store, and notes this version in a new store and one of an earlier version. Mends jobs
  /// whose rows were changed by hand so that `finishedAt` does not fit the state: the pool would not find them. Saves.
  /// Called before workers and producers can write to the store.
  ///
  /// - Throws: ``JobModelError/storeIsNewer(_:)``, which changes nothing; what a fetch or a save throws.
  public func check(in context: NSManagedObjectContext) throws {
    let version = try PoolSetting.find(Self.versionName, in: context)?.value.flatMap { Int($0) }
    if let version, version > JobModel.tablesVersion {
      throw JobModelError.storeIsNewer(StorePlace(url).description)
    }
    try fitTimesToStates(in: context)
    guard version != JobModel.tablesVersion else { return }
    try PoolSetting.set(Self.versionName, "\(JobModel.tablesVersion)", in: context)
    do {
      try context.save()
    } catch let error as NSError where Self.isConflict(error) {
      // Another pool has noted its version meanwhile.
      context.rollback()
      context.reset()
      try check(in: context)
    }
  }

  /// Mends rows whose state and `finishedAt` contradict each other, a thousand at a time. The indexes of unfinished and
  /// of finished jobs are partial by `finishedAt`, so such a job would be in the wrong one, and no query would find it.
  private func fitTimesToStates(in context: NSManagedObjectContext) throws {
    let finished = JobState.allCases.filter { !$0.isUnfinished }.map { NSNumber(value: $0.rawValue) }
    for (states, condition) in [(JobState.unfinishedNumbers, "finishedAt != nil"), (finished, "finishedAt == nil")] {
      let request = PoolJob.shortFetchRequest()
      request.predicate = NSPredicate(format: "state IN %@ AND \(condition)", states)
      request.fetchLimit = 1000
      while true {
        let jobs = try context.fetch(request)
        for job in jobs { job.finishedAt = job.state.isUnfinished ? nil : job.startedAt ?? job.createdAt }
        guard context.hasChanges else { break }
        try context.save()
        context.reset()
      }
    }
  }
}
