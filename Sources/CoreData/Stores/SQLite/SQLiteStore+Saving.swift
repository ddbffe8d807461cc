/// Writes the changes of a save.
extension SQLiteStore {
  /// Stores of one file share one scope.
  var writeScope: any WriteScope { database }

  func write(_ changes: RowChanges) throws -> SavedRows {
    try CoreDataErrors.translating("Saving to \(database.configuration.path)") {
      try database.write { connection in
        let saved = try SQLiteChangeWriter(changes, to: self, connection).writeWithFiles()
        try writeMetadata(connection)
        return saved
      }
    }
  }

  func newIDs(for rows: [Snapshot]) throws -> [NSManagedObjectID] {
    try CoreDataErrors.translating("Reserving keys in \(database.configuration.path)") {
      try database.write { connection in
        try ids(of: rows) { try takeKeys(1, root: mapping($0.layout.name).rootNumber, connection) }
      }
    }
  }
}

/// The numbers of `Z_PRIMARYKEY`.
extension SQLiteStore {
  func lastKey(of storedEntity: StoredEntity) throws -> Int64 {
    try CoreDataErrors.translating("Reading the keys of \(storedEntity.layout.name)") {
      let root = mapping(storedEntity.layout.name).rootNumber
      return try read(nil) {
        try $0.integer("SELECT Z_MAX FROM \(raw: schema.primaryKeyTable) WHERE Z_ENT = \(bind: .integer(Int64(root)))")
          ?? 0
      }
    }
  }

  func skipKeys(through key: Int64, of storedEntity: StoredEntity) throws {
    try CoreDataErrors.translating("Reserving keys in \(database.configuration.path)") {
      let root = mapping(storedEntity.layout.name).rootNumber
      try database.write {
        _ = try $0.run(
          """
          UPDATE \(raw: schema.primaryKeyTable) SET Z_MAX = max(Z_MAX, \(bind: .integer(key))) \
          WHERE Z_ENT = \(bind: .integer(Int64(root)))
          """)
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
