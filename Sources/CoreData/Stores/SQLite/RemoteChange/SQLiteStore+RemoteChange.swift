/// The commits to the store's file.
extension SQLiteStore {
  func observeCommits(_ body: @escaping @Sendable (Int64?) -> Void) throws -> @Sendable () -> Void {
    try database.observeCommits { [schema, keepsHistory] connection in
      // The notice comes without a number: who wants the history reads it then, and gets the error.
      body(keepsHistory ? (try? HistoryReader.lastNumber(schema, connection)) ?? nil : nil)
    }
  }
}
