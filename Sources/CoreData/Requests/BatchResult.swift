/// The number of rows that a batch request wrote, and their IDs.
struct BatchResult {
  var count = 0
  /// Empty unless the request asks for IDs.
  var ids: [NSManagedObjectID] = []

  static func += (left: inout BatchResult, right: BatchResult) {
    left.count += right.count
    left.ids += right.ids
  }
}
