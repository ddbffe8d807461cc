/// Lays the properties of a store's entities out in tables and columns that people read: a table for each root entity
/// and its subentities, named like the entity, with columns named like the properties.
///
/// ```text
/// Author(name, books)                                "app"."Author"  _key _entity _version "name"
/// Book(title, pages, isRead, author)                 "app"."Book"    _key _entity _version "author" "isRead" …
/// Novel, a subentity of Book, with the period        "app"."Book"    … "period", which is NULL for other books
/// Book.author, a to-one relationship                 "author" bigint: the _key of the author
/// Book.owner to Person, which has subentities        "owner" bigint, "owner_entity" bigint
/// Author.books, ordered                              "app"."Book"."author_position" bigint
/// Book.tags, many to many                            "app"."Book_tags" ("Book", "tags")
/// Book.tags, ordered                                 "app"."Book_tags" ("Book", "tags", "tags_position")
/// Book.size, a composite of width and height         "size_width", "size_height"
/// ```
///
/// `_entity` tells which of the hierarchy's entities a row is of, by the numbers in "app"."_entities". `_version`
/// counts the changes of the row; programs that update rows by SQL must raise it.
///
/// Subentities share one table, so a fetch of books finds novels, and keys are unique in the hierarchy.
///
/// Names are kept quoted, as SQL needs them; those of tables with their schema.
struct ServerLayout: PropertyColumns {
  /// The version of the layout, which a store of a later one has in its metadata: programs that know only earlier ones
  /// refuse it. It grows when they would misread the store, or damage it.
  static let version = 1
  static let versionKey = "NSStoreLayoutVersion"

  let numbering: EntityNumbering
  let address: ServerAddress
  private(set) var tables: [EntityTable] = []
  private(set) var joins: [JoinLayout] = []
  private var tableNames: [ObjectIdentifier: String] = [:]
  private var attributes: [ObjectIdentifier: AttributeColumn] = [:]
  private var composites: [ObjectIdentifier: CompositeColumns] = [:]
  private var toOnes: [ObjectIdentifier: ToOneColumn] = [:]

  /// The columns besides those of properties.
  static let ownColumns = OwnColumns(key: "_key", entity: "_entity", version: "_version")

  /// The tables of the store itself. An entity may have one of their names: its table then gets a number behind it
  /// (`Names`).
  enum OwnTable: String, CaseIterable {
    /// One row: identifier, metadata, a copy of the model, and whether commits are announced.
    case store = "_store"
    case entities = "_entities"
    case transactions = "_transactions"
    case changes = "_changes"
  }

  var prefix: String { address.schema }

  init(_ numbering: EntityNumbering, _ address: ServerAddress) throws {
    self.numbering = numbering
    self.address = address
    var names = Names(OwnTable.allCases.map(\.rawValue))
    for root in numbering.roots {
      tableNames[ObjectIdentifier(root)] = address.qualified(names.unique(root.name ?? ""))
    }
    for root in numbering.roots { try layOut(root) }
    joins = JoinLayouts(numbering, prefix: "").layouts.map { named($0, &names) }
  }

  func column(of attribute: NSAttributeDescription) -> AttributeColumn? { attributes[ObjectIdentifier(attribute)] }
  func columns(of composite: NSCompositeAttributeDescription) -> CompositeColumns? {
    composites[ObjectIdentifier(composite)]
  }
  func column(of toOne: NSRelationshipDescription) -> ToOneColumn? { toOnes[ObjectIdentifier(toOne)] }
  func table(of entity: NSEntityDescription) -> String {
    tableNames[ObjectIdentifier(numbering.root(of: entity))] ?? ""
  }

  /// The table of one hierarchy. Columns have the order of the entities and their properties, so the same model makes
  /// the same tables everywhere; nothing relies on the order, since all statements name their columns.
  private mutating func layOut(_ root: NSEntityDescription) throws {
    var names = Names([Self.ownColumns.key, Self.ownColumns.entity, Self.ownColumns.version])
    var columns = [
      EntityTable.Column(name: Self.ownColumns.key, declaredType: "bigint PRIMARY KEY"),
      EntityTable.Column(
        name: Self.ownColumns.entity, declaredType: "integer NOT NULL DEFAULT \(numbering.number(of: root))"),
      EntityTable.Column(name: Self.ownColumns.version, declaredType: "bigint NOT NULL DEFAULT 1"),
    ]
    func add(_ preferredName: String, _ type: String) -> String {
      let name = names.unique(preferredName).quotedName
      columns.append(EntityTable.Column(name: name, declaredType: type))
      return name
    }
    for entity in numbering.hierarchy(of: root) {
      for property in numbering.properties(of: entity) {
        switch property {
        case let composite as NSCompositeAttributeDescription:
          for (path, attribute) in composite.leaves {
            let keyPath = ([composite.name] + path).joined(separator: ".")
            let type = try serverType(of: attribute, keyPath, entity)
            let column = add(([composite.name] + path).joined(separator: "_"), type.declaration)
            composites[ObjectIdentifier(composite), default: CompositeColumns()].add(
              CompositeColumns.Leaf(
                path: path, attribute: attribute,
                column: AttributeColumn(name: keyPath, column: column, type: attribute.attributeType)))
          }
        case let attribute as NSAttributeDescription:
          let type = try serverType(of: attribute, attribute.name, entity)
          attributes[ObjectIdentifier(attribute)] = AttributeColumn(
            name: attribute.name, column: add(attribute.name, type.declaration), type: attribute.attributeType)
        case let relationship as NSRelationshipDescription where !relationship.isToMany:
          guard let destination = relationship.destinationEntity else { continue }
          let column = add(relationship.name, "bigint")
          let isOrdered = relationship.inverseRelationship.map { $0.isToMany && $0.isOrdered } ?? false
          toOnes[ObjectIdentifier(relationship)] = ToOneColumn(
            name: relationship.name, column: column,
            entityColumn: numbering.hasSubentities(destination) ? add("\(relationship.name)_entity", "bigint") : nil,
            orderColumn: isOrdered ? add("\(relationship.name)_position", "bigint") : nil,
            destinationEntityName: destination.name ?? "")
        default: continue
        }
      }
    }
    tables.append(EntityTable(name: table(of: root), rootNumber: numbering.number(of: root), columns: columns))
  }

