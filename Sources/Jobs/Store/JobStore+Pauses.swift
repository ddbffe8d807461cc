import CoreData

/// The pauses: kept in the store, so that they outlive the pool's processes.
public struct JobPauses: Hashable, Sendable {
  /// Whether no job at all is started. Default false.
  public var all = false
  /// The queues whose jobs are not started.
  public var queues: Set<String> = []
  /// The kinds whose jobs are not started.
  public var kinds: Set<String> = []

  /// Nothing is paused.
  public init() {}
}

extension JobPauses {
  /// These pauses, changed as `before` was changed to `after`: a difference, so that two people who pause two queues at
  /// once both get what they want.
  func changed(from before: JobPauses, to after: JobPauses) -> JobPauses {
    var pauses = self
    if before.all != after.all { pauses.all = after.all }
    pauses.queues.formUnion(after.queues.subtracting(before.queues))
    pauses.queues.subtract(before.queues.subtracting(after.queues))
    pauses.kinds.formUnion(after.kinds.subtracting(before.kinds))
    pauses.kinds.subtract(before.kinds.subtracting(after.kinds))
    return pauses
  }
}

extension JobStore {
  private static let pausedName = "paused"
  private static let pausedQueuesName = "pausedQueues"
  private static let pausedKindsName = "pausedKinds"

  /// What is paused.
  ///
  /// - Throws: what a fetch throws.
  public func pauses(in context: NSManagedObjectContext) throws -> JobPauses {
    var pauses = JobPauses()
    pauses.all = try PoolSetting.find(Self.pausedName, in: context)?.value == "1"
    pauses.queues = try words(Self.pausedQueuesName, in: context)
    pauses.kinds = try words(Self.pausedKindsName, in: context)
    return pauses
  }

  /// Sets what is paused, without saving. What others have paused meanwhile is lost: ``changePauses(from:to:in:)``
  /// keeps it.
  ///
  /// - Throws: what a fetch throws.
  public func setPauses(_ pauses: JobPauses, in context: NSManagedObjectContext) throws {
    try PoolSetting.set(Self.pausedName, pauses.all ? "1" : "0", in: context)
    try PoolSetting.set(Self.pausedQueuesName, pauses.queues.sorted().joined(separator: "\n"), in: context)
    try PoolSetting.set(Self.pausedKindsName, pauses.kinds.sorted().joined(separator: "\n"), in: context)
  }

  /// Makes one change to what is paused. Other pools may change something else at the same time: both changes hold.
  /// Saves.
  ///
  /// ```swift
  /// let store = try JobStore(url: url, model: model)
  /// let before = try store.pauses(in: context)
  /// var after = before
  /// after.queues.insert("mail")
  /// print(try store.changePauses(from: before, to: after, in: context).queues)
  /// ```
  ///
  /// - Parameters:
  ///   - before: what was paused, as the person saw it.
  ///   - after: the same with the person's change.
  /// - Returns: what is paused now.
  public func changePauses(
    from before: JobPauses, to after: JobPauses, in context: NSManagedObjectContext
  ) throws -> JobPauses {
    try retryingConflicts(in: context) {
      let pauses = try pauses(in: context).changed(from: before, to: after)
      try setPauses(pauses, in: context)
      try context.save()
      return pauses
    }
  }

  private func words(_ name: String, in context: NSManagedObjectContext) throws -> Set<String> {
    Set(try PoolSetting.find(name, in: context)?.value?.split(separator: "\n").map(String.init) ?? [])
  }
}
