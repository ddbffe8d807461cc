/// Writes the changes of a save.
extension SQLiteStore {
  /// Stores of one file share one scope.
  var writeScope: any WriteScope { database }

  func write(_ changes: RowChanges) throws -> SavedRows {
    try CoreDataErrors.translating("Saving to \(database.configuration.path)") {
      try database.write { connection in
        let saved = try ChangeWriter(changes, to: self, connection).write()
        try writeMetadata(connection)
        return saved
      }
    }
  }

  func newIDs(for rows: [Snapshot]) throws -> [NSManagedObjectID] {
    try CoreDataErrors.translating("Reserving keys in \(database.configuration.path)") {
      try database.write { connection in
        try rows.map { row in
          let name = row.layout.name
          guard let storedEntity = storedEntities.byName[name] else {
            throw CoreDataErrors.error(.persistentStoreOperation, "The store holds no entity \(name).")
          }
          let key = try takeKeys(1, root: mapping(name).rootNumber, connection)
          return NSManagedObjectID(storedEntity: storedEntity, key: key)
        }
      }
    }
  }
}

extension SQLiteDatabase: WriteScope {
  var name: String { configuration.path }

  func exclusively(_ body: () throws -> Void) throws { try withWriter { _ in try body() } }

  func transaction(_ doing: String, _ body: () throws -> Void) throws {
    try CoreDataErrors.translating("\(doing) to \(configuration.path)") { try write { _ in try body() } }
  }
}
