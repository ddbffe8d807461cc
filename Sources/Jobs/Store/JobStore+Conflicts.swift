import CoreData

/// Work that begins again when another process has written the same rows first: a claim, a deletion, an intake.
///
///     one                        another
///     reads rows
///                                writes one of them
///     saves: conflict
///     forgets what it has read, and reads again
extension JobStore {
  /// How often such work is tried in all.
  package static let conflictTries = 30
  /// The longest pause after the first conflict, in seconds. Up to the tenth conflict it grows by as much with each.
  private static let conflictPause = 0.002

  /// Runs the body, which reads and saves, until no other process has written its rows first. After a conflict the
  /// context forgets what it has read and changed, and a pause of random length makes it unlikely that the same
  /// processes meet again.
  ///
  /// The body itself must read everything on which it decides: what its caller has read may be outdated at the second
  /// try. The pauses of thirty tries take half a second at most.
  ///
  /// - Parameter resetsAtEnd: whether to reset the context at the end; if not, the caller does it when it has told of
  ///   the result.
  /// - Throws: ``EndlessConflicts`` after ``conflictTries``; other errors of the body at once, and the context keeps
  ///   its changes then.
  package func retryingConflicts<Result>(
    in context: NSManagedObjectContext, resetsAtEnd: Bool = true, _ body: () throws -> Result
  ) throws -> Result {
    for attempt in 1...Self.conflictTries {
      do {
        let result = try body()
        if resetsAtEnd { context.reset() }
        return result
      } catch let error as NSError where Self.isConflict(error) {
        context.rollback()
        context.reset()
        if attempt == Self.conflictTries { break }
        Thread.sleep(forTimeInterval: .random(in: 0...Self.conflictPause) * Double(min(attempt, 10)))
      }
    }
    throw EndlessConflicts()
  }

  /// Whether another pool, a worker or a person has written one of the rows first: 133020 for a changed row, 133021 for
  /// a unique value.
  package static func isConflict(_ error: NSError) -> Bool {
    [CocoaError.Code.managedObjectMerge, .managedObjectConstraintMerge].contains { $0.rawValue == error.code }
  }
}

/// The error for work whose tries all ended in conflicts with other processes.
package struct EndlessConflicts: Error, CustomStringConvertible {
  package var description: String {
    "other processes wrote the same rows first, \(JobStore.conflictTries) times in a row"
  }
}
