/// The tables and columns of one store's entities: Apple's layout, under a prefix.
///
/// It is built from a model for a new file (`init(entities:prefix:)`), or matched with an existing file
/// (`init(entities:prefix:file:)`). Immutable: the store's connections share it.
final class StoreSchema: Sendable {
  /// "Z" in Apple's files; the pool's own store has "WP".
  let prefix: String

  /// One table mapping per entity, in the order of their numbers (`Z_ENT`).
  let entities: [TableMapping]

  /// The mappings by entity name.
  let entitiesByName: [String: TableMapping]

  /// The mappings by entity number (`Z_ENT`).
  let entitiesByNumber: [Int: TableMapping]

  /// The tables of root entities, in the order of their numbers, each with its columns in Apple's order.
  let tables: [EntityTable]

  /// The tables that hold many-to-many relationships.
  let joinTables: [JoinTable]

  init(prefix: String, entities: [TableMapping], tables: [EntityTable], joinTables: [JoinTable]) {
    self.prefix = prefix
    self.entities = entities.sorted { $0.number < $1.number }
    self.entitiesByName = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0) })
    self.entitiesByNumber = Dictionary(uniqueKeysWithValues: entities.map { ($0.number, $0) })
    self.tables = tables
    self.joinTables = joinTables
  }
}

/// The table of a root entity and its subentities.
struct EntityTable: Sendable {
  let name: String
  /// The root entity's `Z_ENT`.
  let rootNumber: Int
  let columns: [Column]

  /// A column with its declared type.
  struct Column: Sendable {
    let name: String
    let declaredType: String
  }
}

/// The mapping of one entity to its table: which rows are its own, and which column holds each property, inherited ones
/// included. Core Data's `NSEntityMapping`, for migrations, maps one entity to another.
final class TableMapping: Sendable {
  let entity: NSEntityDescription
  let name: String
  /// `Z_ENT`.
  let number: Int
  /// The parent's `Z_ENT`, 0 for a root.
  let superNumber: Int
  /// The root entity's `Z_ENT`. Its row in the primary-key table counts this table's keys.
  let rootNumber: Int
  /// `Z_ENT` of this entity and all entities below it: what `includesSubentities` matches.
  let numbersIncludingSubentities: [Int]
  /// The table of the root entity, which all its sub-entities share.
  let table: String
  /// Persistent attributes by name, without transient ones; elements of composites by key path, "address.city".
  let attributes: [String: AttributeColumn]
  /// Persistent composite attributes by name.
  let composites: [String: CompositeColumns]
  /// To-one relationships by name.
  let toOnes: [String: ToOneColumn]
  /// To-many relationships by name.
  let toManys: [String: ToManyMapping]
  /// The columns that each table has besides those of properties.
  let names: OwnColumns

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
struct OwnColumns: Sendable {
  let key: String
  let entity: String
  let version: String

  static let apple = OwnColumns(key: "Z_PK", entity: "Z_ENT", version: "Z_OPT")
}

/// The column of a persistent attribute.
struct AttributeColumn: Sendable {
  let name: String
  let column: String
  let type: NSAttributeType
}

extension TableMapping {
  /// The persistent attributes in the order of their names; of composite ones, not the elements.
  var attributeNames: [String] {
    (attributes.keys.filter { !$0.contains(".") } + composites.keys).sorted()
  }
}

/// The columns of a to-one relationship.
struct ToOneColumn: Sendable {
  let name: String
  /// The column of the destination row's key (`Z_PK`).
  let column: String
  /// The column of the destination row's actual entity (`Z_ENT`), if the destination entity has subentities.
  let entityColumn: String?
  /// The column of this row's position in the inverse, if that is an ordered to-many relationship (`Z_FOK_…`).
  let orderColumn: String?
  let destinationEntityName: String
}

/// The place of a to-many relationship's members.
enum ToManyMapping: Sendable {
  /// One-to-many: the inverse to-one's columns, in the destination's table.
  case foreignKey(destinationEntityName: String, table: String, inverse: ToOneColumn)
  /// Many-to-many: a join table. `ownerColumn` points at the rows of the entity that has this relationship, and
  /// `orderColumn` holds the positions of the members where this relationship is ordered.
  case join(
    destinationEntityName: String, table: String, ownerColumn: String, destinationColumn: String, orderColumn: String?)
}

/// A many-to-many relationship's table:
/// `CREATE TABLE name (first INTEGER, second INTEGER, …, PRIMARY KEY (first, second))`.
struct JoinTable: Sendable {
  let name: String
  let firstColumn: String
  let secondColumn: String
  let orderColumns: [String]
  /// The number of the entity that names the table. In a new file the table follows that entity's.
  let ownerNumber: Int
}
