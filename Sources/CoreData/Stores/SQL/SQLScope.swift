/// A row that key paths can start from: the row fetched, or a member of a to-many relationship inside a subquery.
///
/// To-one steps become joins beside the scope's table, one for each path however often it is used.
final class SQLScope {
  let alias: String
  let mapping: TableMapping
  private(set) var joins: [SQL] = []
  private var joined: [String: SQLScope] = [:]
  /// Whose `joins` a step from here adds to: the scope that opened the FROM clause.
  private unowned let root: SQLScope?

  init(alias: String, mapping: TableMapping, root: SQLScope? = nil) {
    self.alias = alias
    self.mapping = mapping
    self.root = root
  }

  var key: SQL { column("Z_PK") }

  /// Whether there may be no row, since a to-one relationship led here.
  var isOptional: Bool { root != nil }

  func column(_ name: String) -> SQL { "\(raw: alias).\(raw: name)" }

  /// The row that a to-one relationship leads to, NULL in every column where it leads nowhere.
  func step(_ relationship: ToOneColumn, to destination: TableMapping, alias makeAlias: () -> String) -> SQLScope {
    if let known = joined[relationship.name] { return known }
    let base = root ?? self
    let next = SQLScope(alias: makeAlias(), mapping: destination, root: base)
    base.joins.append(
      """
      LEFT JOIN \(raw: destination.table) \(raw: next.alias) ON \(next.key) = \(column(relationship.column))
      """)
    joined[relationship.name] = next
    return next
  }
}
