/// Lays the properties of a store's entities out in tables and columns, as Apple's store does.
///
/// The rules were learnt from files that Apple's frameworks wrote. A table holds a root entity and its subentities. Its
/// columns come in groups; each group goes through the entities in the order of their numbers, and through one entity's
/// properties in the order of their names.
///
/// The groups of a table, in their order, and what the library has of each:
///
/// ```text
/// group                                   columns
/// --------------------------------------  -------------------------------------------
/// 0  own                                  Z_PK, Z_ENT, Z_OPT
/// 1  integers and Booleans, then to-ones  ZISREAD, ZPAGES, ZAUTHOR
/// 2  positions in ordered inverses        Z_FOK_AUTHOR, if Author.books is ordered
/// 3  Double, Float and Date together      none
/// 4  Decimal                              none
/// 5  String                               ZTITLE
/// 6  URI    7  UUID    8  Transformable   none
/// 9  Binary                               ZCOVER, if a book had one
/// ```
///
/// Group 1 runs entity by entity: the integers of one, its to-ones, then the next entity. All later groups run over the
/// whole hierarchy before the next group begins.
///
/// The order matters for new files only: statements name their columns, and a file to which columns were added has them
/// at the end of its tables. A program that copies rows with `INSERT INTO … SELECT *` between files depends on it.
struct SchemaLayout {
  let numbering: EntityNumbering
  let prefix: String
  private(set) var tables: [EntityTable] = []
  private var attributes: [ObjectIdentifier: AttributeColumn] = [:]
  private var composites: [ObjectIdentifier: CompositeColumns] = [:]
  private var toOnes: [ObjectIdentifier: ToOneColumn] = [:]

  init(_ numbering: EntityNumbering, prefix: String) throws(StoreSchemaError) {
    self.numbering = numbering
    self.prefix = prefix
    for (index, root) in numbering.roots.enumerated() {
      if let other = numbering.roots[..<index].first(where: { table(of: $0) == table(of: root) }) {
        throw StoreSchemaError(
          "the entities \(other.name ?? "") and \(root.name ?? "") differ only in case and would share the table "
            + table(of: root))
      }
      try layOut(root)
    }
  }

  func column(of attribute: NSAttributeDescription) -> AttributeColumn? {
    attributes[ObjectIdentifier(attribute)]
  }

  func columns(of composite: NSCompositeAttributeDescription) -> CompositeColumns? {
    composites[ObjectIdentifier(composite)]
  }

  func column(of toOne: NSRelationshipDescription) -> ToOneColumn? {
    toOnes[ObjectIdentifier(toOne)]
  }

  /// The table of an entity: the prefix and the root entity's name in capitals.
  ///
  /// Two roots whose names differ only in case would have one table: `init` refuses them.
  func table(of entity: NSEntityDescription) -> String {
    prefix + (numbering.root(of: entity).name ?? "").uppercased()
  }

  /// The groups of attribute columns after the integers and keys, by type.
  private static let laterGroups: [[NSAttributeType]] = [
    [.doubleAttributeType, .floatAttributeType, .dateAttributeType], [.decimalAttributeType],
    [.stringAttributeType], [.URIAttributeType], [.UUIDAttributeType], [.transformableAttributeType],
    [.binaryDataAttributeType],
  ]

  private static let integers: Set<NSAttributeType> = [
    .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .booleanAttributeType,
  ]

  /// All checks come first: the error names a property, and no table is half laid out.
  private mutating func layOut(_ root: NSEntityDescription) throws(StoreSchemaError) {
    let hierarchy = numbering.hierarchy(of: root)
    var columns = ColumnList()
    for entity in hierarchy {
      try checkName(entity.name ?? "", "the entity")
      for property in numbering.properties(of: entity) {
        try checkName(property.name, "the property \(entity.name ?? "").")
        try checkType(property, of: entity)
      }
    }
    for entity in hierarchy {
      addAttributes(of: entity, types: Self.integers, to: &columns)
      addKeys(of: entity, to: &columns)
    }
    addOrderKeys(of: hierarchy, to: &columns)
    for group in Self.laterGroups {
      for entity in hierarchy {
        addAttributes(of: entity, types: Set(group), to: &columns)
      }
    }
    tables.append(
      EntityTable(name: table(of: root), rootNumber: numbering.number(of: root), columns: columns.columns))
  }

