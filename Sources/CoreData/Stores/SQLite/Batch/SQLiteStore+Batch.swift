/// Batch requests: many rows in one transaction, without objects.
extension SQLiteStore {
  func insert(_ rows: BatchRows, by origin: ChangeOrigin) throws -> BatchResult {
    try batch("Inserting rows of \(rows.entityName)", origin) { try SQLiteBatchInsertion(rows, in: $0).run() }
  }

  /// One statement may write every page of the table and of its indexes, so the page cache grows first: with 2 MB,
  /// pages of an index in random order would go to the log and come back many times.
  func update(_ request: NSBatchUpdateRequest, of entity: String, by origin: ChangeOrigin) throws -> BatchResult {
    try batch("Updating rows of \(request.entityName)", origin) { transaction in
      transaction.connection.growCacheForFile()
      let update = BatchUpdate(transaction, entity, request)
      do {
        return try update.run(update.rows)
      } catch let error as SQLiteError where error.isViolatedUniqueIndex {
        throw CoreDataErrors.constraintError(error, mapping(entity))
      }
    }
  }

  func delete(_ fetch: RowFetch, by origin: ChangeOrigin) throws -> BatchResult {
    try batch("Deleting rows of \(fetch.entityName)", origin) { transaction in
      transaction.connection.growCacheForFile()
      return try BatchDeletion(transaction).run(fetch)
    }
  }

  /// Runs a batch in one transaction, which the store's history records. All rows read before become unknown, here and,
  /// through the file's version, in other coordinators.
  ///
  /// The cache's rows are superseded, not only dropped: contexts may have objects with the old rows, and a later save
  /// of theirs has to find out that these changed.
  private func batch(
    _ doing: String, _ origin: ChangeOrigin, _ body: (SQLiteBatchTransaction) throws -> BatchResult
  ) throws -> BatchResult {
    try CoreDataErrors.translating("\(doing) in \(database.configuration.path)") {
      try database.withWriter { _ in
        let before = externalFiles?.replaced ?? []
        do {
          let result = try writeRows { connection in
            let recorder = HistoryRecorder(self, origin, connection)
            let result = try body(SQLiteBatchTransaction(store: self, connection: connection, history: recorder))
            try recorder?.finish()
            try externalFiles?.keepWritten()
            return result
          }
          removeReplacedFiles()
          rowCache.supersede()
          return result
        } catch {
          externalFiles?.removeWritten()
          externalFiles?.replaced = before
          throw error
        }
      }
    }
  }
}
