/// Saving a context's changes to the stores that hold them.
extension NSPersistentStoreCoordinator {
  /// The store for a new object of the entity: the first that may be written and holds it.
  final func store(forInserted entity: NSEntityDescription) -> SQLiteStore? {
    persistentStores.lazy.compactMap { $0 as? SQLiteStore }.first { !$0.isReadOnly && $0.holds(entity) }
  }

  private func store(of object: NSManagedObject, _ assigned: [ObjectIdentifier: NSPersistentStore]) throws
    -> SQLiteStore
  {
    if !object.objectID.isTemporaryID {
      if let store = object.objectID.persistentStore as? SQLiteStore { return store }
      throw CoreDataErrors.error(
        .persistentStoreSave, "The store of \(object.objectID.uriString) is not open any more.")
    }
    if let store = assigned[ObjectIdentifier(object)] as? SQLiteStore { return store }
    if let store = store(forInserted: object.entity) { return store }
    throw CoreDataErrors.error(
      .persistentStoreSave, "No open store that may be written holds the entity \(object.entity.name ?? "").")
  }

  /// Sorts the changes by the store that they belong to.
  final func saveOperations(
    for changes: SavedChanges, assignedStores: [ObjectIdentifier: NSPersistentStore]
  ) throws -> [SaveOperation] {
    var operations: [SaveOperation] = []
    func add(_ objects: [NSManagedObject], to list: ReferenceWritableKeyPath<SaveOperation, [NSManagedObject]>) throws {
      var last: (entity: EntityLayout, operation: SaveOperation)?
      for object in objects {
        // Runs of one entity share the answer, unless objects were assigned.
        if assignedStores.isEmpty, let last, last.entity === object.layout, object.objectID.isTemporaryID {
          last.operation[keyPath: list].append(object)
          continue
        }
        let store = try store(of: object, assignedStores)
        if store.isReadOnly {
          throw CoreDataErrors.error(
            .persistentStoreSave, "The store of \(object.objectID.uriString) was opened read-only.")
        }
        let operation = operations.first { $0.store === store } ?? SaveOperation(store: store)
        if operations.last !== operation, !operations.contains(where: { $0 === operation }) {
          operations.append(operation)
        }
        operation[keyPath: list].append(object)
        last = (object.layout, operation)
      }
    }
    try add(changes.inserted, to: \.inserted)
    try add(changes.updated, to: \.updated)
    try add(changes.deleted, to: \.deleted)
    if operations.count > 1 { try checkStores(operations) }
    return operations
  }

  /// New objects that refer to each other must go to the same store.
  private func checkStores(_ operations: [SaveOperation]) throws {
    var stores: [Int64: SQLiteStore] = [:]
    for operation in operations {
      for object in operation.inserted { stores[object.objectID.key] = operation.store }
    }
    for operation in operations {
      for object in operation.inserted + operation.updated {
        for slot in object.layout.toOneSlots {
          guard let key = object.snapshot?.related(slot)?.key, key < 0, let store = stores[key],
            store !== operation.store
          else { continue }
          throw CoreDataErrors.error(
            .persistentStoreSave,
            "\(object.layout.name).\(object.layout.slots[slot].name) of \(object.objectID.uriString) refers to an object "
              + "that belongs to another store.", [NSAffectedObjectsErrorKey: [object]])
        }
      }
    }
  }

  /// Writes the operations: those on one file in one transaction, and none is committed before all are written.
  final func commit(_ operations: [SaveOperation]) throws {
    var groups: [[SaveOperation]] = []
    for operation in operations {
      if let index = groups.firstIndex(where: { $0[0].store.database === operation.store.database }) {
        groups[index].append(operation)
      } else {
        groups.append([operation])
      }
    }
    // In the same order everywhere, so that two saves to the same files do not wait for each other.
    groups.sort { first, second in
      let (one, other) = (first[0].store.database, second[0].store.database)
      // Databases in memory have no path.
      if one.configuration.path == other.configuration.path { return ObjectIdentifier(one) < ObjectIdentifier(other) }
      return one.configuration.path < other.configuration.path
    }
    try locking(groups[...]) {
      try write(groups[...])
      // The caches take rows over in the order of the commits: nobody else may write before they have these.
      for operation in operations {
        operation.finish()
        operation.store.metadataWasSaved()
      }
    }
  }

  /// Runs the body with the writers of all groups.
  private func locking(_ groups: ArraySlice<[SaveOperation]>, _ body: () throws -> Void) throws {
    guard let group = groups.first else { return try body() }
    try group[0].store.database.withWriter { _ in try locking(groups.dropFirst(), body) }
  }

  /// Writes the groups, each inside the transaction of the one before.
  private func write(_ groups: ArraySlice<[SaveOperation]>) throws {
    guard let group = groups.first else { return }
    let database = group[0].store.database
    try CoreDataErrors.translating("Saving to \(database.configuration.path)") {
      try database.write { connection in
        for operation in group {
          try operation.write(connection)
          try operation.store.writeMetadata(connection)
        }
        try write(groups.dropFirst())
      }
    }
  }

  /// Reserves permanent IDs for new objects.
  final func permanentIDs(
    for objects: [NSManagedObject], assignedStores: [ObjectIdentifier: NSPersistentStore]
  ) throws -> [NSManagedObjectID] {
    try objects.map { object in
      let store = try store(of: object, assignedStores)
      let root = store.mapping(object.layout.name).rootNumber
      let key = try CoreDataErrors.translating("Reserving a key for \(object.layout.name)") {
        try store.database.write { try store.takeKeys(1, root: root, $0) }
      }
      guard let home = store.family.homesByName[object.layout.name] else {
        throw CoreDataErrors.error(.persistentStoreOperation, "The store holds no entity \(object.layout.name).")
      }
      return NSManagedObjectID(home: home, key: key)
    }
  }
}
