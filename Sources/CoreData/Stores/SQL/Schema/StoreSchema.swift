/// The tables and columns of one store's entities: Apple's layout, under a prefix.
///
/// It is built from a model for a new file (`init(entities:prefix:)`), or matched with an existing file
/// (`init(entities:prefix:file:)`). Immutable: the store's connections share it.
package final class StoreSchema: Sendable {
  /// "Z" in Apple's files; the pool's own store has "WP".
  let prefix: String

  /// One table mapping per entity, in the order of their numbers (`Z_ENT`).
  package let entities: [TableMapping]

  /// The mappings by entity name.
  package let entitiesByName: [String: TableMapping]

  /// The mappings by entity number (`Z_ENT`).
  package let entitiesByNumber: [Int: TableMapping]

  /// The tables of root entities, in the order of their numbers, each with its columns in Apple's order.
  package let tables: [EntityTable]

  /// The tables that hold many-to-many relationships.
  package let joinTables: [JoinTable]

  /// The names of the columns of keys, entities and versions, which are the same in all tables of a store.
  var ownColumns: OwnColumns { entities.first?.names ?? .apple }

  init(prefix: String, entities: [TableMapping], tables: [EntityTable], joinTables: [JoinTable]) {
    self.prefix = prefix
    self.entities = entities.sorted(on: { $0.number })
    self.entitiesByName = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0) })
    self.entitiesByNumber = Dictionary(uniqueKeysWithValues: entities.map { ($0.number, $0) })
    self.tables = tables
    self.joinTables = joinTables
  }
}

/// The table of a root entity and its subentities.
package struct EntityTable: Sendable {
  package let name: String
  /// The root entity's `Z_ENT`.
  package let rootNumber: Int
  package let columns: [Column]

  package init(name: String, rootNumber: Int, columns: [Column]) {
    self.name = name
    self.rootNumber = rootNumber
    self.columns = columns
  }

  /// A column with its declared type.
  package struct Column: Sendable {
    package let name: String
    package let declaredType: String

    package init(name: String, declaredType: String) {
      self.name = name
      self.declaredType = declaredType
    }
  }
}

/// The mapping of one entity to its table: which rows are its own, and which column holds each property, inherited ones
/// included. Core Data's `NSEntityMapping`, for migrations, maps one entity to another.
package final class TableMapping: Sendable {
  package let entity: NSEntityDescription
  package let name: String
  /// `Z_ENT`.
  package let number: Int
  /// The parent's `Z_ENT`, 0 for a root.
  let superNumber: Int
  /// The root entity's `Z_ENT`. Its row in the primary-key table counts this table's keys.
  package let rootNumber: Int
  /// `Z_ENT` of this entity and all entities below it: what `includesSubentities` matches.
  package let numbersIncludingSubentities: [Int]
  /// The table of the root entity, which all its sub-entities share.
  package let table: String
  /// Persistent attributes by name, without transient ones; elements of composites by key path, "address.city".
  package let attributes: [String: AttributeColumn]
  /// Persistent composite attributes by name.
  package let composites: [String: CompositeColumns]
  /// To-one relationships by name.
  package let toOnes: [String: ToOneColumn]
  /// To-many relationships by name.
  package let toManys: [String: ToManyMapping]
  /// The columns that each table has besides those of properties.
  package let names: OwnColumns

  init(
    entity: NSEntityDescription, number: Int, superNumber: Int, rootNumber: Int,
    numbersIncludingSubentities: [Int], table: String, attributes: [String: AttributeColumn],
    composites: [String: CompositeColumns], toOnes: [String: ToOneColumn], toManys: [String: ToManyMapping],
    names: OwnColumns = .apple
  ) {
    self.entity = entity
    self.name = entity.name ?? ""
    self.number = number
    self.superNumber = superNumber
    self.rootNumber = rootNumber
    self.numbersIncludingSubentities = numbersIncludingSubentities
    self.table = table
    self.attributes = attributes
    self.composites = composites
    self.toOnes = toOnes
    self.toManys = toManys
    self.names = names
  }
}

/// The names of the columns that each table has besides those of properties.
package struct OwnColumns: Sendable {
  package let key: String
  package let entity: String
  package let version: String

  package init(key: String, entity: String, version: String) {
    self.key = key
    self.entity = entity
    self.version = version
  }

  static let apple = OwnColumns(key: "Z_PK", entity: "Z_ENT", version: "Z_OPT")
}

/// The column of a persistent attribute.
package struct AttributeColumn: Sendable {
  package let name: String
  package let column: String
  package let type: NSAttributeType

  package init(name: String, column: String, type: NSAttributeType) {
    self.name = name
    self.column = column
    self.type = type
  }
}

extension TableMapping {
  /// The persistent attributes in the order of their names; of composite ones, not the elements.
  var attributeNames: [String] {
    (attributes.keys.filter { !$0.contains(".") } + composites.keys).sorted()
  }
}

/// The columns of a to-one relationship.
package struct ToOneColumn: Sendable {
  package let name: String
  /// The column of the destination row's key (`Z_PK`).
  package let column: String
  /// The column of the destination row's actual entity (`Z_ENT`), if the destination entity has subentities.
  package let entityColumn: String?
  /// The column of this row's position in the inverse, if that is an ordered to-many relationship (`Z_FOK_…`).
  package let orderColumn: String?
  package let destinationEntityName: String

  package init(name: String, column: String, entityColumn: String?, orderColumn: String?, destinationEntityName: String)
  {
    self.name = name
    self.column = column
    self.entityColumn = entityColumn
    self.orderColumn = orderColumn
    self.destinationEntityName = destinationEntityName
  }
}

/// The place of a to-many relationship's members.
package enum ToManyMapping: Sendable {
  /// One-to-many: the inverse to-one's columns, in the destination's table.
  case foreignKey(destinationEntityName: String, table: String, inverse: ToOneColumn)
  /// Many-to-many: a join table. `ownerColumn` points at the rows of the entity that has this relationship, and
  /// `orderColumn` holds the positions of the members where this relationship is ordered.
  case join(
    destinationEntityName: String, table: String, ownerColumn: String, destinationColumn: String, orderColumn: String?)
}

/// A many-to-many relationship's table:
/// `CREATE TABLE name (first INTEGER, second INTEGER, …, PRIMARY KEY (first, second))`.
package struct JoinTable: Sendable {
  package let name: String
  package let firstColumn: String
  package let secondColumn: String
  package let orderColumns: [String]
  /// The number of the entity that names the table. In a new file the table follows that entity's.
  package let ownerNumber: Int

  package init(name: String, firstColumn: String, secondColumn: String, orderColumns: [String], ownerNumber: Int) {
    self.name = name
    self.firstColumn = firstColumn
    self.secondColumn = secondColumn
    self.orderColumns = orderColumns
    self.ownerNumber = ownerNumber
  }
}
