/// The rows of a database among which violated constraints are looked for.
package protocol SQLUniqueRows: UniqueRows where Constraint == TableConstraint {
  associatedtype Store: SQLStore
  var store: Store { get }
}

/// A uniqueness constraint on the rows of one table.
package struct TableConstraint: Hashable {
  package let table: String
  package let constraint: UniqueConstraint
}

extension SQLUniqueRows {
  package func constraints(_ layout: EntityLayout) -> [TableConstraint] {
    let mapping = store.mapping(layout.name)
    return store.schema.uniqueConstraints(of: mapping).map { TableConstraint(table: mapping.table, constraint: $0) }
  }

  package func names(_ constraint: TableConstraint) -> [String] { constraint.constraint.names }
}
