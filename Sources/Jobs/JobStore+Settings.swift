import CoreData

/// What is not to be started: kept in the store, so that it outlives the pool's processes.
public struct JobPauses: Hashable, Sendable {
  /// Whether nothing at all is to be started.
  public var all = false
  public var queues: Set<String> = []
  public var kinds: Set<String> = []

  public init() {}
}

extension JobStore {
  private static let pausedName = "paused"
  private static let pausedQueuesName = "pausedQueues"
  private static let pausedKindsName = "pausedKinds"
  private static let versionName = "version"

  /// What is not to be started.
  public func pauses(in context: NSManagedObjectContext) throws -> JobPauses {
    var pauses = JobPauses()
    pauses.all = try PoolSetting.find(Self.pausedName, in: context)?.value == "1"
    pauses.queues = try words(Self.pausedQueuesName, in: context)
    pauses.kinds = try words(Self.pausedKindsName, in: context)
    return pauses
  }

  /// Sets what is not to be started, without saving.
  public func setPauses(_ pauses: JobPauses, in context: NSManagedObjectContext) throws {
    try PoolSetting.set(Self.pausedName, pauses.all ? "1" : "0", in: context)
    try PoolSetting.set(Self.pausedQueuesName, pauses.queues.sorted().joined(separator: "\n"), in: context)
    try PoolSetting.set(Self.pausedKindsName, pauses.kinds.sorted().joined(separator: "\n"), in: context)
  }

  /// Gives jobs of a store of the first version what later versions know of them; saves. Called before workers and producers can
  /// write to the store.
  ///
  /// A job whose row was changed by hand so that ``Job/finishedAt`` does not fit its state is mended as well: the pool would not find it.
  public func upgrade(in context: NSManagedObjectContext) throws {
    try fitTimesToStates(in: context)
    guard try PoolSetting.find(Self.versionName, in: context) == nil else { return }
    let request = Job.fetchRequest()
    request.predicate = NSPredicate(
      format: "uniqueKey != nil AND activeKey == nil AND state IN %@", JobState.unfinishedNumbers)
    var taken: Set<String> = []
    for job in try context.fetch(request) {
      // The first version could not keep a worker from submitting a key twice: of such jobs one has it.
      if let key = job.uniqueKey, taken.insert(key).inserted { job.activeKey = key }
    }
    try PoolSetting.set(Self.versionName, "2", in: context)
    try context.save()
  }

  private func fitTimesToStates(in context: NSManagedObjectContext) throws {
    let finished = JobState.allCases.filter { !$0.isUnfinished }.map { NSNumber(value: $0.rawValue) }
    for (states, condition) in [(JobState.unfinishedNumbers, "finishedAt != nil"), (finished, "finishedAt == nil")] {
      let request = Job.shortFetchRequest()
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

  private func words(_ name: String, in context: NSManagedObjectContext) throws -> Set<String> {
    Set(try PoolSetting.find(name, in: context)?.value?.split(separator: "\n").map(String.init) ?? [])
  }
}

extension PoolSetting {
  /// The setting of that name, if there is one.
  static func find(_ name: String, in context: NSManagedObjectContext) throws -> PoolSetting? {
    let request = PoolSetting.fetchRequest()
    request.predicate = NSPredicate(format: "name == %@", name)
    request.fetchLimit = 1
    return try context.fetch(request).first
  }

  /// Gives the setting of that name a value, without saving.
  static func set(_ name: String, _ value: String, in context: NSManagedObjectContext) throws {
    let setting =
      try find(name, in: context)
      ?? NSEntityDescription.insertNewObject(forEntityName: PoolSetting.entityName, into: context) as? PoolSetting
    setting?.name = name
    setting?.value = value
  }
}
