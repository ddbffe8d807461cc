/// A store whose migrations may leave for later what no reader needs.
package protocol DeferringStore: ObjectStore {
  /// Does one piece of what a migration has left for later.
  ///
  /// - Returns: false if nothing was left.
  func finishDeferredMigrationTask() throws -> Bool
}
