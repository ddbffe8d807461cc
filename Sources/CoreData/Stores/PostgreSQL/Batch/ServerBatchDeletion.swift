/// Deletes the rows that a fetch finds, and all rows that delete rules take along, at the server.
///
/// A temporary table first collects the keys of the doomed rows, round by round along the Cascade rules. Then Deny
/// rules are checked, references from remaining rows are cleared, and the rows deleted.
struct ServerBatchDeletion {
  private let store: ServerStore
  private let connection: any ServerConnection
  private let history: ServerHistoryNotes?
  private let own = ServerLayout.ownColumns
  private let doomedTable = "pg_temp.doomed"

  init(_ store: ServerStore, _ connection: any ServerConnection, _ history: ServerHistoryNotes?) {
    self.store = store
    self.connection = connection
    self.history = history
  }

  func run(_ fetch: RowFetch) throws -> BatchResult {
    try connection.run(
      """
      CREATE TEMPORARY TABLE IF NOT EXISTS doomed \
      (root integer, key bigint, entity integer, round integer, PRIMARY KEY (root, key)) ON COMMIT DELETE ROWS; \
      DELETE FROM \(doomedTable)
      """)
    let root = store.mapping(fetch.entityName).rootNumber
    let statement = try store.select(
      "\(root), t0.\(own.key), t0.\(own.entity), 0", fetch, isOrdered: fetch.limit > 0 || fetch.offset > 0)
    try connection.execute(
      "INSERT INTO \(doomedTable) (root, key, entity, round) \(statement.sql)", statement.parameters)
    try cascade()
    let mappings = try doomedMappings()
    for mapping in mappings {
      try checkDenyRules(of: mapping)
      try clearReferences(to: mapping)
    }
    let result = try result()
    for mapping in mappings { try deleteRows(of: mapping) }
    return result
  }

  // MARK: Deleted rows

  private func cascade() throws {
    var round = 0
    while true {
      var found = 0
      for mapping in try doomedMappings(round: round) {
        for relationship in relationships(of: mapping, .cascadeDeleteRule) {
          guard let related = related(relationship, of: mapping, round: round) else { continue }
          found += try connection.execute(
            """
            INSERT INTO \(doomedTable) (root, key, entity, round) \
            SELECT \(related.destination.rootNumber), d.\(own.key), d.\(own.entity), \(round + 1) \(related.source) \
            ON CONFLICT DO NOTHING
            """
          ).affectedRows
        }
      }
      if found == 0 { return }
      round += 1
    }
  }

  /// The entities of doomed rows, in all rounds or in one.
  private func doomedMappings(round: Int? = nil) throws -> [TableMapping] {
    let condition = round.map { " WHERE round = \($0)" } ?? ""
    let rows = try connection.execute("SELECT DISTINCT entity FROM \(doomedTable)\(condition) ORDER BY entity")
    return (0..<rows.rowCount).compactMap { store.schema.entitiesByNumber[Int(rows.integer($0, 0))] }
  }

  private func relationships(of mapping: TableMapping, _ rule: NSDeleteRule) -> [NSRelationshipDescription] {
    mapping.entity.relationshipsByName.values.filter { $0.deleteRule == rule }.sorted { $0.name < $1.name }
  }

  /// The keys of the entity's doomed rows.
  private func doomed(_ mapping: TableMapping, round: Int? = nil) -> String {
    let condition = round.map { " AND round = \($0)" } ?? ""
    return
      "SELECT key FROM \(doomedTable) WHERE root = \(mapping.rootNumber) AND entity = \(mapping.number)\(condition)"
  }

  /// The keys of all doomed rows of the entity's table.
  private func doomedInTable(of mapping: TableMapping) -> String {
    "SELECT key FROM \(doomedTable) WHERE root = \(mapping.rootNumber)"
  }

