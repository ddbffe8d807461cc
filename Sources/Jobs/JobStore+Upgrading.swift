import CoreData

/// Stores of earlier versions, and rows that were changed by hand.
extension JobStore {
  private static let versionName = "version"
  /// The version of stores that this version of workerpool writes.
  static let version = 2

  /// Gives jobs of a store of the first version the values that later versions add; saves. Called before workers and
  /// producers can write to the store.
  ///
  /// A job whose row was changed by hand so that its `finishedAt` does not fit its state is mended as well: the pool
  /// would not find it.
  ///
  /// - Throws: ``JobModelError/storeIsNewer(_:)``, which changes nothing; what a fetch or a save throws.
  public func upgrade(in context: NSManagedObjectContext) throws {
    let found = try PoolSetting.find(Self.versionName, in: context)
    if let version = found?.value.flatMap({ Int($0) }), version > Self.version {
      throw JobModelError.storeIsNewer(url.path)
    }
    try fitTimesToStates(in: context)
    guard found == nil else { return }
    let request = PoolJob.fetchRequest()
    request.predicate = NSPredicate(
      format: "uniqueKey != nil AND activeKey == nil AND state IN %@", JobState.unfinishedNumbers)
    var taken: Set<String> = []
    for job in try context.fetch(request) {
      // The first version could not keep a worker from submitting a key twice: one of such jobs gets the key.
      if let key = job.uniqueKey, taken.insert(key).inserted { job.activeKey = key }
    }
    try PoolSetting.set(Self.versionName, "\(Self.version)", in: context)
    try context.save()
  }

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
