/// One UPDATE of all rows of an entity that match.
struct BatchUpdate {
  private let store: SQLiteStore
  private let request: NSBatchUpdateRequest
  private let mapping: TableMapping
  private let writer: RowWriter
  private let targets: BatchUpdateTargets

  init(_ store: SQLiteStore, _ entityName: String, _ request: NSBatchUpdateRequest) {
    self.store = store
    self.request = request
    mapping = store.mapping(entityName)
    writer = store.writer(mapping.number)
    targets = BatchUpdateTargets(store: store, mapping: mapping)
  }

  func run(_ connection: SQLiteConnection, _ recorder: HistoryRecorder?) throws -> BatchResult {
    let wanted = request.propertiesToUpdate ?? [:]
    let names = try targets.names(wanted.keys)
    let assignments = try targets.assignments(wanted, externalColumns: writer.externalColumns)
    let (restriction, bindings) = try condition()
    for case .expression(let expression, _, let attribute) in assignments.map(\.value)
    where attribute.type.integerRange != nil {
      let sql = computed(expression, attribute)
      let results = "SELECT \(sql.text) AS result FROM \(mapping.table) AS t0\(restriction)"
      let extremes = try connection.statement("SELECT min(result), max(result) FROM (\(results))")
      defer { extremes.reset() }
      for (index, value) in (sql.values + bindings).enumerated() { extremes.bind(value, at: Int32(index + 1)) }
      if try extremes.step(), !extremes.isNull(0) {
        try targets.checkWidth([extremes.integer(0), extremes.integer(1)], attribute)
      }
    }
    try replaceFiles(assignments, restriction, bindings, connection)
    let needsRows = recorder != nil || request.resultType == .updatedObjectIDsResultType
    let sql = """
      UPDATE \(mapping.table) AS t0 SET \(assignments.map(text).joined(separator: ", ")), Z_OPT = \("Z_OPT".nextVersion)\
      \(restriction)\(needsRows ? " RETURNING Z_PK, Z_ENT" : "")
      """
    let statement = try connection.statement(sql)
    defer { statement.reset() }
    var index: Int32 = 1
    for assignment in assignments { bind(assignment, statement, &index) }
    for value in bindings {
      statement.bind(value, at: index)
      index += 1
    }
    var result = BatchResult()
    do {
      while try statement.step() {
        let (key, number) = (statement.integer(0), Int(statement.integer(1)))
        if let id = store.objectID(number: number, key: key) { result.ids.append(id) }
        result.count += 1
        try recorder?.noteUpdate(number: number, key: key, changed: names)
      }
    } catch let error as SQLiteError where error.isViolatedUniqueIndex {
      throw CoreDataErrors.constraintError(error, mapping)
    }
    if !needsRows { result.count = connection.changes }
    return result
  }

  /// The WHERE clause with its values. A predicate that needs other tables finds the keys first.
  private func condition() throws -> (String, [SQLiteValue]) {
    guard let fetch = targets.rows(of: request) else { return (targets.restriction(of: request).text, []) }
    let sql = try store.select("t0.Z_PK", fetch, isOrdered: fetch.limit > 0)
    return (" WHERE t0.Z_PK IN (\(sql.text))", sql.values)
  }

  // MARK: External data

  /// The SQL function that gives what a row stores for an external value.
  private static let storedExternally = "cd_store_external"

  /// Notes the files whose values the update replaces, and lets its statement write others.
  private func replaceFiles(
    _ assignments: [BatchAssignment], _ condition: String, _ bindings: [SQLiteValue], _ connection: SQLiteConnection
  ) throws {
    let columns = Set(assignments.map(\.column)).intersection(writer.externalColumns)
    guard !columns.isEmpty else { return }
    for column in columns {
      store.externalFiles?.replaced += try writer.files(in: column, where: condition, bindings, connection)
    }
    connection.register(
      SQLFunction(name: Self.storedExternally, argumentCount: 1, isDeterministic: false) { [writer] arguments in
        guard case .blob(let value) = arguments[0] else { return .null }
        return .blob(writer.external(value))
      })
  }

  // MARK: SQL

  private func text(_ assignment: BatchAssignment) -> String {
    let value: String
    switch assignment.value {
    case .expression(let sql, _, let attribute): value = computed(sql, attribute).text
    case .constant(.some, _) where writer.externalColumns.contains(assignment.column):
      value = "\(Self.storedExternally)(?)"
    case .constant, .key: value = "?"
    }
    return "\(assignment.column) = \(value)"
  }

  private func computed(_ sql: SQL, _ attribute: AttributeColumn) -> SQL {
    let isInteger = SQLType(attribute.type) == .integer && attribute.type != .booleanAttributeType
    return isInteger ? "CAST(\(sql) AS INTEGER)" : sql
  }

  private func bind(_ assignment: BatchAssignment, _ statement: SQLiteStatement, _ index: inout Int32) {
    switch assignment.value {
    case .expression(let sql, _, _):
      for value in sql.values {
        statement.bind(value, at: index)
        index += 1
      }
      return
    // The function gives each row a file of its own for a large value, which goes with the row.
    case .constant(let value as Data, _) where writer.externalColumns.contains(assignment.column):
      statement.bind(value, at: index)
    case .constant(let value, let attribute): StoredValue.bind(value, attribute, statement, index)
    case .key(let key?): statement.bind(key, at: index)
    case .key(nil): statement.bindNull(at: index)
    }
    index += 1
    if statement.hasRefusedValue { statement.nameRefusedValue(mapping.name, assignment.name) }
  }
}
