/// The number of rows that a batch request wrote, and their IDs.
package struct BatchResult {
  package var count = 0
  /// Empty unless the request asks for IDs.
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
