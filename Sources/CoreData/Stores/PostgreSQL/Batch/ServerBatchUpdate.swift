/// One UPDATE of all rows of an entity that match.
struct ServerBatchUpdate {
  private let store: ServerStore
  private let request: NSBatchUpdateRequest
  private let mapping: TableMapping
  private let writer: ServerRowWriter

  /// A column's new value: `column = text`, with question marks for the parameters.
  private struct Assignment {
    let text: String
    let values: [Value]
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
    writer = store.writer(mapping.number)
  }

  func run(_ connection: any ServerConnection, _ history: ServerHistoryNotes?) throws -> BatchResult {
    let wanted = request.propertiesToUpdate ?? [:]
    guard !wanted.isEmpty else {
      throw failure("The batch update of \(mapping.name) names no property.")
    }
    let assignments = try wanted.flatMap { try self.assignments(of: $1, to: $0) }
    let names = try wanted.keys.map { key in
      try element(key).map { $0.column.name.components(separatedBy: ".")[0] } ?? property(key).name
    }
    let own = mapping.names
    let condition = try condition()
    let needsRows = history != nil || request.resultType == .updatedObjectIDsResultType
    let sql = """
      UPDATE \(mapping.table) AS t0 SET \(assignments.map(\.text).joined(separator: ", ")), \
      \(own.version) = t0.\(own.version) + 1\(condition.text)\
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
      if let changed = store.schema.entitiesByNumber[number] { history?.noteUpdate(changed, key, names) }
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
  private func condition() throws -> SQL {
    let fetch = RowFetch(
      entityName: mapping.name, includesSubentities: request.includesSubentities, predicate: request.predicate,
      sortDescriptors: request.order, limit: request.limit)
    let isLimited = request.limit > 0
    guard request.predicate != nil || isLimited else {
      let generator = store.generator(for: mapping.name)
      let restriction = generator.entityRestriction(includesSubentities: request.includesSubentities)
      return SQL(raw: restriction.map { " WHERE \($0)" } ?? "")
    }
    let key = mapping.names.key
    let keys = try store.select("t0.\(key)", fetch, isOrdered: isLimited)
    guard isLimited else { return " WHERE t0.\(raw: key) IN (\(keys))" }
    let lock = request.skipsLockedRows ? " FOR UPDATE OF t0 SKIP LOCKED" : " FOR UPDATE OF t0"
    // As an array the rows are found once. As a subquery they might be found again for each row, and be too many.
    return " WHERE t0.\(raw: key) = ANY(ARRAY(\(keys)\(raw: lock)))"
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

  private func assignments(of value: Any, to key: AnyHashable) throws -> [Assignment] {
    if let element = element(key) { return [try assignment(of: value, to: element.column, element.attribute)] }
    let property = try property(key)
    if let relationship = property as? NSRelationshipDescription { return try assignments(of: value, to: relationship) }
    guard let attribute = property as? NSAttributeDescription, !attribute.isTransient,
      !(attribute is NSDerivedAttributeDescription)
    else { throw failure("\(mapping.name).\(property.name) is not stored, or is computed by the store.") }
    if let column = mapping.attributes[attribute.name] { return [try assignment(of: value, to: column, attribute)] }
    guard let composite = attribute as? NSCompositeAttributeDescription,
      let leaves = mapping.composites[attribute.name]?.leaves
    else { throw failure("\(mapping.name).\(property.name) is not stored.") }
    let constant = (value as? NSExpression).map { $0.constantValue ?? NSNull() } ?? value
    guard constant is NSNull || CompositeValue.converted(constant, composite) != nil else {
      throw failure("\(mapping.name).\(attribute.name) was given a value that it cannot hold.")
    }
    let elements = CompositeValue.converted(constant, composite) ?? [:]
    return try leaves.map { leaf in try encoded(leaf.value(in: elements), leaf.column, leaf.attribute) }
  }

  private func assignment(
    of value: Any, to column: AttributeColumn, _ attribute: NSAttributeDescription
  ) throws -> Assignment {
    if let expression = value as? NSExpression, expression.expressionType != .constantValue {
      return try assignment(of: expression, to: column)
    }
    let constant = (value as? NSExpression).map { $0.constantValue ?? NSNull() } ?? value
    if constant is NSNull {
      guard attribute.isOptional else {
        throw CoreDataErrors.error(
          .validationMissingMandatoryProperty, "\(mapping.name).\(column.name) needs a value.",
          [NSValidationKeyErrorKey: column.name])
      }
      return try encoded(nil, column, attribute)
    }
    guard let converted = AttributeValue.converted(constant, attribute) else {
      throw failure(
        "\(mapping.name).\(column.name) holds \(column.type.valueDescription), and was given a "
          + "\(type(of: constant)).")
    }
    return try encoded(converted, column, attribute)
  }

  private func encoded(
    _ value: Any?, _ column: AttributeColumn, _ attribute: NSAttributeDescription
  ) throws -> Assignment {
    var bytes: [UInt8] = []
    let hasValue = try ServerValue.append(value, attribute, to: &bytes)
    let type = ServerType(column.type) ?? .text
    return Assignment(text: "\(column.column) = ?", values: [.encoded(hasValue ? bytes : nil, type)])
  }

  private func assignment(of expression: NSExpression, to column: AttributeColumn) throws -> Assignment {
    let generator = store.generator(for: mapping.name)
    let wanted = SQLType(column.type)
    let (sql, type): (SQL, SQLType) = try SQLGenerationError.translated {
      switch try generator.operand(expression, SQLEnvironment(root: generator.root)) {
      case .scalar(let sql, let type) where type.isComparable(with: wanted) && wanted != .opaque: return (sql, type)
      case .constant(.null): return ("NULL", wanted)
      case .constant(let constant):
        if let value = generator.bound(constant, comparedWith: wanted) {
          return (generator.dialect.parameter(value, wanted), wanted)
        }
        throw SQLGenerationError.unsupportedExpression(expression.printed)
      default: throw SQLGenerationError.unsupportedExpression(expression.printed)
      }
    }
    guard generator.joins.isEmpty else {
      throw failure(
        "The value of \(mapping.name).\(column.name) is \(expression.printed), which needs other rows than the updated "
          + "one.")
    }
    let text: String
    if column.type == .booleanAttributeType {
      text = "(\(sql.text)) <> 0"
    } else if wanted == .integer, type != .integer {
      text = "trunc(\(sql.text))::bigint"
    } else {
      text = sql.text
    }
    return Assignment(text: "\(column.column) = \(text)", values: sql.values.map(Value.plain))
  }

  private func assignments(of value: Any, to relationship: NSRelationshipDescription) throws -> [Assignment] {
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
    func set(_ column: String, _ number: Int64?) -> Assignment {
      var bytes: [UInt8] = []
      if let number { bytes.append(bigEndian: number) }
      return Assignment(text: "\(column) = ?", values: [.encoded(number == nil ? nil : bytes, .int8)])
    }
    return [set(toOne.column, id?.key)]
      + (toOne.entityColumn.map { [set($0, id.map { Int64($0.storedEntity.number) })] } ?? [])
      // Its position in an ordered inverse was one among other members.
      + (toOne.orderColumn.map { [set($0, nil)] } ?? [])
  }

  private func failure(_ message: String) -> NSError { CoreDataErrors.error(.persistentStoreOperation, message) }
}
