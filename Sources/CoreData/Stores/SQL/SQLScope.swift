/// A row from which key paths start: the fetched row, or a member of a to-many relationship in a subquery.
///
/// Steps through to-one relationships become joins, one for each path however often it is used.
///
/// ```text
/// author.name == "Le Guin" AND author.name != title        one join:    t1
/// ANY books.author.name == "x"                              a scope of its own in the subquery:
///     EXISTS (SELECT 1 FROM ZBOOK t1 LEFT JOIN ZAUTHOR t2 ON t2.Z_PK = t1.ZAUTHOR
///             WHERE t1.ZAUTHOR = t0.Z_PK AND (t2.ZNAME = ?))
/// ```
///
/// The joins of a subquery are its own: they belong behind its FROM, not behind that of the statement.
final class SQLScope {
  let alias: String
  let mapping: TableMapping
  /// In the order in which they were needed: a later one may refer to the alias of an earlier one.
  private(set) var joins: [SQL] = []
  /// The rows at the ends of this row's to-one relationships, by name.
  private var joined: [String: SQLScope] = [:]
  /// The scope that opened the FROM clause, to whose `joins` steps are added.
  private unowned let root: SQLScope?

  init(alias: String, mapping: TableMapping, root: SQLScope? = nil) {
    self.alias = alias
    self.mapping = mapping
    self.root = root
  }

  var key: SQL { column(mapping.names.key) }
  var entityNumber: SQL { column(mapping.names.entity) }

  /// Whether the row may be missing, because a to-one relationship led here.
  var isOptional: Bool { root != nil }

  func column(_ name: String) -> SQL { "\(raw: alias).\(raw: name)" }

  /// The row at the end of a to-one relationship; all its columns are NULL if there is none.
  func step(_ relationship: ToOneColumn, to destination: TableMapping, alias makeAlias: () -> String) -> SQLScope {
    if let scope = joined[relationship.name] { return scope }
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
