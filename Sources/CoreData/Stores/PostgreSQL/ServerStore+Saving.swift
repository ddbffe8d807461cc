/// Writes the changes of a save.
extension ServerStore {
  /// Stores of one database share one scope.
  var writeScope: any WriteScope { database }

  func write(_ changes: RowChanges) throws -> SavedRows {
    try CoreDataErrors.fromServer("Saving to \(address.description)") {
      try database.write { connection in
        let saved = try ServerChangeWriter(changes, to: self, connection).write()
        if let unsaved = openMetadata.takeUnsaved() { try Self.writeMetadata(unsaved, address, connection) }
        return saved
      }
    }
  }

  func didCommit() { openMetadata.didCommit() }

  func newIDs(for rows: [Snapshot]) throws -> [NSManagedObjectID] {
    try CoreDataErrors.fromServer("Reserving keys in \(address.description)") {
      try database.read { connection, _ in
        try rows.map { row in
          let name = row.layout.name
          guard let storedEntity = storedEntities.byName[name] else {
            throw CoreDataErrors.error(.persistentStoreOperation, "The store holds no entity \(name).")
          }
          let key = try keys.take(1, connection)[0]
          return NSManagedObjectID(storedEntity: storedEntity, key: key)
        }
      }
    }
  }
}
