/// Fills the join tables and positions of to-many relationships from their former places.
extension StoreMigration {
  /// Both ends of a many-to-many relationship come here; the first fills the table, and the second finds its pairs
  /// there (OR IGNORE) or adds its positions to them.
  func copyRelationships() throws {
    var done: Set<String> = []
    for entity in new.entities {
      for relationship in entity.entity.relationshipsByName.values.sorted(on: { $0.name }) {
        switch entity.toManys[relationship.name] {
        case .join(_, let table, let ownerColumn, let destinationColumn, let orderColumn):
          guard let (source, was) = oldRelationship(relationship, entity),
            done.insert("\(table) \(ownerColumn)").inserted
          else { continue }
          try copyMembers(
            was, of: source, to: table, owner: ownerColumn, member: destinationColumn, order: orderColumn)
        case .foreignKey(_, let table, let inverse):
          guard let order = inverse.orderColumn, done.insert("\(table) \(order)").inserted else { continue }
          try orderMembers(table, inverse.column, order)
        case nil: continue
        }
      }
    }
  }

  /// The relationship that a new one was, by its name or its renaming identifier: `Book.authors` with the identifier
  /// "author" was `Book.author`. Nil for a new one, whose table stays empty.
  private func oldRelationship(
    _ relationship: NSRelationshipDescription, _ entity: TableMapping
  ) -> (TableMapping, NSRelationshipDescription)? {
    guard let source = source(of: entity),
      let was = mapping.byDestination[entity.name]?.relationships[relationship.name]
    else { return nil }
    return (source, was)
  }

  /// Fills a join table from the former place of the relationship. Both ends of a relationship come here and fill it
  /// once.
  ///
  /// One-to-many becomes many-to-many, with an order:
  ///
  /// ```text
  /// INSERT INTO Z_1BOOKS (Z_1AUTHORS, Z_2BOOKS, Z_FOK_2BOOKS)
  ///   SELECT o, m, coalesce(p, 1024 + 1024 * row_number() OVER (PARTITION BY o ORDER BY m))
  ///   FROM (SELECT ZAUTHOR AS o, Z_PK AS m, NULL AS p FROM cd_old_ZBOOK WHERE ZAUTHOR NOT NULL) WHERE true
  ///   ON CONFLICT (Z_1AUTHORS, Z_2BOOKS) DO UPDATE SET Z_FOK_2BOOKS = excluded.Z_FOK_2BOOKS
  /// ```
  ///
  /// `WHERE true` is needed: without it the parser takes ON for a join's (https://www.sqlite.org/lang_upsert.html,
  /// "Parsing Ambiguity").
  private func copyMembers(
    _ was: NSRelationshipDescription, of source: TableMapping, to table: String, owner: String, member: String,
    order: String?
  ) throws {
    let pairs: String
    switch source.toManys[was.name] {
    case .join(_, let old, let oldOwner, let oldMember, let oldOrder):
      pairs = "SELECT \(oldOwner) AS o, \(oldMember) AS m, \(oldOrder ?? "NULL") AS p FROM \(aside(old))"
    case .foreignKey(_, let old, let inverse):
      pairs =
        "SELECT \(inverse.column) AS o, Z_PK AS m, \(inverse.orderColumn ?? "NULL") AS p FROM \(aside(old)) "
        + "WHERE \(inverse.column) NOT NULL"
    case nil:
      guard let column = source.toOnes[was.name]?.column else { return }
      pairs = "SELECT Z_PK AS o, \(column) AS m, NULL AS p FROM \(aside(source.table)) WHERE \(column) NOT NULL"
    }
    guard let order else {
      try connection.execute("INSERT OR IGNORE INTO \(table) (\(owner), \(member)) SELECT o, m FROM (\(pairs))")
      return
    }
    // 2048 for the first and 1024 more for each, like new positions.
    let positions = "coalesce(p, 1024 + 1024 * row_number() OVER (PARTITION BY o ORDER BY m))"
    try connection.execute(
      """
      INSERT INTO \(table) (\(owner), \(member), \(order)) SELECT o, m, \(positions) FROM (\(pairs)) WHERE true \
      ON CONFLICT (\(owner), \(member)) DO UPDATE SET \(order) = excluded.\(order)
      """)
  }

  /// Gives members of an ordered relationship that have no position yet one by their keys.
  ///
  /// For a relationship that has become ordered: members get their places by key, which mostly is the order in which
  /// they were made.
  private func orderMembers(_ table: String, _ key: String, _ order: String) throws {
    try connection.execute(
      """
      UPDATE \(table) SET \(order) = n.p FROM \
      (SELECT Z_PK AS k, 1024 + 1024 * row_number() OVER (PARTITION BY \(key) ORDER BY Z_PK) AS p FROM \(table)) AS n \
      WHERE n.k = Z_PK AND \(key) NOT NULL AND \(order) IS NULL
      """)
  }
}
