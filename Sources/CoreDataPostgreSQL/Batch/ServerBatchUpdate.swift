/// One UPDATE of all rows of an entity that match.
struct ServerBatchUpdate {
  private let store: ServerStore
  private let request: NSBatchUpdateRequest
  private let mapping: TableMapping
  private let targets: BatchUpdateTargets

  /// A column's new value, with question marks for the parameters.
  private struct Assignment {
    let column: String
    let value: String
    let values: [Value]
    /// The attribute if the server computes the value, which may not fit the attribute's type.
    var narrow: AttributeColumn?

    var text: String { "\(column) = \(value)" }
  }

  private enum Value {
    case plain(SQLiteValue)
    /// In the server's form; nil for NULL.
    case encoded([UInt8]?, ServerType)
  }

  init(_ store: ServerStore, _ entityName: String, _ request: NSBatchUpdateRequest) {
    self.store = store
    self.request = request
    mapping = store.mapping(entityName)
    targets = BatchUpdateTargets(store: store, mapping: mapping)
  }

  /// The fetch that finds the rows; nil for all rows of the entity.
  var rows: RowFetch? { targets.rows(of: request) }

  /// - Parameter fetch: `rows`, as the server can evaluate them.
  func run(_ connection: any ServerConnection, _ history: ServerHistoryNotes?, _ fetch: RowFetch?) throws -> BatchResult
  {
    let wanted = request.propertiesToUpdate ?? [:]
    let names = try targets.names(wanted.keys)
    let assignments = try targets.assignments(wanted).map(assignment)
    let own = mapping.names
    let condition = try condition(fetch)
    for assignment in assignments {
      guard let attribute = assignment.narrow else { continue }
      var parameters = ServerParameters()
      for value in assignment.values + condition.values.map(Value.plain) { add(value, to: &parameters) }
      let results = "SELECT (\(assignment.value))::bigint AS result FROM \(mapping.table) AS t0\(condition.text)"
      let extremes = try connection.execute(
        ServerStatement.numbered("SELECT min(result), max(result) FROM (\(results)) AS updated", from: 1), parameters)
      if extremes.bytes(0, 0) != nil {
        try targets.checkWidth([extremes.integer(0, 0), extremes.integer(0, 1)], attribute)
      }
    }
    let needsRows = history != nil || request.resultType == .updatedObjectIDsResultType
    let sql = """
      UPDATE \(mapping.table) AS t0 SET \(assignments.map(\.text).joined(separator: ", ")), \
      \(own.version) = \("t0.\(own.version)".nextVersion)\(condition.text)\
      \(needsRows ? " RETURNING t0.\(own.key), t0.\(own.entity)" : "")
      """
    var parameters = ServerParameters()
    for value in assignments.flatMap(\.values) + condition.values.map(Value.plain) { add(value, to: &parameters) }
    let rows = try connection.execute(ServerStatement.numbered(sql, from: 1), parameters)
    var result = BatchResult()
    result.count = rows.affectedRows
    guard needsRows else { return result }
    for row in 0..<rows.rowCount {
      let (key, number) = (rows.integer(row, 0), Int(rows.integer(row, 1)))
      if let id = store.objectID(number: number, key: key) { result.ids.append(id) }
      history?.noteUpdate(number: number, key: key, changed: names)
    }
    return result
  }

  private func add(_ value: Value, to parameters: inout ServerParameters) {
    switch value {
    case .plain(.null): parameters.addNull(.text)
    case .plain(.integer(let value)): parameters.add(value)
    case .plain(.real(let value)): parameters.add(value)
    case .plain(.text(let value)): parameters.add(value)
    case .plain(.blob(let value)): parameters.add(value)
    case .encoded(let bytes?, let type): parameters.add(bytes, type)
    case .encoded(nil, let type): parameters.addNull(type)
    }
  }

  /// The WHERE clause with its values. A predicate that needs other tables finds the keys first.
  private func condition(_ fetch: RowFetch?) throws -> SQL {
    guard let fetch else { return targets.restriction(of: request) }
    let isLimited = fetch.limit > 0
    let key = mapping.names.key
    let keys = try store.select("t0.\(key)", fetch, isOrdered: isLimited)
    guard isLimited else { return " WHERE t0.\(raw: key) IN (\(keys))" }
    let lock = request.skipsLockedRows ? " FOR UPDATE OF t0 SKIP LOCKED" : " FOR UPDATE OF t0"
    // As an array the rows are found once. As a subquery they might be found again for each row, and be too many.
    return " WHERE t0.\(raw: key) = ANY(ARRAY(\(keys)\(raw: lock)))"
  }

  // MARK: Values

  private func assignment(_ assignment: BatchAssignment) throws -> Assignment {
    var bytes: [UInt8] = []
    switch assignment.value {
    case .expression(let sql, let type, let attribute):
      return Assignment(
        column: assignment.column, value: Self.text(sql, type, attribute), values: sql.values.map(Value.plain),
        narrow: attribute.type.integerRange == nil ? nil : attribute)
    case .constant(let value, let attribute):
      let hasValue = try ServerValue.append(value, attribute, to: &bytes)
      let type = ServerType(attribute) ?? .text
      return Assignment(column: assignment.column, value: "?", values: [.encoded(hasValue ? bytes : nil, type)])
    case .key(let key):
      if let key { bytes.append(bigEndian: key) }
      return Assignment(column: assignment.column, value: "?", values: [.encoded(key == nil ? nil : bytes, .int8)])
    }
  }

  private static func text(_ sql: SQL, _ type: SQLType, _ attribute: AttributeColumn) -> String {
    if attribute.type == .booleanAttributeType { return "(\(sql.text)) <> 0" }
    return SQLType(attribute.type) == .integer && type != .integer ? "trunc(\(sql.text))::bigint" : sql.text
  }
}
