/// Copies all rows of a store into another, empty one of any class, through the seam.
///
/// All rows are in memory meanwhile. History is not copied.
struct StoreCopy {
  private let source: any ObjectStore
  private let destination: any ObjectStore
  private let mapping: RowMapping?
  private let keepsKeys: Bool
  private var changes = RowChanges(origin: ChangeOrigin(author: nil, contextName: nil))
  private var oldIDs: [NSManagedObjectID] = []
  /// The keys of the copies, by the ID of the original row.
  private var newKeys: [NSManagedObjectID: RelatedKey] = [:]

  /// - Parameters:
  ///   - mapping: makes rows of the destination's model; nil if both stores have the same model.
  ///   - keepsKeys: whether the copies have the keys of the original rows. Both stores then give a key once in all
  ///     hierarchies.
  init(
    _ source: any ObjectStore, to destination: any ObjectStore, mapping: RowMapping? = nil, keepsKeys: Bool = false
  ) {
    self.source = source
    self.destination = destination
    self.mapping = mapping
    self.keepsKeys = keepsKeys
  }

  /// Writes the copies and the program's own metadata in one transaction.
  ///
  /// - Returns: the IDs of all rows, each with that of its copy.
  mutating func run() throws -> [(old: NSManagedObjectID, new: NSManagedObjectID)] {
    let rows = try readRows()
    let members = try readMembers(rows)
    for (index, row) in rows.enumerated() {
      changes.inserted.append(
        RowChanges.Insertion(key: key(index), values: newValues(of: row), members: members[index]))
    }
    let metadata = NSPersistentStore.programEntries(of: source.metadata ?? [:])
    destination.metadata = NSPersistentStore.merging(metadata, into: destination.metadata ?? [:])
    var saved = SavedRows()
    try destination.writeScope.exclusively {
      try destination.writeScope.transaction("Copying") { saved = try destination.write(changes) }
      destination.didCommit()
    }
    return zip(zip(oldIDs, rows), saved.keys).map { place, key in
      (place.0, NSManagedObjectID(storedEntity: place.1.copy, key: key))
    }
  }

  private func key(_ index: Int) -> Int64 { keepsKeys ? oldIDs[index].key : -Int64(index + 1) }

  /// A row of the source, and the entity of its copy.
  private typealias Row = (storedEntity: StoredEntity, key: Int64, values: Snapshot, copy: StoredEntity)

  /// Reads the rows whose entities the destination's model still has.
  private mutating func readRows() throws -> [Row] {
    var rows: [Row] = []
    for case let root? in source.storedEntities.byNumber where !(root.entity.superentity.map(source.holds) ?? false) {
      var read: [(id: NSManagedObjectID, values: Snapshot?)] = []
      try source.fetch(RowFetch(entityName: root.layout.name)) { storedEntity, key, values in
        read.append((NSManagedObjectID(storedEntity: storedEntity, key: key), values))
      }
      for (id, values) in read {
        guard let copy = try copy(of: id.storedEntity), let values = try values ?? source.row(id, in: nil) else {
          continue
        }
        rows.append((id.storedEntity, id.key, values, copy))
      }
    }
    oldIDs = rows.map { NSManagedObjectID(storedEntity: $0.storedEntity, key: $0.key) }
    for (index, id) in oldIDs.enumerated() {
      // The destination knows the entities of its temporary keys.
      newKeys[id] = RelatedKey(key: key(index), number: keepsKeys ? Int64(rows[index].copy.number) : 0)
    }
    return rows
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

  /// The copy's values, with its keys in to-one relationships.
  private func newValues(of row: Row) -> Snapshot {
    let layout = row.copy.layout
    let values = mapping?.attributes(of: row.values, layout) ?? row.values.copy()
    for slot in layout.toOneSlots {
      if let key = newRelated(row, layout.slots[slot].relationship) {
        values.assign(slot: slot, to: key)
      } else {
        values.setNil(slot)
      }
    }
    return values
  }

  private func newRelated(_ row: Row, _ relationship: NSRelationshipDescription?) -> RelatedKey? {
    guard let was = relationship.flatMap({ oldRelationship($0, row.copy) }), !was.isToMany else { return nil }
    return oldRelated(row, was).flatMap { newKeys[$0] }
  }

  private func oldRelationship(
    _ relationship: NSRelationshipDescription, _ entity: StoredEntity
  ) -> NSRelationshipDescription? {
    guard let mapping else { return relationship }
    return mapping.source(of: relationship, entity.layout.name)
  }

  /// The object to which a to-one relationship of the source leads.
  private func oldRelated(_ row: Row, _ relationship: NSRelationshipDescription) -> NSManagedObjectID? {
    guard let related = row.values.layout.slot(relationship.name).flatMap(row.values.related) else { return nil }
    // 0 stands for the relationship's own destination.
    let storedEntity =
      related.number == 0
      ? source.storedEntities.byName[relationship.destinationEntity?.name ?? ""]
      : source.storedEntities.byNumber[Int(related.number)]
    return storedEntity.map { NSManagedObjectID(storedEntity: $0, key: related.key) }
  }

  // MARK: Members

  /// For each row the members that no to-one relationship tells, and the order of ordered ones.
  private func readMembers(_ rows: [Row]) throws -> [[MemberChange]] {
    var changes: [[MemberChange]] = Array(repeating: [], count: rows.count)
    for indexes in Dictionary(grouping: rows.indices, by: { rows[$0].storedEntity.number }).values {
      let copy = rows[indexes[0]].copy
      for relationship in copy.layout.toManys where !relationship.isTransient {
        let isWritten = relationship.inverseRelationship?.isToMany ?? true
        guard isWritten || relationship.isOrdered, let was = oldRelationship(relationship, copy) else { continue }
        for (index, members) in try oldMembers(was, indexes, rows) {
          // Members that had no order get one by their keys.
          let sorted = relationship.isOrdered && !was.isOrdered ? members.sorted { $0.key < $1.key } : members
          let keys = sorted.compactMap { newKeys[$0]?.key }
          changes[index].append(
            MemberChange(
              relationship: relationship, added: isWritten ? keys : [], order: relationship.isOrdered ? keys : nil))
        }
      }
    }
    return changes
  }

  /// The members of a relationship of rows of one entity, by the index of the row. A to-one relationship that becomes
  /// to-many has one member.
  private func oldMembers(
    _ relationship: NSRelationshipDescription, _ indexes: [Int], _ rows: [Row]
  ) throws -> [Int: [NSManagedObjectID]] {
    var members: [Int: [NSManagedObjectID]] = [:]
    guard relationship.isToMany else {
      for index in indexes { members[index] = oldRelated(rows[index], relationship).map { [$0] } }
      return members
    }
    let places = Dictionary(uniqueKeysWithValues: indexes.map { (rows[$0].key, $0) })
    try source.members(ofEach: Array(places.keys), rows[indexes[0]].storedEntity, relationship, in: nil) {
      owner, storedEntity, key, _ in
      guard let index = places[owner] else { return }
      members[index, default: []].append(NSManagedObjectID(storedEntity: storedEntity, key: key))
    }
    return members
  }
}