  private mutating func addAttributes(
    of entity: NSEntityDescription, types: Set<NSAttributeType>, to columns: inout ColumnList
  ) {
    for case let attribute as NSAttributeDescription in numbering.properties(of: entity) {
      if let composite = attribute as? NSCompositeAttributeDescription {
        addElements(of: composite, types: types, to: &columns)
      } else if types.contains(attribute.attributeType) {
        attributes[ObjectIdentifier(attribute)] = add([attribute.name], attribute.attributeType, to: &columns)
      }
    }
  }

  /// The columns of a composite attribute's elements are among those of its entity: "ZADDRESS_CITY" for "address.city".
  ///
  /// For `Author.address` with the elements `city` (String) and `zip` (Integer 32) the elements lie in the groups of
  /// their own types, not beside each other:
  ///
  /// ```text
  /// CREATE TABLE ZAUTHOR ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER,
  ///                        ZADDRESS_ZIP INTEGER, ZADDRESS_CITY VARCHAR, ZNAME VARCHAR )
  /// ```
  private mutating func addElements(
    of composite: NSCompositeAttributeDescription, types: Set<NSAttributeType>, to columns: inout ColumnList
  ) {
    for (path, attribute) in composite.leaves where types.contains(attribute.attributeType) {
      let column = add([composite.name] + path, attribute.attributeType, to: &columns)
      composites[ObjectIdentifier(composite), default: CompositeColumns()].add(
        CompositeColumns.Leaf(path: path, attribute: attribute, column: column))
    }
  }

  private func add(_ path: [String], _ type: NSAttributeType, to columns: inout ColumnList) -> AttributeColumn {
    let column = columns.add("Z" + path.joined(separator: "_").uppercased(), type.declaredType)
    return AttributeColumn(name: path.joined(separator: "."), column: column, type: type)
  }

  /// Adds the columns of an entity's to-one relationships.
  ///
  /// ```text
  /// Author.favourite, destination Book (2) without subentities    ZFAVOURITE INTEGER
  /// the same with the subentity Novel                             ZFAVOURITE INTEGER, Z2_FAVOURITE INTEGER
  /// ```
  ///
  /// Giving an entity its first subentity adds a column to every table that refers to it: the migration makes these
  /// tables anew.
  private mutating func addKeys(of entity: NSEntityDescription, to columns: inout ColumnList) {
    for relationship in toOneRelationships(of: entity) {
      let capitals = relationship.name.uppercased()
      let column = columns.add("Z" + capitals, "INTEGER")
      var entityColumn: String?
      if let destination = relationship.destinationEntity, numbering.hasSubentities(destination) {
        entityColumn = columns.add("Z\(numbering.number(of: destination))_\(capitals)", "INTEGER")
      }
      toOnes[ObjectIdentifier(relationship)] = ToOneColumn(
        name: relationship.name, column: column, entityColumn: entityColumn, orderColumn: nil,
        destinationEntityName: relationship.destinationEntity?.name ?? "")
    }
  }

  /// Adds a position key for each to-one whose inverse is ordered.
  ///
  /// With an ordered `Author.books`, `ZBOOK` gets `Z_FOK_AUTHOR`, the place of the book among its author's books. First
  /// the columns of all to-ones are there, so that this one can be named after the column, a suffix included.
  private mutating func addOrderKeys(of hierarchy: [NSEntityDescription], to columns: inout ColumnList) {
    for entity in hierarchy {
      let ordered = toOneRelationships(of: entity)
        .filter { $0.inverseRelationship.map { $0.isToMany && $0.isOrdered } ?? false }
        // By the inverse's name, last first: the only order that fits the files seen.
        .sorted { ($1.inverseRelationship?.name ?? "").precedesByBytes($0.inverseRelationship?.name ?? "") }
      for relationship in ordered {
        guard let toOne = toOnes[ObjectIdentifier(relationship)] else { continue }
        let orderColumn = columns.add("Z_FOK_" + toOne.column.dropFirst(), "INTEGER")
        toOnes[ObjectIdentifier(relationship)] = ToOneColumn(
          name: toOne.name, column: toOne.column, entityColumn: toOne.entityColumn, orderColumn: orderColumn,
          destinationEntityName: toOne.destinationEntityName)
      }
    }
  }

  private func toOneRelationships(of entity: NSEntityDescription) -> [NSRelationshipDescription] {
    numbering.properties(of: entity).compactMap { $0 as? NSRelationshipDescription }.filter { !$0.isToMany }
  }

