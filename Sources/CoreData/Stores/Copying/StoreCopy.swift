/// Copies all rows of a store into another, empty one of any class, through the seam.
///
/// If the copies keep the keys, up to 1,024 rows are in memory at a time; if they get new keys, all rows are. It does
/// not copy history.
///
/// Used by `migratePersistentStore` and `NSMigrationManager` between stores of different classes, by migrations of
/// files that are kept in memory, and by copies of all stores of a coordinator.
///
/// ```text
/// findRows     the keys of all rows, in one fetch for each hierarchy
/// write        the rows, in steps of at most 1,024 rows or 16 MB; then members; then the counters of keys
/// compare      reads both stores and compares them (`StoreCopy+Comparing`)
/// ```
///
/// With the same keys, URIs stay valid apart from the store's UUID.
package struct StoreCopy {
  /// The rows of one entity, and the entity of their copies.
  struct Group {
    let storedEntity: StoredEntity
    let copy: StoredEntity
    /// Ascending.
    let keys: [Int64]
  }

  let source: any ObjectStore
  let destination: any ObjectStore
  private let mapping: RowMapping?
  private let keepsKeys: Bool
  /// The state of the source that is copied; nil for the newest.
  let generation: QueryGeneration?
  private(set) var groups: [Group] = []
  /// The place in `groups` of an entity of the source, by its number.
  private var groupIndexes: [Int: Int] = [:]
  /// The keys of the copies, by the ID of the original row, if they get new ones.
  private var newKeys: [NSManagedObjectID: RelatedKey] = [:]

  /// The most rows that are read and written together if they keep their keys.
  static let rowsAtOnce = 1024
  /// About as many bytes of texts and data are in memory at a time, unless one row has more.
  static let bytesAtOnce = 16 << 20

  /// - Parameters:
  ///   - mapping: makes rows of the destination's model; nil if both stores have the same model.
  ///   - keepsKeys: whether the copies have the keys of the original rows.
  package init(
    _ source: any ObjectStore, to destination: any ObjectStore, mapping: RowMapping? = nil, keepsKeys: Bool = false,
    generation: QueryGeneration? = nil
  ) {
    self.source = source
    self.destination = destination
    self.mapping = mapping
    self.keepsKeys = keepsKeys
    self.generation = generation
  }

  /// The number of rows, once they are found.
  var rowCount: Int { groups.reduce(0) { $0 + $1.keys.count } }

  /// The IDs of all rows, each with that of its copy, once they are written.
  var renamedIDs: [(old: NSManagedObjectID, new: NSManagedObjectID)] {
    groups.flatMap { group in
      group.keys.map { key in
        let old = NSManagedObjectID(storedEntity: group.storedEntity, key: key)
        return (old, NSManagedObjectID(storedEntity: group.copy, key: newKeys[old]?.key ?? key))
      }
    }
  }

  /// Writes the copies and the program's own metadata in one transaction.
  package mutating func run() throws {
    try findRows()
    try destination.writeScope.exclusively {
      try destination.writeScope.transaction("Copying") { try write() }
      destination.didCommit()
    }
  }

  /// Finds the rows whose entities the destination's model still has.
  ///
  /// Only keys are fetched: 8 bytes for each row, and the entity. The rows come later, step by step.
  mutating func findRows() throws {
    var keys: [Int: [Int64]] = [:]
    for case let root? in source.storedEntities.byNumber where !(root.entity.superentity.map(source.holds) ?? false) {
      let fetch = RowFetch(entityName: root.layout.name, includesValues: false, generation: generation)
      try source.fetch(fetch) { storedEntity, key, _ in keys[storedEntity.number, default: []].append(key) }
    }
    for (number, keys) in keys.sorted(on: { $0.key }) {
      guard let storedEntity = source.storedEntities[number], let copy = try copy(of: storedEntity) else {
        continue
      }
      groupIndexes[number] = groups.count
      groups.append(Group(storedEntity: storedEntity, copy: copy, keys: keys.sorted()))
    }
  }

  /// Writes the copies in the open transaction.
  ///
  /// - Parameter note: called with a number of rows whenever as many are written.
  mutating func write(note: (Int) throws -> Void = { _ in }) throws {
    let metadata = NSPersistentStore.programEntries(of: source.metadata ?? [:])
    destination.metadata = NSPersistentStore.merging(metadata, into: destination.metadata ?? [:])
    if keepsKeys { try writeInSteps(note) } else { try writeAtOnce() }
  }

  private func emptyChanges() -> RowChanges { RowChanges(origin: ChangeOrigin(author: nil, contextName: nil)) }

  /// Rows get temporary keys, for which the destination finds permanent ones.
  ///
  /// A book may refer to an author that is written later: with temporary keys one save resolves that, as it does for
  /// new objects. This takes all rows into memory.
  private mutating func writeAtOnce() throws {
    var last: Int64 = 0
    for group in groups {
      for key in group.keys {
        last -= 1
        // The destination knows the entities of its temporary keys.
        newKeys[NSManagedObjectID(storedEntity: group.storedEntity, key: key)] = RelatedKey(key: last, number: 0)
      }
    }
    var changes = emptyChanges()
    for group in groups {
      let members = try memberChanges(of: group, group.keys[...])
      try readRows(of: group, group.keys[...]) { key, values in
        let id = NSManagedObjectID(storedEntity: group.storedEntity, key: key)
        guard let new = newKeys[id] else { return }
        changes.inserted.append(
          RowChanges.Insertion(key: new.key, values: newValues(of: values, group), members: members[key] ?? []))
      }
    }
    let saved = try destination.write(changes)
    let permanent = Dictionary(uniqueKeysWithValues: zip(changes.inserted.lazy.map(\.key), saved.keys))
    newKeys = newKeys.compactMapValues { new in permanent[new.key].map { RelatedKey(key: $0, number: 0) } }
  }

  /// All rows first, then their members, so that no member is missing.
  ///
  /// With keys that are known there is nothing to resolve: a book's row may name an author that is not there yet, since
  /// no store checks references while it writes. Only members of many-to-many relationships wait until both ends have
  /// their rows.
  private func writeInSteps(_ note: (Int) throws -> Void) throws {
    // Writes the metadata, also where there is no row.
    _ = try destination.write(emptyChanges())
    for group in groups {
      try group.inSteps { keys in
        var changes = emptyChanges()
        var bytes = 0
        try readRows(of: group, keys) { key, values in
          bytes += values.valueBytes
          changes.inserted.append(RowChanges.Insertion(key: key, values: newValues(of: values, group), members: []))
        }
        _ = try destination.write(changes)
        try note(keys.count)
        return bytes
      }
    }
    for group in groups where !copiedToManys(of: group).isEmpty {
      for keys in group.steps {
        var changes = emptyChanges()
        for (key, members) in try memberChanges(of: group, keys).sorted(by: { $0.key < $1.key }) {
          changes.updated.append(
            RowChanges.Update(storedEntity: group.copy, key: key, base: nil, values: nil, members: members))
        }
        if !changes.updated.isEmpty { _ = try destination.write(changes) }
      }
    }
    // Keys of deleted rows are not given again, either.
    guard let source = source as? any NumberedStore, let destination = destination as? any NumberedStore else { return }
    for case let storedEntity? in source.storedEntities.byNumber {
      guard let copy = try copy(of: storedEntity) else { continue }
      try destination.skipKeys(through: try source.lastKey(of: storedEntity), of: copy)
    }
  }

  /// The destination's entity for one of the source; nil if it is gone.
  private func copy(of storedEntity: StoredEntity) throws -> StoredEntity? {
    guard let name = mapping.map({ $0.destinationName(of: storedEntity.entity) }) ?? storedEntity.layout.name else {
      return nil
    }
    if let copy = destination.storedEntities.byName[name] { return copy }
    throw CoreDataErrors.error(.persistentStoreOperation, "The store holds no entity \(name).")
  }

  // MARK: Values

  /// Gives the body the rows of the keys, in their order.
  func readRows(of group: Group, _ keys: ArraySlice<Int64>, _ body: (Int64, Snapshot) throws -> Void) throws {
    var rowsByKey: [Int64: Snapshot] = [:]
    rowsByKey.reserveCapacity(keys.count)
    try source.rows(Array(keys), of: group.storedEntity, in: generation) { rowsByKey[$0] = $1 }
    for key in keys {
      if let values = rowsByKey[key] { try body(key, values) }
    }
  }

  /// The copy's values, with its keys in to-one relationships.
  ///
  /// A reference to a row that is not copied becomes nil: its entity is gone in the new model.
  func newValues(of values: Snapshot, _ group: Group) -> Snapshot {
    let layout = group.copy.layout
    let new = mapping?.attributes(of: values, layout) ?? values.copy()
    for slot in layout.toOneSlots {
      if let key = newRelated(values, layout.slots[slot].relationship, group) {
        new.assign(slot: slot, to: key)
      } else {
        new.setNil(slot)
      }
    }
    return new
  }

  /// A to-one relationship that was to-many before has no single value to take over, and is nil.
  private func newRelated(
    _ values: Snapshot, _ relationship: NSRelationshipDescription?, _ group: Group
  ) -> RelatedKey? {
    guard let was = relationship.flatMap({ oldRelationship($0, group.copy) }), !was.isToMany else { return nil }
    return oldRelated(values, was).flatMap(newKey)
  }

  /// The key of a row's copy; nil if the row is not copied.
  ///
  /// With kept keys nothing is stored for each row: whether a row is copied is looked up among the sorted keys.
  private func newKey(of id: NSManagedObjectID) -> RelatedKey? {
    guard keepsKeys else { return newKeys[id] }
    guard let index = groupIndexes[id.storedEntity.number], groups[index].contains(id.key) else { return nil }
    return RelatedKey(key: id.key, number: Int64(groups[index].copy.number))
  }

  private func oldRelationship(
    _ relationship: NSRelationshipDescription, _ entity: StoredEntity
  ) -> NSRelationshipDescription? {
    guard let mapping else { return relationship }
    return mapping.source(of: relationship, entity.layout.name)
  }

  /// The object to which a to-one relationship of the source leads.
  private func oldRelated(_ values: Snapshot, _ relationship: NSRelationshipDescription) -> NSManagedObjectID? {
    guard let related = values.layout.slot(relationship.name).flatMap(values.related) else { return nil }
    // 0 stands for the relationship's own destination.
    let storedEntity =
      related.number == 0
      ? source.storedEntities.byName[relationship.destinationEntity?.name ?? ""]
      : source.storedEntities[Int(related.number)]
    return storedEntity.map { NSManagedObjectID(storedEntity: $0, key: related.key) }
  }

  // MARK: Members

  /// The to-many relationships of the copies that no to-one relationship tells, or that have an order. Of two that are
  /// each other's inverse, one tells the other, unless the destination wants to hear of both.
  ///
  /// ```text
  /// Author.books, inverse author                 not copied: the books' own rows tell
  ///   ordered                                    copied, for the order
  /// Author.books, inverse authors                one of the two, the ordered one before the other
  /// Author.favourites, no inverse                copied
  /// ```
  func copiedToManys(of group: Group) -> [NSRelationshipDescription] {
    group.copy.layout.toManys.filter { relationship in
      guard !relationship.isTransient else { return false }
      guard !relationship.isOrdered, let inverse = relationship.inverseRelationship else { return true }
      guard inverse.isToMany else { return false }
      let isFirst =
        !inverse.isOrdered && !inverse.definingName.lexicographicallyPrecedes(relationship.definingName)
      return isFirst || destination.needsBothEnds || !wereInverse(relationship, inverse, group.copy)
    }
  }

  /// Whether the relationships were each other's inverse in the source, too.
  private func wereInverse(
    _ relationship: NSRelationshipDescription, _ inverse: NSRelationshipDescription, _ copy: StoredEntity
  ) -> Bool {
    guard let mapping else { return true }
    guard let was = mapping.source(of: relationship, copy.layout.name), let inverseName = inverse.entity.name,
      let wasInverse = mapping.source(of: inverse, inverseName)
    else { return false }
    return was.isToMany && wasInverse.isToMany && was.inverseRelationship?.name == wasInverse.name
      && wasInverse.inverseRelationship?.name == was.name
  }

  /// The members of the copies, by the key of the original row.
  ///
  /// An order alone is written as an order without added members: the members' own rows have made them members.
  private func memberChanges(of group: Group, _ keys: ArraySlice<Int64>) throws -> [Int64: [MemberChange]] {
    var changes: [Int64: [MemberChange]] = [:]
    for relationship in copiedToManys(of: group) {
      let isWritten = relationship.inverseRelationship?.isToMany ?? true
      for (owner, members) in try newMembers(relationship, of: group, keys) {
        changes[owner, default: []].append(
          MemberChange(
            relationship: relationship, added: isWritten ? members : [], order: relationship.isOrdered ? members : nil))
      }
    }
    return changes
  }

  /// The keys of the copies' members, by the key of the original row.
  ///
  /// ```text
  /// old                 new                 members of the copy
  /// to-one              to-many             the one object
  /// to-many, no order   ordered             by key
  /// to-many             to-one              none: `newRelated`
  /// ```
  func newMembers(
    _ relationship: NSRelationshipDescription, of group: Group, _ keys: ArraySlice<Int64>
  ) throws -> [Int64: [Int64]] {
    guard let was = oldRelationship(relationship, group.copy) else { return [:] }
    return try oldMembers(was, of: group, keys).mapValues { members in
      // Members that had no order get one by their keys.
      let sorted = relationship.isOrdered && !was.isOrdered ? members.sorted { $0.key < $1.key } : members
      return sorted.compactMap { newKey(of: $0)?.key }
    }
  }

  /// The members of a relationship, by the key of their owner. A to-one relationship that becomes to-many has one
  /// member.
  ///
  /// Keys of members and their entities; the members' values are not read for it.
  private func oldMembers(
    _ relationship: NSRelationshipDescription, of group: Group, _ keys: ArraySlice<Int64>
  ) throws -> [Int64: [NSManagedObjectID]] {
    var members: [Int64: [NSManagedObjectID]] = [:]
    guard relationship.isToMany else {
      try readRows(of: group, keys) { members[$0] = oldRelated($1, relationship).map { [$0] } }
      return members
    }
    try source.memberKeys(ofEach: Array(keys), group.storedEntity, relationship, in: generation) {
      owner, storedEntity, key in
      members[owner, default: []].append(NSManagedObjectID(storedEntity: storedEntity, key: key))
    }
    return members
  }
}

