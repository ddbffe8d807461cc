/// Reading and deleting the store's history.
extension SQLiteStore {
  var keepsHistory: Bool { history != nil }

  func lastTransactionNumber() throws -> Int64? {
    try keepsHistory ? database.read { try HistoryReader.lastNumber(schema, $0) } : nil
  }

  /// Reads the transactions after a place, and throws if some of them are gone.
  ///
  /// ```text
  /// Reading after the token 3                     Deleting history
  /// --------------------------------------------  --------------------------------------------
  /// BEGIN
  /// is anything after 3 missing? no
  ///                                               DELETE … before 6; COMMIT
  /// reads 4, 5, 6: the state of BEGIN
  /// COMMIT
  /// ```
  ///
  /// Without the transaction the check could pass before the deletion and the reading come after it: 4 and 5 would be
  /// missing without an error.
  func history(_ query: HistoryQuery) throws -> [NSPersistentHistoryTransaction] {
    guard let history else { return [] }
    let reader = HistoryReader(
      store: self, history: history, includesChanges: query.includesChanges, changesAreAlone: query.changesAreAlone)
    return try CoreDataErrors.translating("Reading the history of \(url?.path ?? "")") {
      try database.read { connection in
        // In one snapshot, so that the check and the read see the same state.
        try connection.execute("BEGIN")
        defer { try? connection.execute("COMMIT") }
        try query.checkNothingIsMissing(in: identifier) { try reader.bounds(connection) }
        return try reader.transactions(where: reader.condition(after: query.place), connection)
      }
    }
  }

  /// Deletes transactions with their changes.
  ///
  /// ```text
  /// DELETE FROM ACHANGE WHERE ZTRANSACTIONID IN (SELECT Z_PK FROM ATRANSACTION WHERE ZTIMESTAMP < ?)
  /// DELETE FROM ATRANSACTION WHERE ZTIMESTAMP < ?
  /// ```
  ///
  /// Z_MAX stays, so numbers are not given twice, and an old token is recognised as too old.
  func deleteHistory(before place: NSPersistentHistoryChangeRequest.Place) throws -> Int {
    guard let tables = history?.tables else { return 0 }
    let condition: SQL =
      switch place {
      case .date(let date): "ZTIMESTAMP < \(bind: .real(date.timeIntervalSinceReferenceDate))"
      case .token(let token): "Z_PK < \(bind: .integer(token?.numbers[identifier] ?? 0))"
      }
    let doomed: SQL = "FROM \(raw: tables.transactions) WHERE \(condition)"
    return try CoreDataErrors.translating("Deleting history of \(url?.path ?? "")") {
      try database.write { connection in
        try connection.run("DELETE FROM \(raw: tables.changes) WHERE ZTRANSACTIONID IN (SELECT Z_PK \(doomed))")
        return try connection.run("DELETE \(doomed)")
      }
    }
  }
}
