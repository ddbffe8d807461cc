/// A store that finds the rows of a fetch that it does not understand: it reads rows, and tests the predicate on their
/// stored values. A store in memory has no such way: what it does not understand needs objects.
package protocol FilteringStore: ObjectStore {
  /// Gives the body each row, in order, as `fetch` does.
  func filter(_ fetch: RowFetch, _ body: (StoredEntity, Int64, __owned Snapshot?) -> Void) throws
}
