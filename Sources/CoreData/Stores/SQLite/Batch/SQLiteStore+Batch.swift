/// Batch requests: many rows in one transaction, without objects.
extension SQLiteStore {
  var takesBatchRequests: Bool { true }

  func insert(_ rows: BatchRows, by origin: ChangeOrigin) throws -> BatchResult {
    try batch("Inserting rows of \(rows.entityName)", origin) { connection, recorder in
      try BatchInsertion(self, rows, connection, recorder).run()
    }
  }

  func update(_ request: NSBatchUpdateRequest, of entity: String, by origin: ChangeOrigin) throws -> BatchResult {
    try batch("Updating rows of \(request.entityName)", origin) { connection, recorder in
      try BatchUpdate(self, entity, request).run(connection, recorder)
    }
  }

  func delete(_ fetch: RowFetch, by origin: ChangeOrigin) throws -> BatchResult {
    var files: [URL] = []
    let rows = try batch("Deleting rows of \(fetch.entityName)", origin) { connection, recorder in
      let transaction = SQLiteBatchTransaction(self, connection, recorder)
      let rows = try BatchDeletion(transaction).run(fetch)
      files = transaction.externalFiles
      return rows
    }
    // Only now is it certain that no row needs them. A file that stays does no harm.
    for file in files { try? FileManager.default.removeItem(at: file) }
    return rows
  }

  /// Runs a batch in one transaction, which the store's history records. All rows read before become unknown, here and,
  /// through the file's version, in other coordinators.
  private func batch(
    _ doing: String, _ origin: ChangeOrigin, _ body: (SQLiteConnection, HistoryRecorder?) throws -> BatchResult
  ) throws -> BatchResult {
    try CoreDataErrors.translating("\(doing) in \(database.configuration.path)") {
      try database.withWriter { _ in
        let result = try database.write { connection in
          let recorder = HistoryRecorder(self, origin, connection)
          let result = try body(connection, recorder)
          try recorder?.finish()
          return result
        }
        rowCache.supersede()
        return result
      }
    }
  }
}
