/// Deletes the rows that a fetch finds, and all rows that delete rules take along, in SQL.
///
/// A temporary table first collects the keys of the doomed rows, round by round along the Cascade rules. Then Deny
/// rules are checked, references from remaining rows are cleared, and the rows deleted.
final class BatchDeletion {
  private let store: SQLiteStore
  private let connection: SQLiteConnection
  private let recorder: HistoryRecorder?
  /// Files of deleted rows, to be removed after the transaction is committed.
  private(set) var externalFiles: [URL] = []

  init(_ store: SQLiteStore, _ connection: SQLiteConnection, _ recorder: HistoryRecorder?) {
    self.store = store
    self.recorder = recorder
    self.connection = connection
  }

  func run(_ fetch: RowFetch) throws -> BatchResult {
    try connection.execute(
      """
      CREATE TEMP TABLE IF NOT EXISTS cd_doomed \
      (root INTEGER, pk INTEGER, ent INTEGER, round INTEGER, PRIMARY KEY (root, pk)) WITHOUT ROWID
      """)
    try connection.execute("DELETE FROM temp.cd_doomed")
    let root = store.mapping(fetch.entityName).rootNumber
    let (sql, bindings) = try store.select(
      "\(root), t0.Z_PK, t0.Z_ENT, 0", fetch, isOrdered: fetch.limit > 0 || fetch.offset > 0)
    try connection.execute("INSERT INTO temp.cd_doomed (root, pk, ent, round) \(sql)", bindings)
    try cascade()
    for mapping in try doomedMappings() {
      try checkDenyRules(of: mapping)
      try clearReferences(to: mapping)
      try noteExternalFiles(of: mapping)
    }
    let result = try result()
    try deleteRows()
    try connection.execute("DELETE FROM temp.cd_doomed")
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
          try connection.execute(
            """
            INSERT OR IGNORE INTO temp.cd_doomed (root, pk, ent, round) \
            SELECT \(related.destination.rootNumber), d.Z_PK, d.Z_ENT, \(round + 1) \(related.source)
            """, [])
          found += connection.changes
        }
      }
      if found == 0 { return }
      round += 1
    }
  }

  /// The entities of doomed rows, in all rounds or in one.
  private func doomedMappings(round: Int? = nil) throws -> [TableMapping] {
    let condition = round.map { " WHERE round = \($0)" } ?? ""
    return try connection.rows("SELECT DISTINCT ent FROM temp.cd_doomed\(condition) ORDER BY ent").compactMap { row in
      guard case .integer(let number) = row[0] else { return nil }
      return store.schema.entitiesByNumber[Int(number)]
    }
  }

  private func relationships(of mapping: TableMapping, _ rule: NSDeleteRule) -> [NSRelationshipDescription] {
    mapping.entity.relationshipsByName.values.filter { $0.deleteRule == rule }.sorted { $0.name < $1.name }
  }

  /// The keys of the entity's doomed rows.
  private func doomed(_ mapping: TableMapping, round: Int? = nil) -> String {
    let condition = round.map { " AND round = \($0)" } ?? ""
    return "SELECT pk FROM temp.cd_doomed WHERE root = \(mapping.rootNumber) AND ent = \(mapping.number)\(condition)"
  }

  /// The keys of all doomed rows of the entity's table.
  private func doomedInTable(of mapping: TableMapping) -> String {
    "SELECT pk FROM temp.cd_doomed WHERE root = \(mapping.rootNumber)"
  }

  /// `FROM … WHERE …` of the rows, as `d`, to which a relationship of doomed rows leads; nil if it is not stored.
  private func related(
    _ relationship: NSRelationshipDescription, of mapping: TableMapping, round: Int? = nil
  ) -> (source: String, destination: TableMapping)? {
    let owners = doomed(mapping, round: round)
    func destination(_ name: String) -> TableMapping? { store.schema.entitiesByName[name] }
    if let toOne = mapping.toOnes[relationship.name], let destination = destination(toOne.destinationEntityName) {
      let keys = "SELECT t.\(toOne.column) FROM \(mapping.table) t WHERE t.Z_PK IN (\(owners))"
      return ("FROM \(destination.table) d WHERE d.Z_PK IN (\(keys))", destination)
    }
    switch mapping.toManys[relationship.name] {
    case .foreignKey(let name, let table, let inverse):
      guard let destination = destination(name) else { return nil }
      return ("FROM \(table) d WHERE d.\(inverse.column) IN (\(owners))", destination)
    case .join(let name, let table, let ownerColumn, let destinationColumn, _):
      guard let destination = destination(name) else { return nil }
      let keys = "SELECT j.\(destinationColumn) FROM \(table) j WHERE j.\(ownerColumn) IN (\(owners))"
      return ("FROM \(destination.table) d WHERE d.Z_PK IN (\(keys))", destination)
    case nil: return nil
    }
  }

  // MARK: Remaining rows

  private func checkDenyRules(of mapping: TableMapping) throws {
    for relationship in relationships(of: mapping, .denyDeleteRule) {
      guard let related = related(relationship, of: mapping) else { continue }
      let staying = "\(related.source) AND d.Z_PK NOT IN (\(doomedInTable(of: related.destination)))"
      if try connection.integer("SELECT 1 \(staying) LIMIT 1") != nil {
        throw CoreDataErrors.error(
          .validationRelationshipDeniedDelete,
          "\(mapping.name).\(relationship.name) denies the deletion: there are rows of \(related.destination.name) at "
            + "its other end.", [NSValidationKeyErrorKey: relationship.name])
      }
    }
  }

  private func clearReferences(to mapping: TableMapping) throws {
    for relationship in mapping.entity.relationshipsByName.values.sorted(by: { $0.name < $1.name }) {
      if case .join(_, let table, let ownerColumn, _, _) = mapping.toManys[relationship.name] {
        try connection.execute("DELETE FROM \(table) WHERE \(ownerColumn) IN (\(doomed(mapping)))", [])
        continue
      }
      guard relationship.deleteRule != .noActionDeleteRule, let inverse = relationship.inverseRelationship,
        let destination = store.schema.entitiesByName[relationship.destinationEntity?.name ?? ""],
        let toOne = destination.toOnes[inverse.name]
      else { continue }
      let staying =
        "WHERE \(toOne.column) IN (\(doomed(mapping))) AND Z_PK NOT IN (\(doomedInTable(of: destination)))"
      if !inverse.isOptional, try connection.integer("SELECT 1 FROM \(destination.table) \(staying) LIMIT 1") != nil {
        throw CoreDataErrors.error(
          .validationMissingMandatoryProperty,
          "\(destination.name).\(inverse.name) needs a value, and leads to rows of \(mapping.name) that would be "
            + "deleted.",
          [NSValidationKeyErrorKey: inverse.name])
      }
      let columns = [toOne.column, toOne.entityColumn, toOne.orderColumn].compactMap { $0 }
      let rows = try connection.rows(
        """
        UPDATE \(destination.table) SET \(columns.map { "\($0) = NULL" }.joined(separator: ", ")), Z_OPT = Z_OPT + 1 \
        \(staying) RETURNING Z_PK, Z_ENT
        """)
      for row in rows {
        guard let recorder, case .integer(let key) = row[0], case .integer(let number) = row[1] else { continue }
        try recorder.noteUpdate(number: Int(number), key: key, changed: [inverse.name])
      }
    }
  }

  // MARK: The end

  private func noteExternalFiles(of mapping: TableMapping) throws {
    for attribute in mapping.entity.attributesByName.values where attribute.allowsExternalBinaryDataStorage {
      guard let column = mapping.attributes[attribute.name]?.column else { continue }
      let rows = try connection.rows(
        "SELECT \(column) FROM \(mapping.table) WHERE Z_PK IN (\(doomed(mapping))) AND substr(\(column), 1, 1) = x'02'")
      for case .blob(let stored) in rows.map({ $0[0] }) {
        if let file = ExternalData.file(stored, of: store.url) { externalFiles.append(file) }
      }
    }
  }

  private func result() throws -> BatchResult {
    var result = BatchResult()
    let statement = try connection.statement("SELECT ent, pk FROM temp.cd_doomed ORDER BY round, root, pk")
    defer { statement.reset() }
    while try statement.step() {
      let (number, key) = (Int(statement.integer(0)), statement.integer(1))
      result.count += 1
      if let id = store.objectID(number: number, key: key) { result.ids.append(id) }
      try recorder?.noteDelete(number: number, key: key)
    }
    return result
  }

  private func deleteRows() throws {
    for table in store.schema.tables {
      try connection.execute(
        "DELETE FROM \(table.name) WHERE Z_PK IN (SELECT pk FROM temp.cd_doomed WHERE root = \(table.rootNumber))", [])
    }
  }
}
