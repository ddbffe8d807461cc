/// Saving: values become the objects of a request, which the program's store carries out.
extension NSIncrementalStore {
  /// Gives the changes of a save to the program's store as one request.
  ///
  /// ```text
  /// checkVersions       of the rows that the cache has, and else of the store: conflicts before anything is written
  /// obtainPermanentIDs  for new objects that have none yet
  /// execute             the request with inserted, updated, deleted and locked objects
  /// readBack            newValuesForObject for each written object: its version, for the next save
  /// ```
  ///
  /// From `execute` on nothing can be taken back here. Therefore the coordinator calls an incremental store after all
  /// others.
  package func write(_ changes: RowChanges) throws -> SavedRows {
    try checkVersions(changes)
    state.unreadRows = []
    let scratch = ScratchObjects(self)
    return try scratch.perform {
      let inserted = changes.inserted.map { scratch.newObject($0.values, $0.key) }
      let updated = try changes.updated.map(scratch.object)
      let deleted = changes.deleted.map { scratch.fault($0.storedEntity, $0.key, .deleted) }
      let locked = changes.checked.map { scratch.fault($0.storedEntity, $0.key, []) }
      var saved = SavedRows()
      let new = changes.inserted.indices.filter { changes.inserted[$0].key < 0 }
      for (index, id) in zip(new, try identify(new.map { inserted[$0] })) {
        saved.assigned[changes.inserted[index].key] = id.relatedKey
        scratch.identify(inserted[index], as: id)
      }
      scratch.setMembers(changes, inserted, updated)
      _ = try execute(
        NSSaveChangesRequest(
          inserted: Set(inserted), updated: Set(updated), deleted: Set(deleted), locked: Set(locked)),
        with: scratch.context)
      saved.keys = inserted.map(\.objectID.key)
      readBack(inserted, updated, deleted, into: &saved)
      return saved
    }
  }

  package func didCommit() { state.forgetUnreadRows() }

  /// Reads the rows that the store made of the changes, above all their versions.
  ///
  /// The changes are saved by now, so an error does not make the save fail: the row gets version 0, which conflicts
  /// with no other, and is read again when it is next used.
  private func readBack(
    _ inserted: [NSManagedObject], _ updated: [NSManagedObject], _ deleted: [NSManagedObject],
    into saved: inout SavedRows
  ) {
    var rows: [(key: Int64, table: Int32, snapshot: Snapshot)] = []
    func version(of object: NSManagedObject) -> Int64 {
      let id = object.objectID
      guard let row = try? readRow(id) else {
        state.unreadRows.append((id.key, id.storedEntity.table))
        return 0
      }
      rows.append((id.key, id.storedEntity.table, row))
      return row.version
    }
    saved.insertedVersions = inserted.map(version)
    saved.versions = updated.map(version)
    rowCache.commit(saved: rows, removed: deleted.map { ($0.objectID.key, $0.objectID.storedEntity.table) })
  }

  // MARK: Conflicts

  /// Throws the conflicts of rows whose version is not the one that was read.
  ///
  /// A version of 0 belongs to a row that could not be read after its last save: it conflicts with nothing, because
  /// nobody knows what the store has. A deleted object that is gone already is no conflict.
  ///
  /// The store may still find a conflict of its own while it writes, between this check and its database: it throws
  /// then.
  private func checkVersions(_ changes: RowChanges) throws {
    var conflicts: [RowConflicts.Conflict] = []
    func check(
      _ place: RowChanges.Place, of storedEntity: StoredEntity, key: Int64, version: Int64?,
      mayHaveChanged: Bool = false
    ) throws {
      guard let version, version > 0 else { return }
      let id = NSManagedObjectID(storedEntity: storedEntity, key: key)
      let cached = rowCache.find(key, storedEntity.table)
      let stored = try cached ?? readRow(id)
      if case .deleted = place, stored == nil { return }
      if stored?.version == version || mayHaveChanged && stored != nil { return }
      conflicts.append(RowConflicts.Conflict(place: place, stored: stored, cached: cached))
    }
    for (index, row) in changes.checked.enumerated() {
      try check(
        .checked(index), of: row.storedEntity, key: row.key, version: row.version, mayHaveChanged: row.mayHaveChanged)
    }
    for (index, row) in changes.deleted.enumerated() {
      try check(.deleted(index), of: row.storedEntity, key: row.key, version: row.version)
    }
    for (index, row) in changes.updated.enumerated() {
      try check(.updated(index), of: row.storedEntity, key: row.key, version: row.base?.version)
    }
    if !conflicts.isEmpty { throw RowConflicts(store: self, conflicts: conflicts) }
  }
}
