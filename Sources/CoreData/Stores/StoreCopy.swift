/// Copies all rows of a store into another, empty one of any class, through the seam.
///
/// All rows are in memory meanwhile. Keys are new, and history is not copied.
struct StoreCopy {
  private let source: any ObjectStore
  private let destination: any ObjectStore
  private var changes = RowChanges(origin: ChangeOrigin(author: nil, contextName: nil))
  private var oldIDs: [NSManagedObjectID] = []
  /// The temporary keys of the copies, by the ID of the original row.
  private var temporaryKeys: [NSManagedObjectID: Int64] = [:]

  init(_ source: any ObjectStore, to destination: any ObjectStore) {
    self.source = source
    self.destination = destination
  }

  /// Writes the copies and the program's own metadata in one transaction.
  ///
  /// - Returns: the IDs of all rows, each with that of its copy.
  mutating func run() throws -> [(old: NSManagedObjectID, new: NSManagedObjectID)] {
    let rows = try readRows()
    let members = try readMembers(rows)
    for (index, row) in rows.enumerated() {
      changes.inserted.append(
        RowChanges.Insertion(key: key(index), values: related(row.values, row.storedEntity), members: members[index]))
    }
    destination.metadata = NSPersistentStore.merging(source.metadata ?? [:], into: destination.metadata ?? [:])
    var saved = SavedRows()
    try destination.writeScope.exclusively {
      try destination.writeScope.transaction("Copying") { saved = try destination.write(changes) }
      destination.didCommit()
    }
    return zip(oldIDs, saved.keys).compactMap { old, key in
      destination.storedEntities.byName[old.storedEntity.layout.name].map {
        (old, NSManagedObjectID(storedEntity: $0, key: key))
      }
    }
  }

  private func key(_ index: Int) -> Int64 { -Int64(index + 1) }

  private typealias Row = (storedEntity: StoredEntity, key: Int64, values: Snapshot)

  private mutating func readRows() throws -> [Row] {
    var rows: [Row] = []
    for case let root? in source.storedEntities.byNumber where !(root.entity.superentity.map(source.holds) ?? false) {
      var unread: [NSManagedObjectID] = []
      try source.fetch(RowFetch(entityName: root.layout.name)) { storedEntity, key, values in
        if let values {
          rows.append((storedEntity, key, values))
        } else {
          unread.append(NSManagedObjectID(storedEntity: storedEntity, key: key))
        }
      }
      for id in unread {
        if let values = try source.row(id, in: nil) { rows.append((id.storedEntity, id.key, values)) }
      }
    }
    oldIDs = rows.map { NSManagedObjectID(storedEntity: $0.storedEntity, key: $0.key) }
    for (index, id) in oldIDs.enumerated() { temporaryKeys[id] = key(index) }
    return rows
  }

  /// The row with temporary keys in its to-one relationships.
  private func related(_ values: Snapshot, _ storedEntity: StoredEntity) -> Snapshot {
    let copy = values.copy()
    for slot in storedEntity.layout.toOneSlots {
      guard let related = values.related(slot), let relationship = storedEntity.layout.slots[slot].relationship,
        let temporary = temporaryKey(related, relationship)
      else {
        copy.setNil(slot)
        continue
      }
      copy.assign(slot: slot, to: RelatedKey(key: temporary, number: 0))
    }
    return copy
  }

  private func temporaryKey(_ related: RelatedKey, _ relationship: NSRelationshipDescription) -> Int64? {
    // 0 stands for the relationship's own destination.
    let storedEntity =
      related.number == 0
      ? source.storedEntities.byName[relationship.destinationEntity?.name ?? ""]
      : source.storedEntities.byNumber[Int(related.number)]
    return storedEntity.flatMap { temporaryKeys[NSManagedObjectID(storedEntity: $0, key: related.key)] }
  }

  /// For each row the members that no to-one relationship tells, and the order of ordered ones.
  private func readMembers(_ rows: [Row]) throws -> [[MemberChange]] {
    var changes: [[MemberChange]] = Array(repeating: [], count: rows.count)
    let byEntity = Dictionary(grouping: rows.indices, by: { rows[$0].storedEntity.number })
    for indexes in byEntity.values {
      let storedEntity = rows[indexes[0]].storedEntity
      let places = Dictionary(uniqueKeysWithValues: indexes.map { (rows[$0].key, $0) })
      for relationship in storedEntity.layout.toManys where !relationship.isTransient {
        let isWritten = relationship.inverseRelationship?.isToMany ?? true
        guard isWritten || relationship.isOrdered else { continue }
        var members: [Int: [Int64]] = [:]
        try source.members(ofEach: indexes.map { rows[$0].key }, storedEntity, relationship, in: nil) {
          owner, storedEntity, key, _ in
          guard let place = places[owner],
            let member = temporaryKeys[NSManagedObjectID(storedEntity: storedEntity, key: key)]
          else { return }
          members[place, default: []].append(member)
        }
        for (place, keys) in members {
          changes[place].append(
            MemberChange(
              relationship: relationship, added: isWritten ? keys : [], order: relationship.isOrdered ? keys : nil))
        }
      }
    }
    return changes
  }
}
