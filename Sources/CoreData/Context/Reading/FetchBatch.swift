/// What a fetch left with a fault.
///
/// Either neighbours among the results of a fetch with a batch size: the first use of one reads the rows of all. Or, of
/// one object, the values of the properties that the fetch named.
final class FetchBatch {
  /// Weak: the results keep their batch, and may be dropped before they are used.
  private struct Member { weak var object: NSManagedObject? }

  private let members: [Member]
  private let slots: Set<Int>
  /// nil for neighbours.
  let values: Snapshot?

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

  /// The values, if the slot is among them.
  func values(having slot: Int) -> Snapshot? { slots.contains(slot) ? values : nil }

  /// Makes batches of the faults among the results.
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
    // What cannot be read now is read, or reported, one by one at its own access.
    try? context.fill(faults)
  }
}
