import CoreData

/// The policy of a plugin, for all objects but jobs. A conflict in a job's row makes the save fail, whatever that
/// policy would do: the job was cancelled meanwhile, or another process has finished it, and its work would be saved
/// twice.
///
/// `@unchecked Sendable`: immutable, as its superclass is.
final class JobMergePolicy: NSMergePolicy, @unchecked Sendable {
  private let policy: NSMergePolicy

  private init(_ policy: NSMergePolicy) {
    self.policy = policy
    super.init(merge: policy.mergeType)
  }

  /// Puts itself before the policy that a plugin has given the context.
  static func guardJobs(in context: NSManagedObjectContext) {
    guard let policy = context.mergePolicy as? NSMergePolicy, policy !== NSMergePolicy.error,
      !(policy is JobMergePolicy)
    else { return }
    context.mergePolicy = JobMergePolicy(policy)
  }

  override func resolve(mergeConflicts list: [Any]) throws {
    let conflictsOfJobs = list.filter { conflict in
      (conflict as? NSMergeConflict)?.sourceObject is Job
        || (conflict as? NSConstraintConflict)?.conflictingObjects.contains { $0 is Job } == true
    }
    if !conflictsOfJobs.isEmpty { try NSMergePolicy.error.resolve(mergeConflicts: conflictsOfJobs) }
    try policy.resolve(mergeConflicts: list)
  }
}
