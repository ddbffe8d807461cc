extension StoreSchema {
  /// The schema of a new file for the given entities.
  ///
  /// - Throws: `StoreSchemaError` if the store cannot hold an entity or a property.
  convenience init(entities: [NSEntityDescription], prefix: String) throws(StoreSchemaError) {
    let numbering = EntityNumbering(entities)
    let layout = try SchemaLayout(numbering, prefix: prefix)
    self.init(numbering, layout, JoinLayouts(numbering, prefix: prefix).layouts)
  }

  /// Builds the schema from the layouts.
  ///
  /// Runs once when a store is opened. Its cost is that of the model's size: no statement runs here.
  ///
  /// The order of work: `EntityNumbering` numbers the entities, a `PropertyColumns` (`SchemaLayout` for files) gives
  /// attributes and to-ones their columns, `JoinLayouts` gives many-to-many relationships their tables, and this
  /// initialiser looks all of it up for each property of each entity. A property for which nobody has a column has no
  /// entry: fetches by it throw `SQLGenerationError.notStored`.
  package convenience init(
    _ numbering: EntityNumbering, _ layout: some PropertyColumns, _ joins: [JoinLayout], names: OwnColumns = .apple
  ) {
    var joinOfEnd: [ObjectIdentifier: JoinLayout] = [:]
    for join in joins {
      joinOfEnd[ObjectIdentifier(join.relationship)] = join
      if let inverse = join.inverse { joinOfEnd[ObjectIdentifier(inverse)] = join }
    }
    let mappings = numbering.entities.map { entity in
      var attributes: [String: AttributeColumn] = [:]
      var composites: [String: CompositeColumns] = [:]
      var toOnes: [String: ToOneColumn] = [:]
      var toManys: [String: ToManyMapping] = [:]
      for property in entity.properties {
        switch property {
        case let composite as NSCompositeAttributeDescription:
          guard let columns = layout.columns(of: composite) else { continue }
          composites[composite.name] = columns
          for leaf in columns.leaves { attributes[leaf.column.name] = leaf.column }
        case let attribute as NSAttributeDescription:
          attributes[attribute.name] = layout.column(of: attribute)
        case let relationship as NSRelationshipDescription where !relationship.isToMany:
          toOnes[relationship.name] = layout.column(of: relationship)
        case let relationship as NSRelationshipDescription:
          toManys[relationship.name] =
            joinOfEnd[ObjectIdentifier(relationship)]?.mapping(of: relationship)
            ?? layout.foreignKey(relationship)
        default: break
        }
      }
      return TableMapping(
        entity: entity, number: numbering.number(of: entity),
        superNumber: numbering.parent(of: entity).map(numbering.number(of:)) ?? 0,
        rootNumber: numbering.number(of: numbering.root(of: entity)),
        numbersIncludingSubentities: numbering.hierarchy(of: entity).map(numbering.number(of:)),
        table: layout.table(of: entity), attributes: attributes, composites: composites,
        toOnes: toOnes, toManys: toManys, names: names)
    }
    self.init(prefix: layout.prefix, entities: mappings, tables: layout.tables, joinTables: joins.map(\.table))
  }
}

/// The tables and columns of a store's properties.
///
/// `SchemaLayout` follows Apple's rules. PostgreSQL's layout has names of its own, and the same seam below it.
package protocol PropertyColumns {
  var numbering: EntityNumbering { get }
  var prefix: String { get }
  var tables: [EntityTable] { get }
  func table(of entity: NSEntityDescription) -> String
  func column(of attribute: NSAttributeDescription) -> AttributeColumn?
  func columns(of composite: NSCompositeAttributeDescription) -> CompositeColumns?
  func column(of toOne: NSRelationshipDescription) -> ToOneColumn?
}

extension SchemaLayout: PropertyColumns {}

extension PropertyColumns {
  /// The mapping of a one-to-many relationship through its inverse; nil if the destination is not in the store.
  fileprivate func foreignKey(_ relationship: NSRelationshipDescription) -> ToManyMapping? {
    guard let destination = relationship.destinationEntity, numbering.contains(destination),
      let inverse = relationship.inverseRelationship.flatMap(column(of:))
    else { return nil }
    return .foreignKey(
      destinationEntityName: destination.name ?? "", table: table(of: destination), inverse: inverse)
  }
}
