/// A store whose rows are in an SQL database, SQLite's or PostgreSQL's.
///
/// `SQLiteStore` and PostgreSQL's store adopt it. What stands in this folder is what they have in common: the mapping
/// of a model, the generation of statements, plans for rows, batches, the pool of connections. A store supplies how a
/// statement is run.
package protocol SQLStore: PlacedStore, BatchStore, HistoryStore, NumberedStore, ConnectedStore {
  var schema: StoreSchema { get }
  var dialect: SQLDialect { get }
  var plans: RowPlans { get }
}

extension SQLStore {
  /// The mapping of an entity that the store holds.
  package func mapping(_ name: String) -> TableMapping {
    guard let mapping = schema.entitiesByName[name] else { preconditionFailure("The store holds no entity \(name).") }
    return mapping
  }

  /// The ID of a row; nil for an entity's number that the store does not know.
  package func objectID(number: Int, key: Int64) -> NSManagedObjectID? {
    storedEntities[number].map { NSManagedObjectID(storedEntity: $0, key: key) }
  }

  /// The generator for a fetch of the entity. Objects of other stores have no row in this one.
  package func generator(for entityName: String) -> SQLGenerator {
    SQLGenerator(schema: schema, entity: mapping(entityName), dialect: dialect) { [storedEntities] object in
      guard let id = object as? NSManagedObjectID, id.storedEntity.collection === storedEntities else { return nil }
      return id.persistentKey
    }
  }

  /// The statement of a fetch.
  package func select(_ columns: String, _ fetch: RowFetch, isOrdered: Bool) throws -> SQL {
    try SQLGenerationError.translated {
      try generator(for: fetch.entityName).select(SQL(raw: columns), fetch, isOrdered: isOrdered)
    }
  }

  /// The statement of a fetch of dictionaries, and its columns.
  package func select(
    _ settings: FetchSettings, _ fetch: RowFetch, _ generator: SQLGenerator
  ) throws -> (sql: SQL, columns: [SQLResultColumn]) {
    let (list, columns) = try generator.columns(settings.propertiesToFetch, groupedBy: settings.propertiesToGroupBy)
    return (try generator.select(list, fetch, groups: settings), columns)
  }
}

extension SQLStore {
  /// The members of a to-many relationship.
  package typealias MemberSource = (entityName: String, tables: String, owner: String, order: String?)

  /// The tables with the members as `t`, with the columns of their owner's key and of their position; nil if they are
  /// not in this store.
  ///
  /// ```text
  /// Author.books                           ("Book", "ZBOOK t", "t.ZAUTHOR", nil)
  /// Author.books, ordered                  ("Book", "ZBOOK t", "t.ZAUTHOR", "t.Z_FOK_AUTHOR")
  /// Author.books, many-to-many, ordered    ("Book", "Z_1BOOKS j JOIN ZBOOK t ON t.Z_PK = j.Z_2BOOKS", "j.Z_1AUTHORS",
  ///                                         "j.Z_FOK_2BOOKS")
  /// ```
  package func memberSource(_ owner: StoredEntity, _ relationship: NSRelationshipDescription) -> MemberSource? {
    switch mapping(owner.layout.name).toManys[relationship.name] {
    case .foreignKey(let name, let table, let inverse):
      return (name, "\(table) t", "t.\(inverse.column)", inverse.orderColumn.map { "t.\($0)" })
    case .join(let name, let table, let ownerColumn, let destinationColumn, let orderColumn):
      let destination = mapping(name)
      let tables = "\(table) j JOIN \(destination.table) t ON t.\(destination.names.key) = j.\(destinationColumn)"
      return (name, tables, "j.\(ownerColumn)", orderColumn.map { "j.\($0)" })
    case nil: return nil
    }
  }
}

extension StoredEntities {
  /// The entities of a store with these tables.
  package convenience init(_ schema: StoreSchema, reference: StoreReference) {
    self.init(reference: reference)
    var tables: [Int: Int32] = [:]
    for mapping in schema.entities {
      let table = tables[mapping.rootNumber] ?? StoredEntity.newTable()
      tables[mapping.rootNumber] = table
      add(StoredEntity(layout: mapping.entity.layout, collection: self, number: mapping.number, table: table))
    }
  }
}
