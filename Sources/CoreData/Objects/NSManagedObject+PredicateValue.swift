extension NSManagedObject {
  /// The value if it is a managed object. A plain cast would first bridge a dictionary to its Objective-C twin.
  ///
  /// Foundation's bridging of dictionaries and arrays copies them, which a predicate over many rows would pay for each.
  static func from(_ value: Any) -> NSManagedObject? {
    type(of: value) is AnyClass ? value as? NSManagedObject : nil
  }

  /// The value at a key path in the form that predicates compare. A path through to-one relationships to an attribute
  /// is read straight from the snapshots.
  ///
  /// A class that overrides `value(forKey:)` is asked through it, as key-value coding promises. Composite elements,
  /// to-many relationships, operators and computed properties take the general way.
  final func predicateValue(at keys: ArraySlice<String>) -> PredicateValue {
    guard !layout.classReadsValues, let key = keys.first, case .slot(let slot)? = layout.locations[key] else {
      return readPredicateValue(at: keys)
    }
    let remainingKeys = keys.dropFirst()
    if layout.kinds[slot] == .toOne {
      guard let related = related(slot) else { return .null }
      return remainingKeys.isEmpty ? .object(related.objectID) : related.predicateValue(at: remainingKeys)
    }
    guard remainingKeys.isEmpty else { return readPredicateValue(at: keys) }
    guard layout.kinds[slot] == .string else { return access(slot: slot).predicateValue(slot) }
    return text(slot, among: accessSlots(reading: slot)).map { .string($0) } ?? .null
  }

  /// Through `Any`, with boxes for numbers.
  private func readPredicateValue(at keys: ArraySlice<String>) -> PredicateValue {
    PredicateValue(KeyValueReading.value(at: keys, of: self))
  }
}
