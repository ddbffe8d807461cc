/// Comparing a copy with the original, value by value.
extension StoreCopy {
  /// Reads all rows of both stores and throws 134070 (`persistentStoreOperation`) at the first that is missing, that
  /// nobody copied, or that has another value or other members. Rows have kept their keys.
  ///
  /// Not compared are what stores compute themselves (derived attributes) and what they do not keep. Dates may differ
  /// by a microsecond, which is what servers keep.
  ///
  /// It reads the copy through its own store class, so it also finds what that class would not give back as it was
  /// written.
  ///
  /// - Parameter note: called with a number of rows whenever as many are compared.
  func compare(note: (Int) throws -> Void) throws {
    for group in groups {
      let fetch = RowFetch(entityName: group.copy.layout.name, includesSubentities: false)
      let count = try destination.count(fetch)
      if count != group.keys.count {
        throw difference("\(group.copy.layout.name) has \(count) objects instead of \(group.keys.count)")
      }
      let slots = comparedSlots(of: group.copy.layout)
      let relationships = copiedToManys(of: group)
      try group.inSteps { keys in
        let bytes = try compare(group, keys, slots)
        for relationship in relationships { try compareMembers(relationship, of: group, keys) }
        try note(keys.count)
        return bytes
      }
    }
  }

  private func comparedSlots(of layout: EntityLayout) -> [Int] {
    layout.slots.indices.filter {
      !layout.slots[$0].isTransient && !(layout.slots[$0].property is NSDerivedAttributeDescription)
    }
  }

  /// - Returns: the bytes of the values.
  private func compare(_ group: Group, _ keys: ArraySlice<Int64>, _ slots: [Int]) throws -> Int {
    var bytes = 0
    var copies: [Int64: Snapshot] = [:]
    try destination.rows(Array(keys), of: group.copy, in: nil) { copies[$0] = $1 }
    try readRows(of: group, keys) { key, values in
      guard let copy = copies[key] else { throw difference("\(name(group, key)) is missing") }
      bytes += values.valueBytes
      let expected = newValues(of: values, group)
      if let slot = slots.first(where: { !expected.isEqualInCopy(copy, slot: $0) }) {
        throw difference("\(name(group, key)).\(group.copy.layout.slots[slot].name) has another value")
      }
    }
    return bytes
  }

  /// An unordered relationship is compared as a set; the two stores may give its members in different orders.
  private func compareMembers(
    _ relationship: NSRelationshipDescription, of group: Group, _ keys: ArraySlice<Int64>
  ) throws {
    var copies: [Int64: [Int64]] = [:]
    try destination.memberKeys(ofEach: Array(keys), group.copy, relationship, in: nil) { owner, _, key in
      copies[owner, default: []].append(key)
    }
    let expected = try newMembers(relationship, of: group, keys)
    for key in keys {
      let (members, expectedMembers) = (copies[key] ?? [], expected[key] ?? [])
      guard relationship.isOrdered ? members == expectedMembers : members.sorted() == expectedMembers.sorted() else {
        throw difference("\(name(group, key)).\(relationship.name) has other members")
      }
    }
  }

  private func name(_ group: Group, _ key: Int64) -> String { "\(group.copy.layout.name)/p\(key)" }

  private func difference(_ what: String) -> NSError {
    CoreDataErrors.error(.persistentStoreOperation, "The copy differs from the original: \(what).")
  }
}

extension Snapshot {
  /// The seconds by which a date of a copy may differ: servers keep microseconds.
  private static let dateTolerance = 1e-6

  /// Whether the slot of a copy has this value. Both are of one layout.
  ///
  /// A reference is compared by key alone: the two stores number their entities differently.
  fileprivate func isEqualInCopy(_ copy: Snapshot, slot: Int) -> Bool {
    switch layout.kinds[slot] {
    case .date:
      guard let mine = load(slot, as: Double.self), let others = copy.load(slot, as: Double.self) else {
        return isNil(slot) == copy.isNil(slot)
      }
      return abs(mine - others) <= Self.dateTolerance || mine == others
    case .toOne: return related(slot)?.key == copy.related(slot)?.key
    case .boxed: return isEqual(copy, slot: slot) || isEqualObject(copy, slot)
    default: return isEqual(copy, slot: slot)
    }
  }

  /// Whether both have objects that say that they are equal.
  private func isEqualObject(_ other: Snapshot, _ slot: Int) -> Bool {
    guard let mine = value(slot), let others = other.value(slot) else { return isNil(slot) == other.isNil(slot) }
    return (mine as? NSObject)?.isEqual(others) ?? false
  }
}