  // MARK: Checks

  /// Names become part of SQL text.
  ///
  /// Names of columns are not quoted in statements: quoting would also protect a name that is a keyword, but the letter
  /// `Z` in front does that already. What is left to exclude are spaces, quotes and semicolons.
  private func checkName(_ name: String, _ what: String) throws(StoreSchemaError) {
    let isName = name.first.map { $0.isLetter || $0 == "_" } ?? false
    guard isName, name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" }) else {
      throw StoreSchemaError("\(what) \"\(name)\" has a name that is not made of letters, digits and underscores")
    }
  }

  /// Object IDs have no form in a file: they name a row of a store by its place in this process. Undefined types are
  /// for transient attributes only.
  private func checkType(
    _ property: NSPropertyDescription, of entity: NSEntityDescription
  ) throws(StoreSchemaError) {
    guard let attribute = property as? NSAttributeDescription else { return }
    let name = "\(entity.name ?? "").\(attribute.name)"
    if let composite = attribute as? NSCompositeAttributeDescription {
      if composite.elements.isEmpty { throw StoreSchemaError("the composite attribute \(name) has no elements") }
      for element in composite.elements {
        try checkName(element.name, "the element \(name).")
        try checkType(element, of: entity)
      }
      return
    }
    guard attribute.attributeType.declaredType.isEmpty else { return }
    throw StoreSchemaError(
      "the attribute \(name) is of a type that the SQLite store does not keep")
  }
}

extension NSAttributeType {
  /// The type in the column's declaration; empty for types that a store does not hold.
  ///
  /// SQLite uses the declared type only for its affinity (https://www.sqlite.org/datatype3.html, 3.1): it does not
  /// refuse values of other kinds.
  ///
  /// ```text
  /// declared    affinity   what that does here
  /// INTEGER     INTEGER    a REAL without a fraction is stored as an integer
  /// FLOAT       REAL       integers become REAL when they are read
  /// TIMESTAMP   NUMERIC    a date of whole seconds is stored as an integer: 817551816 instead of 817551816.0
  /// DECIMAL     NUMERIC    the same; a fraction is a REAL, which keeps 15 digits
  /// VARCHAR     TEXT       a number is stored as its text
  /// BLOB        BLOB       nothing is converted
  /// ```
  ///
  /// The rule of affinity that surprises: FLOAT contains "FLOA", therefore REAL; DECIMAL and TIMESTAMP contain none of
  /// SQLite's words, therefore NUMERIC. An average in SQL has to beware of the integers among dates and decimals: see
  /// `SQLGenerator.aggregate`.
  fileprivate var declaredType: String {
    switch self {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .booleanAttributeType: "INTEGER"
    case .doubleAttributeType, .floatAttributeType: "FLOAT"
    case .dateAttributeType: "TIMESTAMP"
    case .decimalAttributeType: "DECIMAL"
    case .stringAttributeType, .URIAttributeType: "VARCHAR"
    case .UUIDAttributeType, .transformableAttributeType, .binaryDataAttributeType: "BLOB"
    case .undefinedAttributeType, .objectIDAttributeType, .compositeAttributeType: ""
    }
  }
}

/// Columns under construction, each with a unique name: the second "ZACCOUNT" becomes "ZACCOUNT1".
///
/// Two subentities may each have a property `account`. The first in the order of the groups is `ZACCOUNT`, the second
/// `ZACCOUNT1`, as in Apple's files. Which one is which follows from the order alone, so nobody may ask for a column by
/// a name that he has made of the property's.
private struct ColumnList {
  private(set) var columns: [EntityTable.Column] = []
  private var names: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT"]

  init() {
    columns = [
      EntityTable.Column(name: "Z_PK", declaredType: "INTEGER PRIMARY KEY"),
      EntityTable.Column(name: "Z_ENT", declaredType: "INTEGER"),
      EntityTable.Column(name: "Z_OPT", declaredType: "INTEGER"),
    ]
  }

  mutating func add(_ preferredName: String, _ declaredType: String) -> String {
    var name = preferredName
    var suffix = 0
    while !names.insert(name).inserted {
      suffix += 1
      name = preferredName + String(suffix)
    }
    columns.append(EntityTable.Column(name: name, declaredType: declaredType))
    return name
  }
}
