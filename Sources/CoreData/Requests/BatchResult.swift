/// The number of rows that a batch request wrote, and their IDs.
///
/// Several stores' results are added up: a batch request goes to each store that holds the entity, or to those in
/// `affectedStores`.
package struct BatchResult {
  package var count = 0
  /// Empty unless the request asks for IDs.
  ///
  /// In the order of writing. A deletion's include the rows that Cascade rules deleted.
  package var ids: [NSManagedObjectID] = []

  package init(count: Int = 0, ids: [NSManagedObjectID] = []) {
    self.count = count
    self.ids = ids
  }

  static func += (left: inout BatchResult, right: BatchResult) {
    left.count += right.count
    left.ids += right.ids
  }
}
