/// What a store's tables lack for another model, if nothing else is in its way: entities, tables, and columns of
/// attributes that need no value. Rows, keys and numbers stay as they are, and so may programs of the old model.
///
/// Indexes are not part of it: each store compares its own.
///
/// What the new model may have more than the file, and what it may not:
///
/// ```text
/// may                                              may not (the tables are made anew)
/// -----------------------------------------------  -------------------------------------------------
/// an optional attribute without a default value    a mandatory attribute, or one with a default value
/// an entity without superentity and relationships  a relationship, a subentity
///                                                  anything that the file has and the model lacks
///                                                  another number, table or column for what was there
/// ```
///
/// A default value excludes an attribute because old rows would have to be filled with it: `ALTER TABLE … ADD COLUMN`
/// writes no row (https://www.sqlite.org/lang_altertable.html), so adding a column to a million books takes as long as
/// to one.
///
/// Two processes with different models may then use the file at once: the older one does not name the new columns, and
/// its inserts leave NULL there.
package struct SchemaAdditions {
  package private(set) var entities: [TableMapping] = []
  package private(set) var tables: [EntityTable] = []
  package private(set) var columns: [(table: String, column: EntityTable.Column)] = []

  /// - Parameters:
  ///   - file: what the store has.
  ///   - schema: that of the new model, in which new entities have numbers after those of the store.
  ///   - old: that of the old model, if it is known.
  /// - Throws: `StoreSchemaError` if the new model needs more than additions.
  package init(to file: SchemaFile, for schema: StoreSchema, from old: StoreSchema?) throws(StoreSchemaError) {
    try old?.checkPlaces(in: schema)
    let numberedNames = Set(file.entities.map(\.name))
    entities = schema.entities.filter { !numberedNames.contains($0.name) }
    if let entity = entities.first(where: { $0.superNumber != 0 || !$0.toOnes.isEmpty || !$0.toManys.isEmpty }) {
      throw StoreSchemaError("it has no entity \(entity.name), which has a superentity or relationships")
    }
    for table in schema.tables {
      guard let presentColumns = file.columns[table.name] else {
        guard entities.contains(where: { $0.table == table.name }) else {
          throw StoreSchemaError("it has no table \(table.name)")
        }
        tables.append(table)
        continue
      }
      if let stranger = presentColumns.first(where: { name in !table.columns.contains { $0.name == name } }) {
        throw StoreSchemaError("there is no place for \(table.name).\(stranger)")
      }
      let optional = schema.optionalColumns(of: table)
      for column in table.columns where !presentColumns.contains(column.name) {
        guard optional.contains(column.name) else {
          throw StoreSchemaError("it has no \(table.name).\(column.name), which needs a value")
        }
        columns.append((table.name, column))
      }
    }
  }
}

extension SchemaFile {
  /// The store with numbers for the entities that it lacks, after its own.
  ///
  /// - Throws: `StoreSchemaError` if it has an entity that is not among them.
  package func adding(_ newEntities: [NSEntityDescription]) throws(StoreSchemaError) -> SchemaFile {
    let names = Set(newEntities.compactMap(\.name))
    if let stranger = entities.first(where: { !names.contains($0.name) }) {
      throw StoreSchemaError("there is no place for the entity \(stranger.name)")
    }
    let last = entities.map(\.number).max() ?? 0
    let new = names.subtracting(entities.map(\.name)).sorted().enumerated().map { index, name in
      EntityRow(number: last + 1 + index, name: name, superNumber: 0)
    }
    return SchemaFile(entities: entities + new, columns: columns)
  }
}

extension StoreSchema {
  /// The columns of a table that may be empty: those of optional attributes without a default value.
  fileprivate func optionalColumns(of table: EntityTable) -> Set<String> {
    var columns: Set<String> = []
    for mapping in entities where mapping.table == table.name {
      for attribute in mapping.entity.attributesByName.values where attribute.needsNoValue {
        columns.formUnion(
          mapping.attributes[attribute.name].map { [$0.column] }
            ?? mapping.composites[attribute.name]?.leaves.map(\.column.column) ?? [])
      }
    }
    return columns
  }

  /// Throws unless all that this schema has has the same place in a newer one.
  ///
  /// A new property may push another one to another name: with a second `account` in the hierarchy, `ZACCOUNT` may be
  /// that of another entity than before. Names alone would not show that.
  fileprivate func checkPlaces(in new: StoreSchema) throws(StoreSchemaError) {
    for mapping in entities {
      guard let now = new.entitiesByName[mapping.name], now.number == mapping.number, now.table == mapping.table,
        now.superNumber == mapping.superNumber
      else { throw StoreSchemaError("\(mapping.name) has another place") }
      let places = now.places
      for (name, columns) in mapping.places where places[name] != columns {
        throw StoreSchemaError("\(mapping.name).\(name) has another place")
      }
    }
  }
}

extension TableMapping {
  /// The columns, and join tables, of properties by name.
  fileprivate var places: [String: [String?]] {
    var places: [String: [String?]] = [:]
    for attribute in attributes.values { places[attribute.name] = [attribute.column] }
    for toOne in toOnes.values { places[toOne.name] = [toOne.column, toOne.entityColumn, toOne.orderColumn] }
    for (name, toMany) in toManys {
      guard case .join(_, let table, let owner, let destination, let order) = toMany else { continue }
      places[name] = [table, owner, destination, order]
    }
    return places
  }
}
