/// The rows that a batch request wrote.
struct BatchResult {
  var count = 0
  /// Where they are asked for.
  var ids: [NSManagedObjectID] = []

  static func += (left: inout BatchResult, right: BatchResult) {
    left.count += right.count
    left.ids += right.ids
  }
}
