/// Writes the changes of a save.
extension SQLiteStore {
  /// Stores of one file share one scope.
  var writeScope: any WriteScope { database }

  /// The coordinator calls it inside of `writeScope.transaction`, so `writeRows` joins the open transaction. Two
  /// stores in one file share it: both are saved, or neither.
  ///
  /// ```text
  /// coordinator      writeScope.exclusively             this coordinator's other saves wait
  ///                    transaction("Saving")            BEGIN IMMEDIATE: other processes wait
  ///                      write(changes) of each store   INSERT, UPDATE, DELETE
  ///                                                     COMMIT: readers see it from now on
  ///                    didCommit() of each store
  /// ```
  func write(_ changes: RowChanges) throws -> SavedRows {
    try CoreDataErrors.translating("Saving to \(database.configuration.path)") {
      try writeRows { connection in
        let saved = try SQLiteChangeWriter(changes, to: self, connection).writeWithFiles()
        try writeMetadata(connection)
        return saved
      }
    }
  }

  /// Reserves a key for each row, for `obtainPermanentIDs(for:)`.
  ///
  /// ```text
  /// BEGIN IMMEDIATE
  /// UPDATE Z_PRIMARYKEY SET Z_MAX = Z_MAX + 1 WHERE Z_ENT = 2
  /// SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = 2
  /// COMMIT
  /// ```
  ///
  /// A transaction of its own, so it waits for writers as a save does. Inside of a save it joins that.
  func newIDs(for rows: [Snapshot]) throws -> [NSManagedObjectID] {
    try CoreDataErrors.translating("Reserving keys in \(database.configuration.path)") {
      try writeRows { connection in
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

  /// `max(Z_MAX, 7)` with two arguments is SQLite's scalar function, not the aggregate
  /// (https://www.sqlite.org/lang_corefunc.html#max_scalar).
  func skipKeys(through key: Int64, of storedEntity: StoredEntity) throws {
    try CoreDataErrors.translating("Reserving keys in \(database.configuration.path)") {
      let root = mapping(storedEntity.layout.name).rootNumber
      try writeRows {
        _ = try $0.run(
          """
          UPDATE \(raw: schema.primaryKeyTable) SET Z_MAX = max(Z_MAX, \(bind: .integer(key))) \
          WHERE Z_ENT = \(bind: .integer(Int64(root)))
          """)
      }
    }
  }
}

/// Saves to files of different databases take their locks in the order of `name`, in every process the same: two saves
/// cannot wait for each other.
extension SQLiteDatabase: WriteScope {
  var name: String { configuration.path }

  func exclusively(_ body: () throws -> Void) throws { try withWriter { _ in try body() } }

  func transaction(_ doing: String, _ body: () throws -> Void) throws {
    try CoreDataErrors.translating("\(doing) to \(configuration.path)") { try write { _ in try body() } }
  }
}