  /// The type of an attribute, or an error for one without: an undefined attribute that is not transient.
  private func serverType(
    of attribute: NSAttributeDescription, _ name: String, _ entity: NSEntityDescription
  ) throws -> ServerType {
    if let type = ServerType(attribute) { return type }
    throw StoreSchemaError(
      "the attribute \(entity.name ?? "").\(name) is of a type that the PostgreSQL store does not keep")
  }

  /// A join table is named after the entity and the relationship, "Book_tags"; its columns after both.
  private func named(_ join: JoinLayout, _ names: inout Names) -> JoinLayout {
    let owner = numbering.entities.first { numbering.number(of: $0) == join.table.ownerNumber }?.name ?? ""
    let relationship = join.relationship.name
    var columns = Names([])
    let first = columns.unique(owner).quotedName
    let second = columns.unique(relationship).quotedName
    let order = join.orderColumn == nil ? nil : columns.unique("\(relationship)_position").quotedName
    let inverseOrder = join.inverseOrderColumn == nil ? nil : columns.unique("\(owner)_position").quotedName
    return JoinLayout(
      relationship: join.relationship, inverse: join.inverse,
      table: JoinTable(
        name: address.qualified(names.unique("\(owner)_\(relationship)")), firstColumn: first, secondColumn: second,
        orderColumns: [order, inverseOrder].compactMap { $0 }, ownerNumber: join.table.ownerNumber),
      orderColumn: order, inverseOrderColumn: inverseOrder)
  }
}

/// Names that are different in the first 63 bytes, which are all that the server looks at.
///
/// ```text
/// Names([]).unique("title")          title
///              .unique("title")      title1
///              .unique("a…a")        the first 59 bytes, so that a number fits behind it
/// ```
///
/// Source: the page "Lexical Structure", "Identifiers and Key Words": NAMEDATALEN.
struct Names {
  private var taken: Set<String>
  private static let longest = 59

  init(_ taken: some Sequence<String>) { self.taken = Set(taken) }

  mutating func unique(_ preferredName: String) -> String {
    var start = preferredName
    while start.utf8.count > Self.longest { start.removeLast() }
    var name = start
    var suffix = 0
    while !taken.insert(name).inserted {
      suffix += 1
      name = start + String(suffix)
    }
    return name
  }
}

extension ServerType {
  /// The type of an attribute's column; nil for attributes that no store keeps. The table of all types is at
  /// `ServerType`.
  ///
  /// The model alone decides, and not which transformers a program has registered: all programs must agree.
  init?(_ attribute: NSAttributeDescription) {
    if attribute.attributeType == .transformableAttributeType,
      attribute.valueTransformerName == NSValueTransformerName.jsonTransformerName.rawValue
    {
      self = .json
    } else {
      self.init(attribute.attributeType)
    }
  }

  /// The type of a column of a store.
  ///
  /// - Parameter attribute: nil for keys, versions and the numbers of entities.
  init(columnOf attribute: NSAttributeDescription?) { self = attribute.map { ServerType($0) ?? .text } ?? .int8 }

  private init?(_ type: NSAttributeType) {
    switch type {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType: self = .int8
    case .booleanAttributeType: self = .boolean
    case .doubleAttributeType, .floatAttributeType: self = .float8
    case .dateAttributeType: self = .timestamp
    case .decimalAttributeType: self = .numeric
    case .stringAttributeType, .URIAttributeType: self = .text
    case .UUIDAttributeType: self = .uuid
    case .binaryDataAttributeType, .transformableAttributeType: self = .bytes
    case .undefinedAttributeType, .objectIDAttributeType, .compositeAttributeType: return nil
    }
  }

  /// The type in a column's declaration. Texts are ordered by their bytes, as in memory: `COLLATE "C"` also lets an
  /// index answer `name >= 'J' AND name < 'K'`, no matter which locale the database has. Source: the page "Collation
  /// Support".
  var declaration: String { self == .text ? "text COLLATE \"C\"" : name }
}
