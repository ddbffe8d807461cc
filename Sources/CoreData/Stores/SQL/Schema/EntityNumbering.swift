/// The numbers (`Z_ENT`) of a store's entities.
///
/// A new file numbers them depth first through the hierarchy from 1, siblings by name without regard to case. An entity
/// whose superentity is not in the store is a root.
///
/// ```text
/// Model                         Walk       Z_ENT   Z_SUPER
/// ----------------------------  ---------  -----   -------
/// Book                          Author       1        0
///   Novel    (super: Book)      Book         2        0
/// Author                          Atlas      3        2
///   …                             Novel      4        2
///   Atlas    (super: Book)      Shelf        5        0
/// Shelf
/// ```
///
/// The number is in names: a new subentity `Atlas` moves `Novel` from 3 to 4, and with it every table and column that
/// is named after the number, such as `Z_3…`. That is why a new entity in the middle needs a migration that makes the
/// tables anew, and `SchemaAdditions` accepts new entities only with numbers after the others.
///
/// Names are compared by their bytes in lower case: "bookmark" comes before "Bookshelf". Seen in Apple's files, where
/// `NetworkAttachment` precedes `NWActivityFragment`.
package struct EntityNumbering {
  /// The entities in the order of a walk through the hierarchy: every entity after its superentity.
  package let entities: [NSEntityDescription]
  private let numbers: [ObjectIdentifier: Int]
  private let parents: [ObjectIdentifier: NSEntityDescription]

  /// Numbers for a new file.
  package init(_ entities: [NSEntityDescription]) {
    let walk = Self.walk(entities)
    self.init(walk, numbers: Dictionary(uniqueKeysWithValues: walk.enumerated().map { (ObjectIdentifier($1), $0 + 1) }))
  }

  /// The numbers in an existing file, by entity name. An entity whose name is missing gets the row with the number that
  /// a new file would give it, if the model does not know that row's name: lightweight migration was seen to leave the
  /// old name of a renamed entity.
  ///
  /// The file's numbers win over those that the rules would give, since its rows and column names have them:
  ///
  /// ```text
  /// Z_PRIMARYKEY of the file          model       number
  /// Z_ENT  Z_NAME                     ---------   ------
  ///   1    Author                     Author        1       by its name
  ///   2    Tome                       Book          2       no row "Book"; a new file would give 2, and the model
  ///                                                         knows no Tome: the row is taken for the renamed entity
  /// ```
  package init(_ entities: [NSEntityDescription], rows: [SchemaFile.EntityRow]) throws(StoreSchemaError) {
    let fresh = Self(entities)
    let byName = Dictionary(rows.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    let entityNames = Set(entities.map { $0.name ?? "" })
    let nameless = Dictionary(
      rows.filter { !entityNames.contains($0.name) }.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
    var numbers: [ObjectIdentifier: Int] = [:]
    for entity in fresh.entities {
      guard let row = byName[entity.name ?? ""] ?? nameless[fresh.number(of: entity)] else {
        throw StoreSchemaError("the file has no entity \(entity.name ?? "")")
      }
      numbers[ObjectIdentifier(entity)] = row.number
    }
    self.init(fresh.entities, numbers: numbers)
  }

  private init(_ entities: [NSEntityDescription], numbers: [ObjectIdentifier: Int]) {
    self.entities = entities
    self.numbers = numbers
    var parents: [ObjectIdentifier: NSEntityDescription] = [:]
    for entity in entities {
      guard let parent = entity.superentity, numbers[ObjectIdentifier(parent)] != nil else { continue }
      parents[ObjectIdentifier(entity)] = parent
    }
    self.parents = parents
  }

  func contains(_ entity: NSEntityDescription) -> Bool {
    numbers[ObjectIdentifier(entity)] != nil
  }

  /// The number of an entity; 0 for one outside of the store.
  package func number(of entity: NSEntityDescription) -> Int {
    numbers[ObjectIdentifier(entity)] ?? 0
  }

  /// The superentity, if it is in the store.
  func parent(of entity: NSEntityDescription) -> NSEntityDescription? {
    parents[ObjectIdentifier(entity)]
  }

  package func root(of entity: NSEntityDescription) -> NSEntityDescription {
    var root = entity
    while let parent = parent(of: root) { root = parent }
    return root
  }

  /// The roots, in the order of their numbers.
  package var roots: [NSEntityDescription] {
    entities.filter { parent(of: $0) == nil }.sorted(on: { number(of: $0) })
  }

  /// An entity and all entities below it in the store, in the order of their numbers.
  package func hierarchy(of entity: NSEntityDescription) -> [NSEntityDescription] {
    entities
      .filter { candidate in sequence(first: candidate, next: parent(of:)).contains { $0 === entity } }
      .sorted(on: { number(of: $0) })
  }

  package func hasSubentities(_ entity: NSEntityDescription) -> Bool {
    entities.contains { parent(of: $0) === entity }
  }

  /// The properties for which an entity adds columns: its own, and for a root those that it inherits from outside of
  /// the store.
  ///
  /// An entity of a configuration may have a superentity that another store holds. Then its table is here and its root
  /// is not, so the inherited properties need columns here.
  package func properties(of entity: NSEntityDescription) -> [NSPropertyDescription] {
    let properties = parent(of: entity) == nil ? entity.properties : entity.declaredProperties
    return properties.filter { !$0.isTransient }.sorted(onBytes: { $0.name })
  }

  /// Only the entities of the store count: a superentity in another configuration neither gets a number nor makes its
  /// subentity one.
  private static func walk(_ entities: [NSEntityDescription]) -> [NSEntityDescription] {
    let inStore = Set(entities.map(ObjectIdentifier.init))
    var children: [ObjectIdentifier: [NSEntityDescription]] = [:]
    var roots: [NSEntityDescription] = []
    for entity in entities {
      if let parent = entity.superentity, inStore.contains(ObjectIdentifier(parent)) {
        children[ObjectIdentifier(parent), default: []].append(entity)
      } else {
        roots.append(entity)
      }
    }
    var walk: [NSEntityDescription] = []
    func visit(_ siblings: [NSEntityDescription]) {
      for entity in siblings.sorted(by: precedes) {
        walk.append(entity)
        visit(children[ObjectIdentifier(entity)] ?? [])
      }
    }
    visit(roots)
    return walk
  }

  private static func precedes(_ one: NSEntityDescription, _ other: NSEntityDescription) -> Bool {
    let (name, otherName) = (one.name ?? "", other.name ?? "")
    let (folded, otherFolded) = (name.lowercased(), otherName.lowercased())
    return folded == otherFolded ? name.precedesByBytes(otherName) : folded.precedesByBytes(otherFolded)
  }
}

/// The reason why a model does not fit a file, with the entity or property. As an `NSError` it is Core Data's
/// "incompatible schema".
///
/// Opening a store turns it into 134020 with the file's path (`SQLiteStore.naming`). Where additions are looked for, it
/// only means that more than additions are needed (`StoreOpening.migrate`).
package struct StoreSchemaError: CustomNSError, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }

  package static var errorDomain: String { NSCocoaErrorDomain }
  package var errorCode: Int { CocoaError.Code.persistentStoreIncompatibleSchema.rawValue }
  package var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }
}

/// The tables of an existing file, or of a store at a server.
///
/// It is read with two statements for the whole file, and then compared in memory with what the model asks for:
///
/// ```text
/// SELECT Z_ENT, Z_NAME, Z_SUPER FROM Z_PRIMARYKEY WHERE Z_ENT < 16001
/// SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
///   WHERE tables.type = 'table' ORDER BY tables.rowid, columns.cid
/// ```
package struct SchemaFile: Sendable {
  /// A row of `Z_PRIMARYKEY`, or of a server's table of entities.
  package struct EntityRow: Sendable {
    package let number: Int
    package let name: String
    let superNumber: Int

    package init(number: Int, name: String, superNumber: Int) {
      self.number = number
      self.name = name
      self.superNumber = superNumber
    }
  }

  package let entities: [EntityRow]
  /// The names of the columns by table.
  package let columns: [String: [String]]

  package init(entities: [EntityRow], columns: [String: [String]]) {
    self.entities = entities
    self.columns = columns
  }
}
