/// The tables and columns of one store's entities: Apple's layout, under a prefix.
///
/// It is built from a model for a new file (`init(entities:prefix:)`), or matched with an existing file
/// (`init(entities:prefix:file:)`). Immutable: the store's connections share it.
///
/// The examples in this folder use one model, that of the docstrings: `Author` has a name and many books, `Book` has a
/// title, pages, `isRead` and one author. In a SQLite file it is:
///
/// ```text
/// Model                               File
/// ----------------------------------  ---------------------------------------------------------------
/// Author                              ZAUTHOR  Z_PK  Z_ENT  Z_OPT  ZNAME
///   name    String                               1     1      2    Le Guin
///   books   to many Book, by author
/// Book                                ZBOOK    Z_PK  Z_ENT  Z_OPT  ZISREAD  ZPAGES  ZAUTHOR  ZTITLE
///   title   String                               1     2      2       1      342       1     The Dispossessed
///   pages   Integer 64
///   isRead  Boolean                   Z_PK   the row's key: "p1" in the URI of the object's ID
///   author  to one Author             Z_ENT  the entity's number, from Z_PRIMARYKEY
///                                     Z_OPT  the row's version: 1 when inserted, one more with each save
/// ```
///
/// `books` has no column: its members are the rows of ZBOOK whose ZAUTHOR is the author's key.
///
/// Who uses it: `SQLGenerator` for predicates and orders, `RowPlan` and `RowWriter` for rows, `StoreMigration` and
/// `SchemaAdditions` for changes of the model, `StoreHistory` for the history's masks. None of them puts a name of a
/// table or column together by itself.
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

  /// Traps if two entities have one name or one number. `EntityNumbering` gives each its own.
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
///
/// Entities of one hierarchy share a table, so that a fetch of `Book` finds its subentities in one pass. With a
/// subentity `Novel` of `Book`:
///
/// ```text
/// ZBOOK    Z_PK  Z_ENT  …  ZTITLE   ZGENRE
///            1     2       Dawn     NULL        a Book: it has no genre
///            2     3       Kindred  sf          a Novel
/// ```
///
/// Columns of one entity are NULL in the rows of the others. Therefore no column is NOT NULL: that an attribute is
/// mandatory is checked by the validation of objects and by `BatchRowRules`, not by the file.
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
///
/// For `Book` of the library:
///
/// ```text
/// name "Book"   number 2   superNumber 0   rootNumber 2   table "ZBOOK"   numbersIncludingSubentities [2]
/// attributes    title → ZTITLE, pages → ZPAGES, isRead → ZISREAD
/// toOnes        author → ZAUTHOR
/// toManys       none; for Author: books → foreignKey(ZBOOK, ZAUTHOR)
/// ```
///
/// A subentity has the properties of its ancestors here too, with the same columns.
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
///
/// A file has Apple's names. A store at a server has others, of its own.
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
///
/// The key alone does not say which entity the row has. Where the destination has subentities, a second column does,
/// and reading a book's relationship needs no look into the other row to make the ID:
///
/// ```text
/// Author.favourite leads to Book, which has the subentity Novel:
///
/// ZAUTHOR    Z_PK  ZFAVOURITE  Z2_FAVOURITE
///              1        1            3          the row 1 of ZBOOK, which is a Novel: x-coredata://…/Novel/p1
/// ```
///
/// The number in the column's name is that of the destination in the model (2, Book); the value is that of the row (3,
/// Novel). `RowDecoder` takes 0 or NULL in this column for the destination itself.
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
///
/// How the members of one owner are found in either case:
///
/// ```text
/// foreignKey   Author.books, inverse author      SELECT … FROM ZBOOK t WHERE t.ZAUTHOR = ?
/// join         Author.books, inverse authors     SELECT … FROM Z_1BOOKS j JOIN ZBOOK t ON t.Z_PK = j.Z_2BOOKS
///                                                WHERE j.Z_1AUTHORS = ?
/// ```
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
///
/// The table of `Author.books` and `Book.authors`, with ordered books, has a row for each pair:
///
/// ```text
/// CREATE TABLE Z_1BOOKS ( Z_1AUTHORS INTEGER, Z_2BOOKS INTEGER, Z_FOK_2BOOKS INTEGER,
///                         PRIMARY KEY (Z_1AUTHORS, Z_2BOOKS) )
///
/// Z_1AUTHORS  Z_2BOOKS  Z_FOK_2BOOKS
///      1          2         2048          the author 1 has the book 2 first
///      1          1         3072          and then the book 1
/// ```
///
/// The primary key finds the books of an author; the index `Z_1BOOKS_Z_2BOOKS_INDEX` on (Z_2BOOKS, Z_1AUTHORS) finds
/// the authors of a book. Both hold all that a look for members needs of this table.
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