  /// `FROM … WHERE …` of the rows, as `d`, to which a relationship of doomed rows leads; nil if it is not stored.
  private func related(
    _ relationship: NSRelationshipDescription, of mapping: TableMapping, round: Int? = nil
  ) -> (source: String, destination: TableMapping)? {
    let owners = doomed(mapping, round: round)
    func destination(_ name: String) -> TableMapping? { store.schema.entitiesByName[name] }
    if let toOne = mapping.toOnes[relationship.name], let destination = destination(toOne.destinationEntityName) {
      let keys = "SELECT t.\(toOne.column) FROM \(mapping.table) t WHERE t.\(own.key) IN (\(owners))"
      return ("FROM \(destination.table) d WHERE d.\(own.key) IN (\(keys))", destination)
    }
    switch mapping.toManys[relationship.name] {
    case .foreignKey(let name, let table, let inverse):
      guard let destination = destination(name) else { return nil }
      return ("FROM \(table) d WHERE d.\(inverse.column) IN (\(owners))", destination)
    case .join(let name, let table, let ownerColumn, let destinationColumn, _):
      guard let destination = destination(name) else { return nil }
      let keys = "SELECT j.\(destinationColumn) FROM \(table) j WHERE j.\(ownerColumn) IN (\(owners))"
      return ("FROM \(destination.table) d WHERE d.\(own.key) IN (\(keys))", destination)
    case nil: return nil
    }
  }

  // MARK: Remaining rows

  private func checkDenyRules(of mapping: TableMapping) throws {
    for relationship in relationships(of: mapping, .denyDeleteRule) {
      guard let related = related(relationship, of: mapping) else { continue }
      let staying = "\(related.source) AND d.\(own.key) NOT IN (\(doomedInTable(of: related.destination)))"
      if try connection.execute("SELECT 1 \(staying) LIMIT 1").rowCount > 0 {
        throw CoreDataErrors.error(
          .validationRelationshipDeniedDelete,
          "\(mapping.name).\(relationship.name) denies the deletion: there are rows of \(related.destination.name) at "
            + "its other end.", [NSValidationKeyErrorKey: relationship.name])
      }
    }
  }

  /// Rows of join tables go with the rows that they refer to.
  private func clearReferences(to mapping: TableMapping) throws {
    for relationship in mapping.entity.relationshipsByName.values.sorted(by: { $0.name < $1.name }) {
      guard relationship.deleteRule != .noActionDeleteRule, let inverse = relationship.inverseRelationship,
        let destination = store.schema.entitiesByName[relationship.destinationEntity?.name ?? ""],
        let toOne = destination.toOnes[inverse.name]
      else { continue }
      let staying =
        "WHERE \(toOne.column) IN (\(doomed(mapping))) AND \(own.key) NOT IN (\(doomedInTable(of: destination)))"
      if !inverse.isOptional,
        try connection.execute("SELECT 1 FROM \(destination.table) \(staying) LIMIT 1").rowCount > 0
      {
        throw CoreDataErrors.error(
          .validationMissingMandatoryProperty,
          "\(destination.name).\(inverse.name) needs a value, and leads to rows of \(mapping.name) that would be "
            + "deleted.",
          [NSValidationKeyErrorKey: inverse.name])
      }
      let columns = [toOne.column, toOne.entityColumn, toOne.orderColumn].compactMap { $0 }
      let rows = try connection.execute(
        """
        UPDATE \(destination.table) SET \(columns.map { "\($0) = NULL" }.joined(separator: ", ")), \
        \(own.version) = \(own.version) + 1 \(staying) RETURNING \(own.key), \(own.entity)
        """)
      guard let history else { continue }
      for row in 0..<rows.rowCount {
        guard let changed = store.schema.entitiesByNumber[Int(rows.integer(row, 1))] else { continue }
        history.noteUpdate(changed, rows.integer(row, 0), [inverse.name])
      }
    }
  }

  // MARK: The end

  private func result() throws -> BatchResult {
    var result = BatchResult()
    let rows = try connection.execute("SELECT entity, key FROM \(doomedTable) ORDER BY round, root, key")
    result.count = rows.rowCount
    result.ids = (0..<rows.rowCount).compactMap {
      store.objectID(number: Int(rows.integer($0, 0)), key: rows.integer($0, 1))
    }
    return result
  }

  private func deleteRows(of mapping: TableMapping) throws {
    let preserved = history?.preserved(mapping) ?? []
    let columns = preserved.map { ", \($0.column)" }.joined()
    let returning = history == nil ? "" : " RETURNING \(own.key)\(columns)"
    let rows = try connection.execute(
      "DELETE FROM \(mapping.table) WHERE \(own.key) IN (\(doomed(mapping)))\(returning)")
    guard let history else { return }
    for row in 0..<rows.rowCount { history.noteDelete(mapping, rows.integer(row, 0), rows, row, preserved) }
  }
}
