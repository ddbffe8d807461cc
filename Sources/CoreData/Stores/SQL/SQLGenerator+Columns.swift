/// A column of a dictionary result.
///
/// One dictionary key may need several columns of the SELECT: an object its key and its entity's number, a composite a
/// column for each element. `index` is that of the first.
package struct SQLResultColumn {
  package enum Kind {
    /// A value of the attribute type.
    case value(NSAttributeType, NSAttributeDescription?)
    /// A composite attribute, from a column for each element.
    case composite([CompositeColumns.Leaf])
    /// An object: its key, and with `hasEntityColumn` its entity's number in the next column.
    case object(entityName: String, hasEntityColumn: Bool)
  }

  /// The key in the dictionary.
  package let name: String
  package let kind: Kind
  /// The index of the value in the SELECT's row, from 0.
  package let index: Int
}

extension SQLGenerator {
  /// The columns of a dictionary result, for between SELECT and FROM.
  ///
  /// ```text
  /// propertiesToFetch            SELECT                                   columns
  /// ---------------------------  ---------------------------------------  ------------------------------------------
  /// title, author.name           t0.ZTITLE, t1.ZNAME                      value at 0, value at 1
  /// author                       t0.ZAUTHOR                               object of Author at 0: becomes its ID
  /// favourite                    t0.ZFAVOURITE, t0.Z2_FAVOURITE           object at 0, its entity's number at 1
  /// address                      t0.ZADDRESS_CITY, t0.ZADDRESS_ZIP        composite at 0 and 1: becomes a dictionary
  /// total = sum:(pages)          SUM(t0.ZPAGES)                           value at 0, named "total"
  /// books                        error: it leads to many objects
  /// ```
  ///
  /// An expression's column is kept under its name in `namedColumns`: HAVING and ORDER BY may refer to it.
  ///
  /// - Parameters:
  ///   - properties: names, key paths through to-one relationships, descriptions of attributes, relationships and
  ///     expressions; nil for all stored attributes by name.
  ///   - groupedBy: the argument of `groupClause`. With grouping every other column must be an aggregate.
  package func columns(_ properties: [Any]?, groupedBy: [Any]? = nil) throws -> (
    sql: SQL, columns: [SQLResultColumn]
  ) {
    let properties = properties ?? root.mapping.attributeNames
    let groups = groupedBy.map { Set($0.compactMap(SQLGenerator.name)) }
    var parts: [SQL] = []
    var results: [SQLResultColumn] = []
    for property in properties {
      let (name, sql, kind) = try column(property, groups)
      results.append(SQLResultColumn(name: name, kind: kind, index: parts.count))
      parts += sql
    }
    return (parts.joined(", "), results)
  }

  /// The terms of GROUP BY.
  ///
  /// SQLite takes any row of the group for a column that is not grouped by (https://www.sqlite.org/lang_select.html,
  /// "Bare columns in an aggregate query"), and PostgreSQL refuses such a statement. It does not come to that:
  /// `columns` throws `notGrouped`.
  func groupClause(_ properties: [Any]) throws -> SQL {
    try properties.flatMap { property -> [SQL] in
      if let expression = property as? NSExpressionDescription, let column = namedColumns[expression.name],
        case .scalar(let sql, _) = column
      {
        return [sql]
      }
      return try column(property, nil).sql
    }.joined(", ")
  }

  private static func name(_ property: Any) -> String? {
    property as? String ?? (property as? NSPropertyDescription)?.name
  }

  /// A name, a key path or a description of a property. What an attribute's column gives is converted as the attribute
  /// says; a value at the end of a path has the attribute of the last key.
  private func column(
    _ property: Any, _ groups: Set<String>?
  ) throws -> (name: String, sql: [SQL], kind: SQLResultColumn.Kind) {
    if let expression = property as? NSExpressionDescription { return try column(expression) }
    guard let name = SQLGenerator.name(property) else {
      throw SQLGenerationError.unsupportedExpression("a column that is neither a name nor a property description")
    }
    if let groups, !groups.contains(name) { throw SQLGenerationError.notGrouped(name) }
    if let column = try column(ofComposite: name, name) { return column }
    let path = NSExpression(forKeyPath: name)
    switch try operand(path, SQLEnvironment(root: root)) {
    case .scalar(_, .entity): throw SQLGenerationError.unsupportedExpression(name)
    case .scalar(let sql, let type):
      let attribute = attribute(at: name)
      return (name, [sql], .value(attribute?.attributeType ?? type.attributeType, attribute))
    case .object(let key, let entityColumn, let mapping):
      // If the key is the row's own, the row has its entity.
      let entity = entityColumn ?? (key.text == root.key.text ? root.entityNumber : nil)
      return (
        name, [key] + (entity.map { [$0] } ?? []),
        .object(entityName: mapping.name, hasEntityColumn: entity != nil)
      )
    case .toMany: throw SQLGenerationError.toManyWithoutModifier(name)
    case .constant, .aggregate: throw SQLGenerationError.unsupportedExpression(name)
    }
  }

