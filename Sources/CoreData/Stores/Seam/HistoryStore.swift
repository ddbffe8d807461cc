/// A store that tells its users of commits: in a persistent history, and when they happen.
package protocol HistoryStore: ObjectStore {
  /// Whether the store was opened with a history.
  var keepsHistory: Bool { get }

  /// The number of the last transaction ever written; nil without a history.
  func lastTransactionNumber() throws -> Int64?

  func history(_ query: HistoryQuery) throws -> [NSPersistentHistoryTransaction]

  /// Returns the number of deleted transactions.
  func deleteHistory(before place: NSPersistentHistoryChangeRequest.Place) throws -> Int

  /// Starts to post commits if the store's options ask for it.
  func startPostingRemoteChanges() throws
  func stopPostingRemoteChanges()
}
