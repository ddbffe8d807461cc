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

  /// Sets what is paused, without saving.
  ///
  /// - Throws: what a fetch throws.
  public func setPauses(_ pauses: JobPauses, in context: NSManagedObjectContext) throws {
    try PoolSetting.set(Self.pausedName, pauses.all ? "1" : "0", in: context)
    try PoolSetting.set(Self.pausedQueuesName, pauses.queues.sorted().joined(separator: "\n"), in: context)
    try PoolSetting.set(Self.pausedKindsName, pauses.kinds.sorted().joined(separator: "\n"), in: context)
  }

  private func words(_ name: String, in context: NSManagedObjectContext) throws -> Set<String> {
    Set(try PoolSetting.find(name, in: context)?.value?.split(separator: "\n").map(String.init) ?? [])
  }
}
