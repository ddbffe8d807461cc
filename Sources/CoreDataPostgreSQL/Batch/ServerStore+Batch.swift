/// Batch requests: many rows in one transaction, without objects.
extension ServerStore {
  func insert(_ rows: BatchRows, by origin: ChangeOrigin) throws -> BatchResult {
    try batch("Inserting rows of", entity: rows.entityName, by: origin) {
      try ServerBatchInsertion(rows, in: $0).run()
    }
  }

  func update(_ request: NSBatchUpdateRequest, of entity: String, by origin: ChangeOrigin) throws -> BatchResult {
    let names = request.propertiesToUpdate.map { properties in
      Set(properties.keys.compactMap { $0 as? String ?? ($0 as? NSPropertyDescription)?.name })
    }
    return try batch("Updating rows of", entity: entity, changing: names, by: origin, mayRepeat: true) { transaction in
      let update = BatchUpdate(transaction, entity, request)
      return try update.run(
        update.rows.map { try evaluated($0, transaction.connection, skipsLocked: request.skipsLockedRows) })
    }
  }

  func delete(_ fetch: RowFetch, by origin: ChangeOrigin) throws -> BatchResult {
    var hasTable = false
    // The end of a session that has had a temporary table is a commit. It waits for the standby, and nothing
    // interrupts that: a server that has lost its standby could not shut down.
    defer { if hasTable { database.closeWriter() } }
    return try batch("Deleting rows of", entity: fetch.entityName, by: origin, mayRepeat: true) { transaction in
      let deletion = BatchDeletion(transaction)
      hasTable = deletion.needsTable(fetch)
      return try deletion.run(evaluated(fetch, transaction.connection))
    }
  }

  /// Runs a batch in one transaction, which the store's history records. All rows read before become unknown, here and,
  /// through the server's snapshots, in other coordinators.
  ///
  /// - Parameters:
  ///   - names: the properties that are changed; nil for all.
  ///   - mayRepeat: whether the body does the same when it runs again.
  private func batch(
    _ doing: String, entity: String, changing names: Set<String>? = nil, by origin: ChangeOrigin,
    mayRepeat: Bool = false,
    _ body: (ServerBatchTransaction) throws -> BatchResult
  ) throws -> BatchResult {
    try database.withWriter {
      var result = BatchResult()
      func run() throws {
        result = try onTables("\(doing) \(entity) in \(address.description)") {
          do {
            return try database.write { connection in
              let history = keepsHistory ? ServerHistoryNotes(self, origin) : nil
              prepare(connection)
              let result = try body(ServerBatchTransaction(store: self, connection: connection, history: history))
              try history?.write(connection)
              return result
            }
          } catch let error as ServerError where error.isBeyondLimit {
            // Only its own transaction has failed: others can still be asked about the indexes.
            throw try OversizedIndexRow(error, of: self).value(inBatchOf: entity, changing: names)
          }
        }
      }
      if mayRepeat { try database.repeating { try run() } } else { try run() }
      rowCache.removeAll()
      return result
    }
  }
}
