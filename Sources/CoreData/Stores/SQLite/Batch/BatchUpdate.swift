/// One UPDATE of all rows of an entity that match.
struct BatchUpdate {
  private let store: SQLiteStore
  private let request: NSBatchUpdateRequest
  private let mapping: TableMapping
  private let writer: RowWriter
  private let targets: BatchUpdateTargets

  /// The new value of one property.
  private enum Assignment {
    /// The value of the step's slot in `constants`.
    case constant(position: Int)
    case expression(AttributeColumn, SQL)
    /// Each row gets a file of its own for a large value, which goes with the row.
    case external(column: String, Data)
    /// The columns of a relationship, with the values for them.
    case columns([(name: String, value: SQLiteValue)])
  }

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
    let constants = Snapshot.make(mapping.entity.layout)
    let assignments = try wanted.map { key, value in try assignment(of: value, to: key, constants) }
    let (restriction, bindings) = try condition()
    for case .expression(let attribute, let sql) in assignments where attribute.type.integerRange != nil {
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
    for assignment in assignments { bind(assignment, constants, statement, &index) }
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
    _ assignments: [Assignment], _ condition: String, _ bindings: [SQLiteValue], _ connection: SQLiteConnection
  ) throws {
    let columns = Set(assignments.flatMap(columns)).intersection(writer.externalColumns)
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

  private func columns(_ assignment: Assignment) -> [String] {
    switch assignment {
    case .constant(let position): writer.columns[position]
    case .expression(let attribute, _): [attribute.column]
    case .external(let column, _): [column]
    case .columns(let columns): columns.map(\.name)
    }
  }

  /// The attributes of an assignment, for errors.
  private func names(_ assignment: Assignment) -> String {
    let columns = columns(assignment)
    return mapping.attributes.filter { columns.contains($0.value.column) }.keys.joined(separator: ", ")
  }

  // MARK: Values

  private func assignment(of value: Any, to key: AnyHashable, _ constants: Snapshot) throws -> Assignment {
    if let element = targets.element(key) { return try assignment(of: value, to: element) }
    let property = try targets.property(key)
    if let relationship = property as? NSRelationshipDescription {
      return .columns(
        try targets.columns(value, relationship).map { ($0.name, $0.value.map { .integer($0) } ?? .null) })
    }
    guard let slot = mapping.entity.layout.slot(property.name),
      let position = writer.steps.firstIndex(where: { $0.slot == slot })
    else { throw targets.failure("\(mapping.name).\(property.name) is not stored, or is computed by the store.") }
    if let expression = value as? NSExpression, expression.expressionType != .constantValue {
      return try assignment(of: expression, to: property)
    }
    let constant = BatchUpdateTargets.constant(value)
    if constant is NSNull {
      try targets.checkOptional(property, property.name)
    } else if !constants.assignConverted(constant, slot: slot) {
      throw targets.failure(
        "\(mapping.name).\(property.name) holds \(mapping.entity.layout.slots[slot].attributeType.valueDescription), "
          + "and was given a \(type(of: constant)).")
    } else {
      try (property as? NSAttributeDescription)?.checkWidth(constant, "\(mapping.name).\(property.name)")
    }
    if writer.steps[position].external, let value = constants.load(slot, as: Data.self) {
      return .external(column: writer.columns[position][0], value)
    }
    return .constant(position: position)
  }

  private func assignment(of value: Any, to element: CompositeColumns.Leaf) throws -> Assignment {
    let name = "\(mapping.name).\(element.column.name)"
    let expression = value as? NSExpression ?? NSExpression(forConstantValue: value)
    guard expression.expressionType == .constantValue, let constant = expression.constantValue, !(constant is NSNull)
    else {
      if expression.expressionType == .constantValue {
        try targets.checkOptional(element.attribute, element.column.name)
      }
      guard expression.expressionType == .constantValue || !element.attribute.allowsExternalBinaryDataStorage else {
        throw targets.failure(
          "\(name) may be stored in files, which SQL cannot compute: give the batch update a constant.")
      }
      return try assignment(of: expression, to: element.column)
    }
    guard let converted = AttributeValue.converted(constant, element.attribute) else {
      throw targets.failure(
        "\(name) holds \(element.column.type.valueDescription), and was given a \(type(of: constant)).")
    }
    try element.attribute.checkWidth(converted, name)
    if element.attribute.allowsExternalBinaryDataStorage, let value = converted as? Data {
      return .external(column: element.column.column, value)
    }
    return try assignment(of: NSExpression(forConstantValue: converted), to: element.column)
  }

  private func assignment(of expression: NSExpression, to property: NSPropertyDescription) throws -> Assignment {
    guard let attribute = mapping.attributes[property.name] else {
      throw targets.failure("\(mapping.name).\(property.name) is not stored, or not in one column.")
    }
    guard !writer.externalColumns.contains(attribute.column) else {
      throw targets.failure(
        "\(mapping.name).\(property.name) may be stored in files, which SQL cannot compute: give the batch update a constant."
      )
    }
    return try assignment(of: expression, to: attribute)
  }

  private func assignment(of expression: NSExpression, to attribute: AttributeColumn) throws -> Assignment {
    let sql = try targets.sql(of: expression, for: attribute).sql
    let isInteger = SQLType(attribute.type) == .integer && attribute.type != .booleanAttributeType
    return .expression(attribute, isInteger ? "CAST(\(sql) AS INTEGER)" : sql)
  }

  // MARK: SQL

  private func text(_ assignment: Assignment) -> String {
    switch assignment {
    case .constant(let position): writer.columns[position].map { "\($0) = ?" }.joined(separator: ", ")
    case .expression(let attribute, let sql): "\(attribute.column) = \(sql.text)"
    case .external(let column, _): "\(column) = \(Self.storedExternally)(?)"
    case .columns(let columns): columns.map { "\($0.name) = ?" }.joined(separator: ", ")
    }
  }

  private func bind(_ assignment: Assignment, _ constants: Snapshot, _ statement: SQLiteStatement, _ index: inout Int32)
  {
    let values: [SQLiteValue]
    switch assignment {
    case .constant(let position):
      index = writer.bind(writer.steps[position], of: constants, to: statement, at: index) { $0 }
      return
    case .expression(_, let sql): values = sql.values
    case .external(_, let value): values = [.blob(value)]
    case .columns(let columns): values = columns.map(\.value)
    }
    for value in values {
      statement.bind(value, at: index)
      index += 1
    }
    if statement.hasRefusedValue { statement.nameRefusedValue("\(mapping.name).\(names(assignment))") }
  }
}
