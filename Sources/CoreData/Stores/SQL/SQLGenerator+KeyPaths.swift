extension SQLGenerator {
  /// The operand at the end of a path of keys from a row.
  ///
  /// Walks the path key by key. A to-one step becomes a join only if a key follows that needs the other row:
  ///
  /// ```text
  /// path                  result
  /// --------------------  ----------------------------------------------------------------------
  /// title                 t0.ZTITLE
  /// author                t0.ZAUTHOR: no join, the key is here
  /// author.objectID       the same
  /// author.name           t1.ZNAME, with LEFT JOIN ZAUTHOR t1 ON t1.Z_PK = t0.ZAUTHOR
  /// author.name, twice    one join: `SQLScope` keeps it
  /// author.books.@count   CASE WHEN t1.Z_PK IS NULL THEN NULL ELSE (SELECT COUNT(*) FROM ZBOOK t2
  ///                         WHERE t2.ZAUTHOR = t1.Z_PK) END
  /// books.pages           .toMany with "pages" left over: ANY, ALL or an operator says what to do with it
  /// ```
  ///
  /// LEFT JOIN keeps rows without an author: `author.name == nil` has to find them.
  func operand(at keys: [String], from start: SQLScope, _ environment: SQLEnvironment) throws -> SQLOperand {
    var scope = start
    var index = 0
    while index < keys.count {
      let key = keys[index]
      let following = Array(keys[(index + 1)...])
      index += 1
      if key == "self" || key == "SELF" || key == "objectID" { continue }
      let mapping = declarer(of: key, below: scope.mapping)
      if key == "entity", mapping.entity.propertiesByName[key] == nil { return try entity(of: scope, keys: following) }
      if let attribute = mapping.attributes[key] {
        let value = scalar(attribute, mapping.entity.attributesByName[key], in: scope)
        return try operand(after: value, key: key, mapping, keys: following)
      }
      if let composite = mapping.composites[key] {
        return try element(of: composite, name: key, in: scope, mapping, keys: following)
      }
      if let toOne = mapping.toOnes[key] {
        let destination = try self.mapping(ofEntity: toOne.destinationEntityName)
        // The key column answers the question: the row is not needed.
        if following.allSatisfy({ $0 == "objectID" || $0 == "self" }) {
          return .object(
            key: scope.column(toOne.column), entityColumn: toOne.entityColumn.map(scope.column), destination)
        }
        scope = scope.step(toOne, to: destination, alias: makeAlias)
      } else if let toMany = mapping.toManys[key] {
        return try operand(
          of: SQLToMany(owner: scope, name: key, mapping: toMany, remainingKeys: following, environment: environment))
      } else {
        throw unknown(key, mapping)
      }
    }
    return .object(key: scope.key, entityColumn: nil, scope.mapping)
  }

  /// The entity of a row, or its name. The row holds the entity's number.
  ///
  /// ```text
  /// entity == %@                 t0.Z_ENT = ?
  /// entity.name == "Novel"       CASE t0.Z_ENT WHEN 2 THEN 'Book' WHEN 3 THEN 'Novel' END = ?
  /// ```
  private func entity(of scope: SQLScope, keys: [String]) throws -> SQLOperand {
    let number = scope.entityNumber
    if keys.isEmpty || keys == ["self"] { return .scalar(number, .entity) }
    guard keys[0] == "name" else {
      throw SQLGenerationError.unknownKey((["entity"] + keys).joined(separator: "."), entity: scope.mapping.name)
    }
    let names = schema.entities.filter { $0.table == scope.mapping.table }.map { mapping in
      "WHEN \(mapping.number) THEN '\(mapping.name.replacingOccurrences(of: "'", with: "''"))'"
    }
    let name = SQLOperand.scalar("CASE \(number) \(raw: names.joined(separator: " ")) END", .text)
    return try operand(after: name, key: "entity.name", scope.mapping, keys: Array(keys.dropFirst()))
  }

  /// The entity that has the property: the given one or a subentity. The rows of all others have NULL there.
  ///
  /// If several subentities have properties with this name, these are different properties, and none is meant.
  ///
  /// A fetch of `Book` may ask for `genre == "sf"`, which only novels have: `t0.ZGENRE = ?` is NULL, and so not true,
  /// for all other books. Apple's store allows it too.
  private func declarer(of key: String, below mapping: TableMapping) -> TableMapping {
    if mapping.entity.propertiesByName[key] != nil { return mapping }
    let having = mapping.numbersIncludingSubentities.compactMap { schema.entitiesByNumber[$0] }
      .filter { $0.entity.propertiesByName[key] != nil }
    let declaring = Set(having.compactMap { $0.entity.propertiesByName[key].map { ObjectIdentifier($0) } })
    return declaring.count == 1 ? having[0] : mapping
  }

  /// An element of a composite attribute; or a whole composite, which can only be compared with NULL.
  ///
  /// ```text
  /// address.city == "Bath"     t0.ZADDRESS_CITY = ?
  /// address == nil             coalesce(t0.ZADDRESS_CITY, t0.ZADDRESS_ZIP) IS NULL
  /// address == %@              error: dictionaries have no equality in SQL
  /// ```
  private func element(
    of composite: CompositeColumns, name: String, in scope: SQLScope, _ mapping: TableMapping, keys: [String]
  ) throws -> SQLOperand {
    if let leaf = composite.leaves.first(where: { keys.starts(with: $0.path) }) {
      let value = scalar(leaf.column, leaf.attribute, in: scope)
      return try operand(after: value, key: leaf.column.name, mapping, keys: Array(keys.dropFirst(leaf.path.count)))
    }
    let path = keys.last == "self" ? keys.dropLast() : keys[...]
    let columns = composite.leaves(at: path).map { scope.column($0.column.column) }
    if columns.isEmpty {
      throw SQLGenerationError.unknownKey(([name] + keys).joined(separator: "."), entity: mapping.name)
    }
    return .scalar(dialect.anyOf(columns), .opaque)
  }

  /// Binary data that may lie in a file is opaque: the column has the value, or the name of a file, and comparing
  /// either with a constant would be right by chance.
  private func scalar(
    _ attribute: AttributeColumn, _ description: NSAttributeDescription?, in scope: SQLScope
  ) -> SQLOperand {
    let isExternal = description?.allowsExternalBinaryDataStorage ?? false
    let column = dialect.column(scope.column(attribute.column), attribute.type)
    return .scalar(column, isExternal ? .opaque : SQLType(attribute.type))
  }

  /// Keys after an attribute apply to its value. SQL only knows the length of a text.
  private func operand(
    after value: SQLOperand, key: String, _ mapping: TableMapping, keys: [String]
  ) throws -> SQLOperand {
    if keys.isEmpty || keys == ["self"] { return value }
    guard keys == ["length"], case .scalar(_, .text) = value else {
      throw SQLGenerationError.unknownKey(([key] + keys).joined(separator: "."), entity: mapping.name)
    }
    return try call(.length, [value])
  }

  /// A to-many relationship, reduced to a number by a following collection operator.
  ///
  /// The operator may stand anywhere after the relationship: `books.@sum.pages` and `books.pages.@sum` are the same.
  func operand(of relationship: SQLToMany) throws -> SQLOperand {
    guard let position = relationship.remainingKeys.firstIndex(where: { $0.hasPrefix("@") }) else {
      return .toMany(relationship)
    }
    let name = relationship.remainingKeys[position]
    guard let operation = CollectionOperator(rawValue: name) else {
      throw SQLGenerationError.unsupportedFunction(name)
    }
    var reduced = relationship
    reduced.remainingKeys.remove(at: position)
    if operation == .unionOfObjects || operation == .distinctUnionOfObjects {
      reduced.union = operation == .unionOfObjects ? .all : .distinct
      return .toMany(reduced)
    }
    guard let aggregation = SQLAggregation(operation) else { throw SQLGenerationError.unsupportedFunction(name) }
    let result = try aggregate(aggregation, of: reduced)
    // A nil to-one relationship leads to no collection, so there is no count or sum of it.
    guard relationship.owner.isOptional, relationship.filter == nil, case .scalar(let value, let type) = result else {
      return result
    }
    return .scalar("CASE WHEN \(relationship.owner.key) IS NULL THEN NULL ELSE \(value) END", type)
  }

  private func unknown(_ key: String, _ mapping: TableMapping) -> SQLGenerationError {
    mapping.entity.propertiesByName[key] == nil
      ? .unknownKey(key, entity: mapping.name) : .notStored(key, entity: mapping.name)
  }
}
