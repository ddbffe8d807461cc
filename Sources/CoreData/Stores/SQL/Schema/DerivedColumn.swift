/// The column of a derived attribute, and where the values come from that it is computed from.
///
/// Both kinds of database make triggers of it: `StoreSchema+DerivedAttributes` for SQLite, and a counterpart for
/// PostgreSQL. What it knows is where to look; how a trigger is written is theirs.
package struct DerivedColumn {
  let schema: StoreSchema
  package let mapping: TableMapping
  package let name: String
  package let column: String
  package let type: NSAttributeType
  package let derivation: Derivation

  /// - Returns: nil for an expression of a form that `Derivation` does not know.
  init?(_ attribute: NSDerivedAttributeDescription, of mapping: TableMapping, in schema: StoreSchema) {
    guard let column = mapping.attributes[attribute.name]?.column,
      let derivation = Derivation(attribute.derivationExpression)
    else { return nil }
    self.schema = schema
    self.mapping = mapping
    name = attribute.name
    self.column = column
    type = attribute.attributeType
    // "address.city" may lead to an element of a composite attribute, which is in the row itself.
    if case .copy(let first?, let last, let functions) = derivation, mapping.attributes["\(first).\(last)"] != nil {
      self.derivation = .copy(relationship: nil, attribute: "\(first).\(last)", functions: functions)
    } else {
      self.derivation = derivation
    }
  }

  /// The condition on rows of the entity and those below it: the table may hold others, too.
  package var ofEntity: String {
    let numbers = mapping.numbersIncludingSubentities.map(String.init).joined(separator: ", ")
    return "\(mapping.names.entity) IN (\(numbers))"
  }

  // MARK: Sources

  /// An attribute at the end of a to-one relationship.
  package struct Source {
    package let table: String
    package let attribute: AttributeColumn
    /// The column of this table with the key that leads there.
    package let key: String
  }

  package func source(_ relationship: String, _ attribute: String) -> Source? {
    guard let toOne = mapping.toOnes[relationship], let other = schema.entitiesByName[toOne.destinationEntityName],
      let source = other.attributes[attribute]
    else { return nil }
    return Source(table: other.table, attribute: source, key: toOne.column)
  }

  /// Where the members of a to-many relationship are.
  ///
  /// ```text
  /// relationship                links      owner        table   member
  /// Author.books, one-to-many   ZBOOK      ZAUTHOR      ZBOOK   nil: the linking row is the member
  /// Author.books, many-to-many  Z_1BOOKS   Z_1AUTHORS   ZBOOK   Z_2BOOKS
  /// ```
  package struct Members {
    /// The table whose rows say which objects are members, and the column of it with the owner's key.
    package let links: String
    package let owner: String
    /// The table of the members, their attribute, and for a join table its column with their keys.
    package let table: String
    package let attribute: AttributeColumn?
    package let member: String?
  }

  /// Nil where the members are in another store, or have no such attribute: the derived attribute then has no trigger,
  /// and no value.
  package func members(_ relationship: String, _ attribute: String?) -> Members? {
    func place(_ entity: String) -> (table: String, attribute: AttributeColumn?)? {
      guard let other = schema.entitiesByName[entity] else { return nil }
      guard let attribute else { return (other.table, nil) }
      return other.attributes[attribute].map { (other.table, $0) }
    }
    switch mapping.toManys[relationship] {
    case .foreignKey(let entity, let table, let inverse)?:
      return place(entity).map {
        Members(links: table, owner: inverse.column, table: table, attribute: $0.attribute, member: nil)
      }
    case .join(let entity, let table, let owner, let destination, _)?:
      return place(entity).map {
        Members(links: table, owner: owner, table: $0.table, attribute: $0.attribute, member: destination)
      }
    case nil: return nil
    }
  }
}

extension StoreSchema {
  /// The columns of all derived attributes that triggers can keep.
  package var derivedColumns: [DerivedColumn] {
    entities.flatMap { mapping in
      mapping.entity.declaredProperties
        .compactMap { $0 as? NSDerivedAttributeDescription }
        .sorted(onBytes: { $0.name })
        .compactMap { DerivedColumn($0, of: mapping, in: self) }
    }
  }
}
