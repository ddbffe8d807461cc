/// The rows of a database among which violated constraints are looked for.
protocol SQLUniqueRows: UniqueRows where Constraint == TableConstraint {
  associatedtype Store: SQLStore
  var store: Store { get }
}

/// A uniqueness constraint on the rows of one table.
struct TableConstraint: Hashable {
  let table: String
  let constraint: UniqueConstraint
}

extension SQLUniqueRows {
  func constraints(_ layout: EntityLayout) -> [TableConstraint] {
    let mapping = store.mapping(layout.name)
    return store.schema.uniqueConstraints(of: mapping).map { TableConstraint(table: mapping.table, constraint: $0) }
  }

  func names(_ constraint: TableConstraint) -> [String] { constraint.constraint.names }
}
