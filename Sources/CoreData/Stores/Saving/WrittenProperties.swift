/// The properties that saves write for one entity's rows, each by its position: what tells which of them have changed,
/// and which are unique.
///
/// `@unchecked Sendable`: everything is set in `init`.
///
/// A property that was set to the value that it had is not changed, and is not written. Floating-point numbers are
/// compared as numbers, texts as characters.
package final class WrittenProperties: @unchecked Sendable {
  /// The properties that belong to a uniqueness constraint.
  package let unique: StepSet
  private let layout: EntityLayout
  /// In memory of their own: comparing rows costs no reference counting.
  private let places: UnsafeMutableBufferPointer<(kind: SlotKind, slot: Int)>

  /// - Parameter slots: the slots of the properties, in the order of their positions.
  package init(_ layout: EntityLayout, slots: [Int], unique: StepSet) {
    self.layout = layout
    self.unique = unique
    places = .allocate(capacity: slots.count)
    _ = places.initialize(from: slots.map { (layout.slots[$0].kind, $0) })
  }

  deinit { places.deallocate() }

  /// The properties whose values differ.
  package func changed(_ base: Snapshot, _ values: Snapshot) -> StepSet {
    var changed = StepSet()
    withExtendedLifetime((base, values)) {
      for position in places.indices {
        let (kind, slot) = places[position]
        let (old, new) = (base.slots + slot, values.slots + slot)
        let isChanged =
          switch kind {
          case .integer, .boolean: Int64.load(old) != Int64.load(new)
          case .double, .float, .date: Double.load(old) != Double.load(new)
          case .toOne: RelatedKey.load(old) != RelatedKey.load(new)
          case .string: !String.areEqual(old, new)
          case .data, .boxed: !base.isEqual(values, slot: slot)
          }
        if isChanged { changed.insert(position) }
      }
    }
    return changed
  }

  package func names(of properties: StepSet) -> [String] {
    properties.positions.map { layout.slots[places[$0].slot].name }
  }
}
