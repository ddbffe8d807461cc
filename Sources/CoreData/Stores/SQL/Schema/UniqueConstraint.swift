/// Columns of one table whose values together are unique. NULL differs from every value, even from NULL.
package struct UniqueConstraint: Hashable {
  let names: [String]
  package let columns: [String]
}

extension StoreSchema {
  /// The constraints on rows of the entity. An index covers the whole table, so constraints that any entity of the
  /// hierarchy declares count, if the entity has their columns.
  ///
  /// Used where a violation has to be named: SQLite's error says which index refused a row, and not which row has the
  /// values already. `ViolationFinder` looks for it with these columns.
  package func uniqueConstraints(of mapping: TableMapping) -> [UniqueConstraint] {
    var constraints: [UniqueConstraint] = []
    for other in entities where other.rootNumber == mapping.rootNumber {
      for names in other.entity.uniquenessConstraints.map(other.entity.names(of:)) {
        let constraint = UniqueConstraint(names: names, columns: other.columns(of: names))
        guard !names.isEmpty, constraint.columns.count == names.count,
          mapping.columns(of: names) == constraint.columns, !constraints.contains(constraint)
        else { continue }
        constraints.append(constraint)
      }
    }
    return constraints
  }
}
