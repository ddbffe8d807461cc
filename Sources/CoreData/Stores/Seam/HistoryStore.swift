/// A store that tells its users of commits: in a persistent history, and when they happen.
///
/// Numbers of transactions grow by commits and are never given twice, also after the history was deleted: tokens depend
/// on both.
package protocol HistoryStore: ObjectStore {
  /// Whether the store was opened with a history.
  var keepsHistory: Bool { get }

  /// The number of the last transaction ever written; nil without a history.
  func lastTransactionNumber() throws -> Int64?

  func history(_ query: HistoryQuery) throws -> [NSPersistentHistoryTransaction]

  /// Returns the number of deleted transactions.
  func deleteHistory(before place: NSPersistentHistoryChangeRequest.Place) throws -> Int

  /// Calls the body after commits to the store, of any process: once or more often for each, or once for several.
  ///
  /// - Parameter body: gets the number of the last transaction; nil without a history. Called on any thread.
  /// - Returns: what ends the calls.
  func observeCommits(_ body: @escaping @Sendable (Int64?) -> Void) throws -> @Sendable () -> Void
}
