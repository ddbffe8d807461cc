/// Reading and deleting the store's history.
extension SQLiteStore {
  var keepsHistory: Bool { history != nil }

  func lastTransactionNumber() throws -> Int64? {
    try keepsHistory ? database.read { try HistoryReader.lastNumber(schema, $0) } : nil
  }

  func history(_ query: HistoryQuery) throws -> [NSPersistentHistoryTransaction] {
    guard let history else { return [] }
    let reader = HistoryReader(
      store: self, history: history, includesChanges: query.includesChanges, changesAreAlone: query.changesAreAlone)
    return try CoreDataErrors.translating("Reading the history of \(url?.path ?? "")") {
      try database.read { connection in
        // In one snapshot, so that the check and the read see the same state.
        try connection.execute("BEGIN")
        defer { try? connection.execute("COMMIT") }
        if case .token(let token?) = query.place, let number = token.numbers[identifier] {
          try reader.checkNothingIsMissing(after: number, connection)
        }
        return try reader.transactions(where: reader.condition(after: query.place), connection)
      }
    }
  }

  func deleteHistory(before place: NSPersistentHistoryChangeRequest.Place) throws -> Int {
    guard let tables = history?.tables else { return 0 }
    let condition: (sql: String, values: [SQLiteValue]) =
      switch place {
      case .date(let date): ("ZTIMESTAMP < ?", [.real(date.timeIntervalSinceReferenceDate)])
      case .token(let token): ("Z_PK < ?", [.integer(token?.numbers[identifier] ?? 0)])
      }
    return try CoreDataErrors.translating("Deleting history of \(url?.path ?? "")") {
      try database.write { connection in
        let doomed = "SELECT Z_PK FROM \(tables.transactions) WHERE \(condition.sql)"
        try connection.execute("DELETE FROM \(tables.changes) WHERE ZTRANSACTIONID IN (\(doomed))", condition.values)
        try connection.execute("DELETE FROM \(tables.transactions) WHERE \(condition.sql)", condition.values)
        return connection.changes
      }
    }
  }
}
