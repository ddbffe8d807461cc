/// One UPDATE of all rows of an entity that match.
struct BatchUpdate {
  private let store: SQLiteStore
  private let request: NSBatchUpdateRequest
  private let mapping: TableMapping
  private let writer: RowWriter

  /// The new value of one property.
  private enum Assignment {
    /// The value of the step's slot in `constants`.
    case constant(position: Int)
    case expression(column: String, SQL)
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
  }

  func run(_ connection: SQLiteConnection, _ recorder: HistoryRecorder?) throws -> BatchResult {
    let constants = Snapshot.make(mapping.entity.layout)
    let assignments = try (request.propertiesToUpdate ?? [:]).map { key, value in
      try assignment(of: value, to: key, constants)
    }
    guard !assignments.isEmpty else {
      throw CoreDataErrors.error(.persistentStoreOperation, "The batch update of \(mapping.name) names no property.")
    }
    let (restriction, bindings) = try condition()
    try replaceFiles(assignments, restriction, bindings, connection)
    let needsRows = recorder != nil || request.resultType == .updatedObjectIDsResultType
    let names = try (request.propertiesToUpdate ?? [:]).keys.map { key in
      try element(key).map { $0.column.name.components(separatedBy: ".")[0] } ?? property(key).name
    }
    let sql = """
      UPDATE \(mapping.table) AS t0 SET \(assignments.map(text).joined(separator: ", ")), Z_OPT = Z_OPT + 1\
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
    let fetch = RowFetch(
      entityName: mapping.name, includesSubentities: request.includesSubentities, predicate: request.predicate)
    guard request.predicate != nil else {
      let generator = store.generator(for: mapping.name)
      let restriction = generator.entityRestriction(includesSubentities: request.includesSubentities)
      return (restriction.map { " WHERE \($0)" } ?? "", [])
    }
    let sql = try store.select("t0.Z_PK", fetch, isOrdered: false)
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
      store.obsoleteFiles += try writer.files(in: column, where: condition, bindings, connection)
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
    case .expression(let column, _), .external(let column, _): [column]
    case .columns(let columns): columns.map(\.name)
    }
  }

  // MARK: Values

  private func property(_ key: AnyHashable) throws -> NSPropertyDescription {
    let name = key.base as? String ?? (key.base as? NSPropertyDescription)?.name
    guard let name, let property = mapping.entity.propertiesByName[name] else {
      throw failure("The entity \(mapping.name) has no property \"\(name ?? "\(key.base)")\".")
    }
    return property
  }

  /// The element of a composite attribute for a key such as "address.city".
  private func element(_ key: AnyHashable) -> CompositeColumns.Leaf? {
    guard let name = key.base as? String, name.contains(".") else { return nil }
    return mapping.composites[name.components(separatedBy: ".")[0]]?.leaves.first { $0.column.name == name }
  }

  private func assignment(of value: Any, to key: AnyHashable, _ constants: Snapshot) throws -> Assignment {
    if let element = element(key) { return try assignment(of: value, to: element) }
    let property = try property(key)
    if let relationship = property as? NSRelationshipDescription { return try assignment(of: value, to: relationship) }
    guard let slot = mapping.entity.layout.slot(property.name),
      let position = writer.steps.firstIndex(where: { $0.slot == slot })
    else { throw failure("\(mapping.name).\(property.name) is not stored, or is computed by the store.") }
    if let expression = value as? NSExpression, expression.expressionType != .constantValue {
      return try assignment(of: expression, to: property)
    }
    let constant = (value as? NSExpression).map { $0.constantValue ?? NSNull() } ?? value
    if constant is NSNull {
      guard property.isOptional else {
        throw CoreDataErrors.error(
          .validationMissingMandatoryProperty, "\(mapping.name).\(property.name) needs a value.",
          [NSValidationKeyErrorKey: property.name])
      }
    } else if !constants.assignConverted(constant, slot: slot) {
      throw failure(
        "\(mapping.name).\(property.name) holds \(mapping.entity.layout.slots[slot].attributeType.valueDescription), "
          + "and was given a \(type(of: constant)).")
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
      guard expression.expressionType != .constantValue || element.attribute.isOptional else {
        throw CoreDataErrors.error(
          .validationMissingMandatoryProperty, "\(name) needs a value.",
          [NSValidationKeyErrorKey: element.column.name])
      }
      guard expression.expressionType == .constantValue || !element.attribute.allowsExternalBinaryDataStorage else {
        throw failure("\(name) may be stored in files, which SQL cannot compute: give the batch update a constant.")
      }
      return try assignment(of: expression, to: element.column)
    }
    guard let converted = AttributeValue.converted(constant, element.attribute) else {
      throw failure("\(name) holds \(element.column.type.valueDescription), and was given a \(type(of: constant)).")
    }
    if element.attribute.allowsExternalBinaryDataStorage, let value = converted as? Data {
      return .external(column: element.column.column, value)
    }
    return try assignment(of: NSExpression(forConstantValue: converted), to: element.column)
  }

  private func assignment(of expression: NSExpression, to property: NSPropertyDescription) throws -> Assignment {
    guard let attribute = mapping.attributes[property.name] else {
      throw failure("\(mapping.name).\(property.name) is not stored, or not in one column.")
    }
    guard !writer.externalColumns.contains(attribute.column) else {
      throw failure(
        "\(mapping.name).\(property.name) may be stored in files, which SQL cannot compute: give the batch update a constant."
      )
    }
    return try assignment(of: expression, to: attribute)
  }

  private func assignment(of expression: NSExpression, to attribute: AttributeColumn) throws -> Assignment {
    let generator = store.generator(for: mapping.name)
    let sql: SQL = try SQLGenerationError.translated {
      let wanted = SQLType(attribute.type)
      switch try generator.operand(expression, SQLEnvironment(root: generator.root)) {
      case .scalar(let sql, let type) where type.isComparable(with: wanted) && wanted != .opaque: return sql
      case .constant(.null): return "NULL"
      case .constant(let constant):
        if let value = wanted.bound(constant) { return "\(bind: value)" }
        throw SQLGenerationError.unsupportedExpression(expression.printed)
      default: throw SQLGenerationError.unsupportedExpression(expression.printed)
      }
    }
    guard generator.joins.isEmpty else {
      throw failure(
        "The value of \(mapping.name).\(attribute.name) is \(expression.printed), which needs other rows than the "
          + "updated one."
      )
    }
    let isInteger = SQLType(attribute.type) == .integer && attribute.type != .booleanAttributeType
    return .expression(column: attribute.column, isInteger ? "CAST(\(sql) AS INTEGER)" : sql)
  }

  private func assignment(of value: Any, to relationship: NSRelationshipDescription) throws -> Assignment {
    let name = "\(mapping.name).\(relationship.name)"
    guard let toOne = mapping.toOnes[relationship.name] else {
      throw failure("A batch update sets attributes and to-one relationships; \(name) is neither.")
    }
    // Its other end is in a row that this update does not change.
    if relationship.inverseRelationship.map({ !$0.isToMany }) ?? false {
      throw failure("A batch update cannot set \(name), which is a relationship of one to one.")
    }
    let constant = (value as? NSExpression).map { $0.constantValue ?? NSNull() } ?? value
    let id: NSManagedObjectID?
    switch constant {
    case is NSNull: id = nil
    case let given as NSManagedObjectID: id = given
    default: throw failure("\(name) holds an object ID, and was given a \(type(of: constant)).")
    }
    guard id != nil || relationship.isOptional else {
      throw CoreDataErrors.error(
        .validationMissingMandatoryProperty, "\(name) needs a value.", [NSValidationKeyErrorKey: relationship.name])
    }
    if let id {
      let destination = store.schema.entitiesByName[toOne.destinationEntityName]
      guard id.storedEntity.collection === store.storedEntities,
        destination?.numbersIncludingSubentities.contains(id.storedEntity.number) ?? false
      else { throw failure("\(name) cannot refer to \(id.uriString).") }
    }
    var columns = [(toOne.column, id.map { SQLiteValue.integer($0.key) } ?? .null)]
    if let column = toOne.entityColumn {
      columns.append((column, id.map { SQLiteValue.integer(Int64($0.storedEntity.number)) } ?? .null))
    }
    // Its position in an ordered inverse was one among other members.
    if let column = toOne.orderColumn { columns.append((column, .null)) }
    return .columns(columns)
  }

  private func failure(_ message: String) -> NSError { CoreDataErrors.error(.persistentStoreOperation, message) }

  // MARK: SQL

  private func text(_ assignment: Assignment) -> String {
    switch assignment {
    case .constant(let position): writer.columns[position].map { "\($0) = ?" }.joined(separator: ", ")
    case .expression(let column, let sql): "\(column) = \(sql.text)"
    case .external(let column, _): "\(column) = \(Self.storedExternally)(?)"
    case .columns(let columns): columns.map { "\($0.name) = ?" }.joined(separator: ", ")
    }
  }

  private func bind(
    _ assignment: Assignment, _ constants: Snapshot, _ statement: SQLiteStatement, _ index: inout Int32
  ) {
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
  }
}
