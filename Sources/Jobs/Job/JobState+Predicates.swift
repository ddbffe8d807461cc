import CoreData

extension JobState {
  /// Matches jobs in this state.
  ///
  /// The time at which a job finished is nil exactly while the job is unfinished. Naming it lets SQLite use the indexes
  /// of unfinished and of finished jobs, which hold nothing else.
  public var predicate: NSPredicate {
    NSPredicate(format: "state == %d AND \(isUnfinished ? "finishedAt == nil" : "finishedAt != nil")", Int(rawValue))
  }

  /// Matches jobs in this state among those that another condition has found in an index.
  ///
  /// The sum keeps a server from the indexes of states. Without statistics it takes each condition for equally good,
  /// and would read a backlog of a million available jobs to find the few that are claimed.
  var filter: NSPredicate { NSPredicate(format: "state + 0 == %d", Int(rawValue)) }

  /// Matches jobs that the pool may still run without a person asking for it.
  static var unfinished: NSPredicate { NSPredicate(format: "finishedAt == nil") }
}
