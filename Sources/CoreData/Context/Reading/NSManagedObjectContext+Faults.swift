/// Fills faults: reads an object's values and the members of a to-many relationship from the stores or through the
/// parent.
extension NSManagedObjectContext {
  /// The values of an object in the level above; nil if that has no such object.
  ///
  /// In this order: the parent, if there is one; the row cache, if the row is young enough; the store. The cache
  /// belongs to the newest state or to the pinned one, so a pinned context never gets a row that was saved since.
  final func storedRow(_ id: NSManagedObjectID) throws -> Snapshot? {
    if let parentContext {
      return try parentContext.performAndWait { try parentContext.sharedSnapshot(id) }
    }
    guard !id.isTemporaryID, let store = id.objectStore else { return nil }
    if reading.needsCacheCheck { validateRowCaches() }
    let generation = try readGeneration()
    // Pinned rows do not age.
    let age = generation == nil ? stalenessInterval : -1
    if let cached = store.cache(generation).find(id, maximumAge: age) { return cached }
    return try store.row(id, in: generation)
  }

  /// Drops cached rows if another connection has written to a store since the last time.
  ///
  /// A SQLite store compares its file's state with the one that it noted last, without waiting for a writer. It is done
  /// once in each block of the queue, at the first use of the cache: what one block reads mostly belongs together.
  final func validateRowCaches() {
    for store in coordinator?.objectStores ?? [] { store.validateRowCache() }
    // A main-queue context is also used outside of blocks, where no turn begins with a check.
    reading.needsCacheCheck = PerformScope.current == nil
  }

  /// This context's current values of an object for a child. The object is not changed in place while they are shared.
  ///
  /// The parent then no longer owns the snapshot: its next change makes a copy, and the child's rows stay as they were
  /// read.
  private func sharedSnapshot(_ id: NSManagedObjectID) throws -> Snapshot? {
    let id = currentID(id)
    if let object = graph.reuse(id.key, id.storedEntity.table), !object.state.contains(.gone) {
      if object.isDeleted { return nil }
      // A new object may be a fault, too, and has no row.
      if object.isInserted { _ = object.access() }
      if let snapshot = object.snapshot {
        if object.committed == nil && !object.isInserted && object.state.contains(.ownsSnapshot) {
          object.committed = snapshot
        }
        object.state.remove(.ownsSnapshot)
        return snapshot
      }
    }
    return try storedRow(id)
  }

  /// The members of a to-many relationship in the level above. An error cannot be thrown from a property, so it is
  /// handled like an unreadable fault: the relationship counts as empty, or the process ends.
  final func storedMembers(of object: NSManagedObject, _ relationship: NSRelationshipDescription) -> [NSManagedObject] {
    if parentContext != nil { return parentMembers(of: object, relationship) }
    guard let store = object.objectID.objectStore else { return [] }
    do {
      var members: [NSManagedObject] = []
      try graph.gathering {
        try store.members(of: object.objectID, relationship, in: readGeneration()) { storedEntity, key, snapshot in
          let member = graph.reuse(key, storedEntity.table) ?? graph.make(storedEntity, key, snapshot: nil)
          member.supply(snapshot)
          members.append(member)
        }
      }
      return members
    } catch {
      handleInaccessible(object, relationship, error)
      return []
    }
  }

  /// The members as the parent has them, unsaved changes included: their IDs come over from the parent's queue, and the
  /// objects are made here.
  final func parentMembers(of object: NSManagedObject, _ relationship: NSRelationshipDescription) -> [NSManagedObject] {
    guard let parentContext else { return [] }
    let id = object.objectID
    let ids: [NSManagedObjectID] = parentContext.performAndWait {
      let id = parentContext.currentID(id)
      if id.isTemporaryID && !parentContext.knows(id) { return [] }
      return parentContext.object(with: id).objectIDs(forRelationshipNamed: relationship.name)
    }
    return ids.map { self.object(with: $0) }
  }

  /// Whether a new object is in this context or one above. An object that is new in this child alone has no members in
  /// the parent, and `object(with:)` there would make a fault of nothing.
  private func knows(_ temporaryID: NSManagedObjectID) -> Bool {
    if graph.find(temporary: temporaryID.key) != nil { return true }
    guard let parentContext else { return false }
    return parentContext.performAndWait { parentContext.knows(temporaryID) }
  }
}
