/// Values or neighbours that a fetch left with a fault.
///
/// With a batch size: the neighbours among the results, whose rows are all read when the first is used. Without: the
/// values of the properties that the fetch named, for one object.
///
///     request.fetchBatchSize = 20
///     fetch            SELECT Z_PK, Z_ENT FROM ZBOOK …            1,000 faults, in 50 batches
///     books[0].title   SELECT … WHERE Z_PK IN (20 keys)           fills books[0...19]
///     books[20].title  SELECT … WHERE Z_PK IN (20 keys)           fills books[20...39]
///
/// A batch is asked once: when it is filled, its members forget it.
final class FetchBatch {
  /// Weak, since the results hold their batch and may be dropped before use.
  private struct Member { weak var object: NSManagedObject? }

  /// The neighbours, for a batch of them.
  private let members: [Member]
  /// The slots whose values are here, for one object's values.
  private let slots: Set<Int>
  /// Nil for neighbours.
  let values: Snapshot?

  /// A batch of neighbours, which must be faults without values.
  private init(_ objects: ArraySlice<NSManagedObject>) {
    members = objects.map(Member.init)
    slots = []
    values = nil
  }

  /// The values of some slots of one object.
  init(_ values: Snapshot, slots: Set<Int>) {
    members = []
    self.slots = slots
    self.values = values
  }

  /// The values if they include the slot; else nil.
  func values(having slot: Int) -> Snapshot? { slots.contains(slot) ? values : nil }

  /// Divides the faults among the results into batches.
  static func assign(to objects: [NSManagedObject], size: Int) {
    for start in stride(from: 0, to: objects.count, by: size) {
      let faults = objects[start..<Swift.min(start + size, objects.count)].filter { $0.isFault && $0.snapshot == nil }
      let batch = FetchBatch(faults[...])
      for fault in faults { fault.batch = batch }
    }
  }

  /// Reads the rows of all members that are still faults.
  func fill(in context: NSManagedObjectContext) {
    let faults = members.compactMap(\.object)
    for fault in faults { fault.batch = nil }
    // A row that cannot be read now is read, or reported, when its object is used.
    try? context.fill(faults)
  }
}