extension NSRelationshipDescription {
  /// The names of the entity that defines the relationship, and its own: the same for all entities that inherit it.
  fileprivate var definingName: [String] {
    var definer = entity
    while let parent = definer.superentity, parent.relationshipsByName[name] != nil { definer = parent }
    return [definer.name ?? "", name]
  }
}

extension Snapshot {
  /// About as many bytes as texts and data have.
  var valueBytes: Int {
    layout.slots.indices.reduce(0) { sum, slot in
      switch layout.kinds[slot] {
      case .string: sum + (load(slot, as: String.self)?.utf8.count ?? 0)
      case .data: sum + (load(slot, as: Data.self)?.count ?? 0)
      default: sum
      }
    }
  }
}

extension StoreCopy.Group {
  /// Calls the body with the keys of rows that are read and written together: few at first, then as many as have not
  /// too many bytes. The body returns the bytes of their values.
  ///
  /// ```text
  /// 16 rows of 200 bytes     next step: 64, then 256, then 1,024
  /// 16 rows of 4 MB each     next step: 4
  /// ```
  func inSteps(_ body: (ArraySlice<Int64>) throws -> Int) rethrows {
    var (start, count) = (0, 16)
    while start < keys.count {
      let step = keys[start..<min(start + count, keys.count)]
      let bytes = try body(step)
      start += step.count
      let fitting = StoreCopy.bytesAtOnce / max(1, bytes / step.count)
      count = max(1, min(fitting, count * 4, StoreCopy.rowsAtOnce))
    }
  }

  /// The keys of the rows whose members are read and written together.
  var steps: [ArraySlice<Int64>] {
    stride(from: 0, to: keys.count, by: StoreCopy.rowsAtOnce).map { start in
      keys[start..<min(start + StoreCopy.rowsAtOnce, keys.count)]
    }
  }

  /// Whether there is a row of the key.
  fileprivate func contains(_ key: Int64) -> Bool {
    var (low, high) = (0, keys.count)
    while low < high {
      let middle = (low + high) / 2
      if keys[middle] < key { low = middle + 1 } else { high = middle }
    }
    return low < keys.count && keys[low] == key
  }
}
