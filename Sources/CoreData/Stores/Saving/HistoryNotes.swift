/// Takes the written rows of a transaction for a store's history.
///
/// Deletions are noted by the stores themselves, before the rows go: only they can read what is to be preserved.
package protocol HistoryNotes: AnyObject {
  func noteInsert(number: Int, key: Int64) throws

  /// - Parameter changed: the names of the properties whose values or members were written.
  func noteUpdate(number: Int, key: Int64, changed: [String]) throws
}
