/// Writes the changes of a save.
extension ServerStore {
  /// Stores of one database share one scope.
  var writeScope: any WriteScope { database }

  func write(_ changes: RowChanges) throws -> SavedRows {
    try onTables("Saving to \(address.description)") {
      var lastWriter: ServerChangeWriter?
      do {
        return try database.write { connection in
          let writer = ServerChangeWriter(changes, to: self, connection)
          lastWriter = writer
          let saved = try writer.write()
          if let unsaved = openMetadata.takeUnsaved() { try Self.writeMetadata(unsaved, address, connection) }
          return saved
        }
      } catch let error as ServerError where error.isBeyondLimit {
        // Only its own transaction has failed: others can still be asked about the indexes.
        guard let lastWriter, let value = try OversizedIndexRow(error, of: self).value(in: lastWriter) else {
          throw error
        }
        throw value
      }
    }
  }

  func didCommit() {
    openMetadata.didCommit()
    // Triggers have changed rows that the save does not know.
    if derives { rowCache.removeAll() }
  }

  func newIDs(for rows: [Snapshot]) throws -> [NSManagedObjectID] {
    try onTables("Reserving keys in \(address.description)") {
      try database.read { connection, _ in
        try ids(of: rows) { _ in try keys.take(1, connection)[0].lowerBound }
      }
    }
  }

  /// All hierarchies have one sequence, which gives the first key of a block.
  func lastKey(of storedEntity: StoredEntity) throws -> Int64 {
    try onTables("Reading the keys of \(address.description)") {
      try database.read { connection, _ in
        let given = "CASE WHEN is_called THEN last_value + \(ServerTables.keysAtOnce - 1) ELSE 0 END"
        return try connection.execute("SELECT \(raw: given) FROM \(raw: ServerTables.sequence(address))").integer(0, 0)
      }
    }
  }

  func skipKeys(through key: Int64, of storedEntity: StoredEntity) throws {
    try onTables("Reserving keys in \(address.description)") {
      let sequence = ServerTables.sequence(address)
      try database.write {
        _ = try $0.execute(
          """
          SELECT setval(\(raw: sequence.quotedText), greatest(\(bind: .integer(key)) + 1, last_value)) \
          FROM \(raw: sequence)
          """)
      }
    }
  }
}
