/// The rows of a database among which violated constraints are looked for.
package protocol SQLUniqueRows: UniqueRows where Constraint == TableConstraint, Value == SQLiteValue {
  associatedtype Store: SQLStore
  var store: Store { get }

  /// The rows of a statement whose columns are keys and numbers.
  func integers(_ sql: SQL) throws -> [[Int64]]
}

/// A uniqueness constraint on the rows of one table.
package struct TableConstraint: Hashable {
  package let table: String
  package let constraint: UniqueConstraint
}

extension SQLUniqueRows {
  /// With the table's name, because rows of two tables may have constraints over columns of the same names.
  package func constraints(_ layout: EntityLayout) -> [TableConstraint] {
    let mapping = store.mapping(layout.name)
    return store.schema.uniqueConstraints(of: mapping).map { TableConstraint(table: mapping.table, constraint: $0) }
  }

  /// The row that has the values of a constraint now.
  ///
  /// ```text
  /// SELECT Z_PK, Z_ENT FROM ZBOOK WHERE ZTITLE = ?
  /// ```
  ///
  /// It runs after the rejected save was rolled back, so another process may have taken the row away meanwhile: nil
  /// then.
  package func id(with values: [SQLiteValue], _ constraint: TableConstraint) throws -> NSManagedObjectID? {
    let ownColumns = store.schema.ownColumns
    let terms: [SQL] = zip(constraint.constraint.columns, values).map { "\(raw: $0) = \(bind: $1)" }
    let matchingRows = try integers(
      """
      SELECT \(raw: ownColumns.key), \(raw: ownColumns.entity) FROM \(raw: constraint.table) \
      WHERE \(terms.joined(" AND "))
      """)
    return matchingRows.first.flatMap { store.objectID(number: Int($0[1]), key: $0[0]) }
  }

  package func names(_ constraint: TableConstraint) -> [String] { constraint.constraint.names }
}