  /// An expression may use the names of no other columns: each is computed from the row, or from the group's rows. Its
  /// result type decides the type in the dictionary; without one it follows from the expression.
  ///
  /// ```text
  /// NSExpression(format: "sum:(pages)"), .integer64    NSNumber of an Int64
  /// NSExpression(format: "author")                     an NSManagedObjectID
  /// NSExpression(forConstantValue: "book")             a text that is the same in each row, bound as a parameter
  /// ```
  private func column(
    _ description: NSExpressionDescription
  ) throws -> (name: String, sql: [SQL], kind: SQLResultColumn.Kind) {
    guard let expression = description.expression else {
      throw SQLGenerationError.unsupportedExpression("the column \(description.name), which has no expression")
    }
    if expression.expressionType == .keyPath,
      let column = try column(ofComposite: expression.keyPath, description.name)
    {
      return column
    }
    var environment = SQLEnvironment(root: root)
    environment.isAggregating = true
    switch try operand(expression, environment) {
    case .scalar(_, .entity): throw SQLGenerationError.unsupportedExpression(expression.printed)
    case .scalar(let sql, let type):
      namedColumns[description.name] = .scalar(sql, type)
      let resultType = description.expressionResultType
      return (
        description.name, [sql], .value(resultType == .undefinedAttributeType ? type.attributeType : resultType, nil)
      )
    case .object(let key, let entityColumn, let mapping):
      let entity = entityColumn ?? (key.text == root.key.text ? root.entityNumber : nil)
      return (
        description.name, [key] + (entity.map { [$0] } ?? []),
        .object(entityName: mapping.name, hasEntityColumn: entity != nil)
      )
    case .constant(.integer(let value)): return constant(description, .integer(value), .integer64AttributeType)
    case .constant(.real(let value)): return constant(description, .real(value), .doubleAttributeType)
    case .constant(.string(let value)): return constant(description, .text(value), .stringAttributeType)
    case .toMany(let relationship): throw SQLGenerationError.toManyWithoutModifier(relationship.path)
    case .constant, .aggregate: throw SQLGenerationError.unsupportedExpression(expression.printed)
    }
  }

  private func constant(
    _ description: NSExpressionDescription, _ value: SQLiteValue, _ type: NSAttributeType
  ) -> (name: String, sql: [SQL], kind: SQLResultColumn.Kind) {
    let resultType = description.expressionResultType
    return (
      description.name, ["\(bind: value)"], .value(resultType == .undefinedAttributeType ? type : resultType, nil)
    )
  }

  /// The elements of a composite attribute; nil if the path leads to something else.
  private func column(
    ofComposite path: String, _ name: String
  ) throws -> (name: String, sql: [SQL], kind: SQLResultColumn.Kind)? {
    guard let composite = attribute(at: path) as? NSCompositeAttributeDescription else { return nil }
    var columns: [SQL] = []
    var leaves: [CompositeColumns.Leaf] = []
    for leaf in composite.leaves {
      let keyPath = ([path] + leaf.path).joined(separator: ".")
      guard case .scalar(let sql, _) = try operand(NSExpression(forKeyPath: keyPath), SQLEnvironment(root: root)) else {
        throw SQLGenerationError.unsupportedExpression(keyPath)
      }
      columns.append(sql)
      let column = AttributeColumn(name: keyPath, column: sql.text, type: leaf.attribute.attributeType)
      leaves.append(CompositeColumns.Leaf(path: leaf.path, attribute: leaf.attribute, column: column))
    }
    return (name, columns, .composite(leaves))
  }

  /// The attribute at the end of a key path.
  private func attribute(at path: String) -> NSAttributeDescription? {
    root.mapping.entity.attribute(at: KeyPathComponents(path).keys)
  }
}

extension SQLType {
  /// The default type of an expression's result.
  fileprivate var attributeType: NSAttributeType {
    switch self {
    case .number, .integer: .undefinedAttributeType
    case .decimal: .decimalAttributeType
    case .date: .dateAttributeType
    case .text: .stringAttributeType
    case .uuid: .UUIDAttributeType
    case .uri: .URIAttributeType
    case .data, .opaque, .entity: .binaryDataAttributeType
    }
  }
}
