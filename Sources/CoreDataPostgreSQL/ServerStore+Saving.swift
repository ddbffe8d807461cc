/// Writes the changes of a save.
///
/// The coordinator calls, in this order: `writeScope.exclusively`, which keeps other saves of the process out;
/// `writeScope.transaction`, around `write` for each store of the database; then `didCommit`. So `database.write` in
/// here joins a transaction that is open already.
extension ServerStore {
  /// Stores of one database share one scope.
  var writeScope: any WriteScope { database }

  /// Writes the rows in the open transaction. The server does not name a value that is too long for an index, so it is
  /// looked for in the rows of the writer that has failed: `OversizedIndexRow`.
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

  /// Keys for new rows before they are saved (`obtainPermanentIDs(for:)`), from reserved blocks: each block of 64 keys
  /// costs one round trip of a reader.
  func newIDs(for rows: [Snapshot]) throws -> [NSManagedObjectID] {
    try onTables("Reserving keys in \(address.description)") {
      try database.read { connection, _ in
        try ids(of: rows) { _ in try keys.take(1, connection)[0].lowerBound }
      }
    }
  }

  /// The largest key that may be in use: the end of the last block that the sequence has given.
  ///
  /// ```text
  /// SELECT CASE WHEN is_called THEN last_value + 63 ELSE 0 END FROM "app"."_keys"
  /// ```
  func lastKey(of storedEntity: StoredEntity) throws -> Int64 {
    try onTables("Reading the keys of \(address.description)") {
      try database.read { connection, _ in
        let given = "CASE WHEN is_called THEN last_value + \(ServerTables.keysAtOnce - 1) ELSE 0 END"
        return try connection.execute("SELECT \(raw: given) FROM \(raw: ServerTables.sequence(address))").integer(0, 0)
      }
    }
  }

  /// Lets the sequence go on behind a key that a copy has brought along.
  ///
  /// ```text
  /// SELECT setval('"app"."_keys"', greatest($1 + 1, last_value)) FROM "app"."_keys"
  /// ```
  ///
  /// The next block begins 64 later, so the number itself is not given. `setval` is not taken back by a ROLLBACK (page
  /// "Sequence Manipulation Functions"), which leaves a gap at most.
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
