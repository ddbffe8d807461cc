/// A column's new value in a batch update.
package struct BatchAssignment {
  package enum Value {
    /// A value of an attribute; nil for NULL.
    case constant(Any?, NSAttributeDescription)
    /// What an expression gives, whose type need not be the column's.
    case expression(SQL, SQLType, AttributeColumn)
    /// The key or the entity of a related row, or its position; nil for NULL.
    case key(Int64?)
  }

  package let column: String
  /// The property or the element of a composite one, for errors.
  package let name: String
  package let value: Value
}

/// What a batch update of an entity may set, and to which values, in any SQL database.
///
/// Errors name the entity, the property and the reason: 134070, or 1570 for a mandatory property without a value.
///
/// ```text
/// key                    value                              assignment
/// ---------------------  ---------------------------------  ------------------------------------------
/// "isRead"               true                               ZISREAD = 1
/// "pages"                NSExpression "pages + 1"           ZPAGES = an expression over the row itself
/// "author"               an NSManagedObjectID, or NSNull    ZAUTHOR = its key
/// "address"              a dictionary                       a column for each element
/// "address.city"         "Bath"                             ZADDRESS_CITY = 'Bath'
/// "books"                anything                           134070: a to-many relationship
/// "author.name"          anything                           134070: another object's attribute
/// ```
package struct BatchUpdateTargets {
  private let store: any SQLStore
  private let mapping: TableMapping

  package init(store: any SQLStore, mapping: TableMapping) {
    self.store = store
    self.mapping = mapping
  }

  // MARK: Names

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
    return mapping.composites[name.components(separatedBy: ".")[0]]?.leaves.first {
      $0.column.name == name
    }
  }

  /// The names of the properties that a request changes, for the history.
  package func names(_ keys: some Collection<AnyHashable>) throws -> [String] {
    guard !keys.isEmpty else {
      throw failure("The batch update of \(mapping.name) names no property.")
    }
    return try keys.map { key in
      try element(key).map { $0.column.name.components(separatedBy: ".")[0] } ?? property(key).name
    }
  }

  // MARK: Rows

  /// The fetch that finds the request's rows; nil for all rows of the entity.
  package func rows(of request: NSBatchUpdateRequest) -> RowFetch? {
    guard request.predicate != nil || request.limit > 0 else { return nil }
    return RowFetch(
      entityName: mapping.name, includesSubentities: request.includesSubentities,
      predicate: request.predicate,
      sortDescriptors: request.order, limit: request.limit)
  }

  /// The WHERE clause for all rows of the entity.
  package func restriction(of request: NSBatchUpdateRequest) -> SQL {
    let generator = store.generator(for: mapping.name)
    let restriction = generator.entityRestriction(includesSubentities: request.includesSubentities)
    return SQL(raw: restriction.map { " WHERE \($0)" } ?? "")
  }

  // MARK: Values

  /// A constant, which may be in an expression.
  private static func constant(_ value: Any) -> Any {
    (value as? NSExpression).map { $0.constantValue ?? NSNull() } ?? value
  }

  /// The new values of columns.
  ///
  /// - Parameter externalColumns: the columns whose values may be in files, which no expression can compute.
  package func assignments(_ values: [AnyHashable: Any], externalColumns: [String] = []) throws -> [BatchAssignment] {
    try values.flatMap { key, value in
      if let element = element(key) {
        return try assignments(of: value, to: element.attribute, element.column.name, externalColumns)
      }
      let property = try property(key)
      if let relationship = property as? NSRelationshipDescription {
        return try columns(value, relationship).map { column, key in
          BatchAssignment(column: column, name: relationship.name, value: .key(key))
        }
      }
      guard let attribute = property as? NSAttributeDescription else {
        throw failure("\(mapping.name).\(property.name) is not stored.")
      }
      return try assignments(of: value, to: attribute, attribute.name, externalColumns)
    }
  }

  /// - Parameter path: the name of the attribute, or the key path of an element of a composite one.
  private func assignments(
    of value: Any, to attribute: NSAttributeDescription, _ path: String, _ externalColumns: [String]
  ) throws -> [BatchAssignment] {
    let name = "\(mapping.name).\(path)"
    let leaves = mapping.composites[path]?.leaves ?? []
    let column = mapping.attributes[path]
    guard column != nil || !leaves.isEmpty, !(attribute is NSDerivedAttributeDescription) else {
      throw failure("\(name) is not stored, or is computed by the store.")
    }
    if let expression = value as? NSExpression, expression.expressionType != .constantValue {
      guard let column else { throw failure("\(name) is not in one column.") }
      guard !externalColumns.contains(column.column) else {
        throw failure("\(name) may be stored in files, which SQL cannot compute: give the batch update a constant.")
      }
      let (sql, type) = try sql(of: expression, for: column)
      return [BatchAssignment(column: column.column, name: path, value: .expression(sql, type, column))]
    }
    let constant = Self.constant(value)
    var converted: Any?
    if constant is NSNull {
      try checkOptional(attribute, path)
    } else {
      converted = AttributeValue.converted(constant, attribute)
      guard let converted else {
        throw failure(
          "\(name) holds \(attribute.attributeType.valueDescription), and was given a \(type(of: constant)).")
      }
      try attribute.checkWidth(converted, name)
    }
    if let column {
      return [BatchAssignment(column: column.column, name: path, value: .constant(converted, attribute))]
    }
    let elements = converted as? [String: Any] ?? [:]
    return leaves.map { leaf in
      BatchAssignment(
        column: leaf.column.column, name: leaf.column.name, value: .constant(leaf.value(in: elements), leaf.attribute))
    }
  }

  /// Fails for no value of a property that needs one.
  private func checkOptional(_ property: NSPropertyDescription, _ name: String) throws {
    if property.isOptional { return }
    throw CoreDataErrors.error(
      .validationMissingMandatoryProperty, "\(mapping.name).\(name) needs a value.",
      [NSValidationKeyErrorKey: name])
  }

  /// Fails for results of an expression that do not fit the attribute's type.
  package func checkWidth(_ results: [Int64], _ attribute: AttributeColumn) throws {
    for result in results {
      guard let code = attribute.type.widthError(result) else { continue }
      throw CoreDataErrors.error(
        code, "\(mapping.name).\(attribute.name): a row's new value: \(attribute.type.widthExplanation(code)).",
        [NSValidationKeyErrorKey: attribute.name])
    }
  }

  /// An expression over a row's own values, for a column.
  ///
  /// `pages + author.books.@count` would need a join, which UPDATE has not in both databases alike: 134070. The
  /// predicate may cross relationships; the new value may not.
  private func sql(of expression: NSExpression, for column: AttributeColumn) throws -> (
    sql: SQL, type: SQLType
  ) {
    let generator = store.generator(for: mapping.name)
    let columnType = SQLType(column.type)
    let operand: (SQL, SQLType) = try SQLGenerationError.translated {
      switch try generator.operand(expression, SQLEnvironment(root: generator.root)) {
      case .scalar(let sql, let type) where type.isComparable(with: columnType) && columnType != .opaque:
        return (sql, type)
      case .constant(.null): return ("NULL", columnType)
      case .constant(let constant):
        if let value = generator.bound(constant, comparedWith: columnType) {
          return (generator.dialect.parameter(value, columnType), columnType)
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
    return operand
  }

  /// The columns of a to-one relationship and the numbers for them; nil for NULL.
  ///
  /// For `Author.favourite`, with an ID of the novel 7: `(ZFAVOURITE, 7)` and `(Z2_FAVOURITE, 3)`. With `NSNull` both
  /// are NULL.
  ///
  /// One-to-one relationships are refused: the row at the other end, and the one that it pointed at before, would have
  /// to change too, in rows that the request does not name.
  private func columns(_ value: Any, _ relationship: NSRelationshipDescription) throws -> [(
    name: String, value: Int64?
  )] {
    let name = "\(mapping.name).\(relationship.name)"
    guard let toOne = mapping.toOnes[relationship.name] else {
      throw failure("A batch update sets attributes and to-one relationships; \(name) is neither.")
    }
    // Its other end is in a row that this update does not change.
    if relationship.inverseRelationship.map({ !$0.isToMany }) ?? false {
      throw failure("A batch update cannot set \(name), which is a relationship of one to one.")
    }
    let constant = Self.constant(value)
    let id: NSManagedObjectID?
    switch constant {
    case is NSNull: id = nil
    case let given as NSManagedObjectID: id = given
    default: throw failure("\(name) holds an object ID, and was given a \(type(of: constant)).")
    }
    if let id {
      let destination = store.schema.entitiesByName[toOne.destinationEntityName]
      guard id.storedEntity.collection === store.storedEntities,
        destination?.numbersIncludingSubentities.contains(id.storedEntity.number) ?? false
      else { throw failure("\(name) cannot refer to \(id.uriString).") }
    } else {
      try checkOptional(relationship, relationship.name)
    }
    var columns = [(toOne.column, id?.key)]
    if let column = toOne.entityColumn {
      columns.append((column, id.map { Int64($0.storedEntity.number) }))
    }
    // Its position in an ordered inverse was one among other members.
    if let column = toOne.orderColumn { columns.append((column, nil)) }
    return columns
  }

  /// 134070, for example "A batch update sets attributes and to-one relationships; Author.books is neither."
  private func failure(_ message: String) -> NSError {
    CoreDataErrors.error(.persistentStoreOperation, message)
  }
}
