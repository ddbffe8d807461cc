extension SQLiteStore {
  /// Finds the rows behind a save's rejected rows, with these statements for a unique title.
  ///
  /// ```text
  /// SELECT ?1, ?2                                         'Kindred', as SQLite would store it
  /// SELECT Z_PK, Z_ENT FROM ZBOOK WHERE ZTITLE = ?        the row that has it
  /// SELECT t.Z_PK, t.Z_OPT, … FROM ZBOOK t WHERE t.Z_PK = ? AND t.Z_ENT = 2
  /// ```
  func violations(of rejected: [RowChanges.Place], in changes: RowChanges) throws -> [ConstraintViolation] {
    try CoreDataErrors.translating("Looking for rows with the same unique values") {
      // On the writer, so that this coordinator's last commits are seen.
      try database.withWriter { connection in
        try ViolationFinder(changes, in: UniqueSQLiteRows(store: self, connection: connection)).violations(of: rejected)
      }
    }
  }
}

/// Values are compared as SQLite stores them.
///
/// A title is compared as SQLite compares it: `SELECT ?1, ?2` gives a bound value back in its storage class. A REAL
/// without a fraction becomes an integer, as it does in a column of numbers, so that 5.0 and 5 are the same unique
/// value here too.
private struct UniqueSQLiteRows: SQLUniqueRows {
  let store: SQLiteStore
  let connection: SQLiteConnection

  func integers(_ sql: SQL) throws -> [[Int64]] { try connection.integers(sql) }

  func row(_ id: NSManagedObjectID) throws -> Snapshot? { try store.row(id, connection) }

  func values(
    of constraint: TableConstraint, in row: Snapshot, resolving resolve: (RelatedKey) -> RelatedKey?
  ) throws -> [SQLiteValue]? {
    let mapping = store.mapping(row.layout.name)
    let writer = store.writer(mapping.number)
    var values: [SQLiteValue] = []
    for name in constraint.constraint.names {
      let path = name.components(separatedBy: ".")
      guard let slot = row.layout.slot(path[0]), let step = writer.steps.first(where: { $0.slot == slot }) else {
        return nil
      }
      // SQLite converts the values as it would store them. A to-one relationship may bind its entity too.
      let statement = try connection.statement("SELECT ?1, ?2")
      defer { statement.reset() }
      var cells = StatementCells(statement, at: 1)
      if let leaf = mapping.composites[path[0]]?.leaves.first(where: { $0.column.name == name }) {
        cells.value(row.element(at: name), of: leaf.attribute)
      } else {
        writer.write(step, of: row, to: &cells, resolving: resolve)
      }
      guard try statement.step() else { return nil }
      switch statement.value(0) {
      case .null: return nil
      case .real(let real) where Int64(exactly: real) != nil: values.append(.integer(Int64(real)))
      case let value: values.append(value)
      }
    }
    return values
  }
}
