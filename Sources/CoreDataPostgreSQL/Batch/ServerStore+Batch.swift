/// Batch requests: many rows in one transaction, without objects.
///
/// ```text
/// NSBatchInsertRequest    COPY … FROM STDIN, or INSERT … ON CONFLICT DO NOTHING   ServerBatchInsertion
/// NSBatchUpdateRequest    UPDATE … WHERE …                                        BatchUpdate of CoreData
/// NSBatchDeleteRequest    a table of doomed keys, then DELETE …                   BatchDeletion of CoreData
/// ```
///
/// All of them raise `_version` of the rows that they change, so a context that has read such a row gets a merge
/// conflict when it saves. They validate nothing, except mandatory values and the width of integers.
///
/// Afterwards the row cache is empty: which rows were changed is not known here without RETURNING.
extension ServerStore {
  /// Inserts rows. Not repeated after a deadlock: the caller's closure cannot give the rows again.
  func insert(_ rows: BatchRows, by origin: ChangeOrigin) throws -> BatchResult {
    try batch("Inserting rows of", entity: rows.entityName, by: origin) {
      try ServerBatchInsertion(rows, in: $0).run()
    }
  }

  /// Updates the rows of a predicate.
  ///
  /// ```text
  /// UPDATE "app"."Book" AS t0 SET "isRead" = $1, _version = t0._version % 9223372036854775807 + 1
  /// WHERE t0._key = ANY(ARRAY(SELECT t0._key FROM "app"."Book" t0 WHERE (t0."pages" < $2) FOR NO KEY UPDATE OF t0))
  /// RETURNING _key, _entity
  /// ```
  ///
  /// RETURNING is there for a history, or for a request that wants the IDs.
  ///
  /// With a limit and `skipsLockedRows` it is a *claim*: of several sessions each gets other rows, and none waits. The
  /// pool claims jobs in this way; here two sessions take two books each that have no reader yet:
  ///
  /// ```text
  /// session 1                                        session 2
  /// BEGIN, the number of the transaction             BEGIN, the number of the transaction
  /// UPDATE "app"."Book" AS t0 SET "reader" = $1,
  /// _version = t0._version % 9223372036854775807 + 1
  /// WHERE t0._key = ANY(ARRAY(SELECT t0._key
  /// FROM "app"."Book" t0 WHERE (t0."reader" IS NULL)
  /// ORDER BY t0."pages" DESC NULLS LAST LIMIT 2
  /// FOR NO KEY UPDATE OF t0 SKIP LOCKED))
  /// RETURNING _key, _entity
  ///     books 2 and 3, locked
  ///                                                  the same UPDATE
  ///                                                      passes over 2 and 3, takes 5 and 8
  /// COMMIT                                           COMMIT
  /// ```
  ///
  /// Two round trips: BEGIN, the number and the UPDATE together, and COMMIT; a store with a history takes one more
  /// between them. If session 1 dies before its COMMIT, the server takes its update back, and the books are free. The
  /// subquery is an ARRAY, so that it runs once; its order decides which rows are taken, and an index in this order
  /// makes the claim independent of the number of rows. Source: the page "SELECT", "The Locking Clause".
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

  /// Deletes the rows of a predicate, and all that delete rules take along.
  ///
  /// ```text
  /// CREATE TEMP TABLE IF NOT EXISTS cd_doomed (root INTEGER, key BIGINT, entity INTEGER, round INTEGER, …)
  /// DELETE FROM cd_doomed
  /// INSERT INTO cd_doomed … SELECT 2, t0._key, t0._entity, 0 FROM "app"."Book" t0 WHERE (t0."pages" < $1)
  ///     FOR NO KEY UPDATE OF t0
  /// SELECT DISTINCT entity FROM cd_doomed WHERE round = 0 ORDER BY entity      and so on, along the Cascade rules
  /// SELECT entity, key FROM cd_doomed ORDER BY round, root, key
  /// DELETE FROM "app"."Book" WHERE _key IN (SELECT key FROM cd_doomed WHERE root = 2 AND entity = 2)
  /// DELETE FROM cd_doomed
  /// ```
  ///
  /// An entity without relationships needs neither the table nor the right TEMPORARY in the database.
  func delete(_ fetch: RowFetch, by origin: ChangeOrigin) throws -> BatchResult {
    var hasTable = false
    // A session that has had a temporary table commits when it ends, and that commit waits for a synchronous standby
    // without an interruption. If it stayed open, a server that has lost its standby could not shut down.
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
  /// The history is written last, in a round trip of its own, since the row of `_store` that it locks makes all other
  /// saves with history wait until the COMMIT.
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
