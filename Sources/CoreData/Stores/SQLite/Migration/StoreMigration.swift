internal import Synchronization

/// Lightweight migration: gives a store's file the schema of a new model, in place and in the caller's transaction.
///
/// The tables are created again and filled from the old ones. Rows keep their keys, so objects keep their IDs except
/// for the names of renamed entities. Readers see the old state or the new one, and an interrupted migration changes
/// nothing.
///
/// `Book.note` is renamed to `remark`, and `rating` (Integer 16, mandatory, default 3) is new:
///
/// ```text
/// BEGIN IMMEDIATE
/// DROP index "ZBOOK_ZAUTHOR_INDEX"                                     setAside
/// ALTER TABLE ZAUTHOR RENAME TO cd_old_ZAUTHOR
/// ALTER TABLE ZBOOK RENAME TO cd_old_ZBOOK
/// CREATE TABLE ZAUTHOR ( … )                                           the new tables
/// CREATE TABLE ZBOOK ( …, ZRATING INTEGER, ZAUTHOR INTEGER, ZREMARK VARCHAR, ZTITLE VARCHAR )
/// INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT Z_PK, 1, Z_OPT, ZNAME FROM cd_old_ZAUTHOR WHERE Z_ENT = 1
/// INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZREMARK, ZRATING, ZAUTHOR, …)
///   SELECT Z_PK, 2, Z_OPT, ZNOTE, 3, CASE WHEN … END, … FROM cd_old_ZBOOK WHERE Z_ENT = 2
/// DROP TABLE "cd_old_ZAUTHOR"                                          unless the migration is deferred
/// DROP TABLE "cd_old_ZBOOK"
/// CREATE INDEX ZBOOK_ZAUTHOR_INDEX ON ZBOOK (ZAUTHOR)
/// DELETE FROM Z_PRIMARYKEY WHERE Z_ENT < 16001, INSERT INTO Z_PRIMARYKEY … for each entity, with the old Z_MAX
/// UPDATE ACHANGE SET ZENTITY = CASE ZENTITY WHEN 1 THEN 1 WHEN 2 THEN 2 END
/// UPDATE Z_METADATA …, INSERT INTO Z_MODELCACHE …                      finishMigration
/// INSERT INTO ATRANSACTION …                                           "com.apple.coredata.schemamigrator: …"
/// COMMIT
/// ```
///
/// SQLite changes schemas inside of transactions (https://www.sqlite.org/lang_transaction.html), which makes the whole
/// of it one step. Old and new tables are in the file beside each other for a time.
struct StoreMigration {
  let mapping: InferredMapping
  let old: StoreSchema
  let new: StoreSchema
  let connection: SQLiteConnection

  init(
    from sources: [NSEntityDescription], to destinations: [NSEntityDescription], prefix: String,
    _ connection: SQLiteConnection
  ) throws {
    mapping = try InferredMapping(from: sources, to: destinations)
    old = try StoreSchema(entities: sources, prefix: prefix, file: SchemaFile(connection, prefix: prefix))
    new = try StoreSchema(entities: destinations, prefix: prefix)
    self.connection = connection
    let folder = ExternalFolder(of: URL(fileURLWithPath: connection.path))
    connection.register(
      SQLFunction(name: Self.contentsOfFile, argumentCount: 1) { [unreadable] arguments in
        guard case .blob(let stored) = arguments[0], let name = ExternalData.fileName(stored) else { return .null }
        do {
          return .blob(try folder.read(name, of: "the store"))
        } catch {
          unreadable.note(error)
          return .null
        }
      })
  }

  /// The first file of external data that could not be read; the migration fails then.
  private let unreadable = UnreadableFile()

  /// The SQL function that reads a file of external data.
  private static let contentsOfFile = "cd_external"

  /// Migrates the store. Each step needs what the ones before have done:
  ///
  /// ```text
  /// checkHierarchies      rows of two old tables cannot come into one: their keys would collide
  /// guests                what persons have made of the tables: refuse now, or make again later
  /// setAside              the new tables get the old ones' names
  /// copyRows              each entity's rows, by its own INSERT … SELECT
  /// copyRelationships     join tables and positions, when all rows are there
  /// renewIndexes          after the rows: building an index at once is cheaper than growing it row by row
  /// derived attributes    triggers, then the values of all rows
  /// number, history       the counters of keys, the numbers in ACHANGE
  /// ```
  ///
  /// - Parameter isDeferred: whether what no reader needs is left for ``DeferredMigration``.
  func run(isDeferred: Bool = false) throws {
    connection.growCacheForFile()
    try checkHierarchies()
    // Those of an earlier migration that was not finished.
    try DeferredMigration.dropOldTables(connection)
    mapping.writeWarnings()
    let lastKeys = try self.lastKeys()
    let guests = try StoreGuests(SQLiteGuests(of: old, connection).all(), at: connection.path)
    try setAside()
    for statement in new.entityTableStatements { try connection.execute(statement) }
    for entity in new.entities { try copyRows(of: entity) }
    if let error = unreadable.error { throw error }
    try copyRelationships()
    if !isDeferred { try DeferredMigration.dropOldTables(connection) }
    try SQLiteStore.renewIndexes(new, onlyUnique: isDeferred, connection)
    for statement in new.derivedAttributeStatements + new.derivedAttributeFills { try connection.execute(statement) }
    try guests.restore()
    try number(lastKeys)
    try renumberHistory()
  }

  // MARK: Entities

  func source(of entity: TableMapping) -> TableMapping? {
    mapping.byDestination[entity.name]?.source.flatMap { old.entitiesByName[$0.name ?? ""] }
  }

  /// The rows of a table come from one old table, because several could have the same keys.
  private func checkHierarchies() throws {
    for table in new.tables {
      let hierarchy = new.entities.filter { $0.rootNumber == table.rootNumber }
      let roots = Set(hierarchy.compactMap { source(of: $0)?.rootNumber })
      if roots.count > 1 {
        let names = hierarchy.map(\.name).joined(separator: ", ")
        throw InferredMapping.failure("\(names) are of one hierarchy now and were of several")
      }
    }
  }

  /// The last key given in each old table, by the root entity's number.
  private func lastKeys() throws -> [Int: Int64] {
    var keys: [Int: Int64] = [:]
    for table in old.tables {
      let counted =
        try connection.integer(
          "SELECT Z_MAX FROM \(raw: old.primaryKeyTable) WHERE Z_ENT = \(raw: table.rootNumber)") ?? 0
      keys[table.rootNumber] = max(counted, try connection.integer("SELECT max(Z_PK) FROM \(raw: table.name)") ?? 0)
    }
    return keys
  }

  // MARK: Tables

  private var oldTables: [String] { old.tables.map(\.name) + old.joinTables.map(\.name) }

  func aside(_ table: String) -> String { DeferredMigration.aside(table) }

  /// Indexes are dropped and not renamed: SQLite cannot rename one, and the new tables need the names.
  private func setAside() throws {
    for table in oldTables {
      let rows = try connection.rows(
        """
        SELECT type, name FROM sqlite_master WHERE tbl_name = \(bind: .text(table)) \
        AND type IN ('index', 'trigger') AND sql NOT NULL
        """)
      for row in rows {
        if case .text(let type) = row[0], case .text(let name) = row[1] {
          try connection.execute("DROP \(type) \"\(name)\"")
        }
      }
    }
    // Otherwise SQLite would write the old tables' new names into views, and triggers and foreign keys of other tables
    // (https://www.sqlite.org/pragma.html#pragma_legacy_alter_table).
    try connection.execute("PRAGMA legacy_alter_table = ON")
    defer { try? connection.execute("PRAGMA legacy_alter_table = OFF") }
    for table in oldTables { try connection.execute("ALTER TABLE \(table) RENAME TO \(aside(table))") }
  }

  private func number(_ lastKeys: [Int: Int64]) throws {
    let table = new.primaryKeyTable
    try connection.execute("DELETE FROM \(table) WHERE Z_ENT < \(HistoryTables.Number.change)")
    for entity in new.entities {
      let hierarchy = new.entities.filter { $0.rootNumber == entity.number }
      let last = hierarchy.lazy.compactMap { source(of: $0) }.first.flatMap { lastKeys[$0.rootNumber] } ?? 0
      let lastKey = entity.number == entity.rootNumber ? last : 0
      try connection.run(
        """
        INSERT INTO \(raw: table) (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (\(bind: .integer(Int64(entity.number))), \
        \(bind: .text(entity.name)), \(bind: .integer(Int64(entity.superNumber))), \(bind: .integer(lastKey)))
        """)
    }
  }

  /// The history continues with the new numbers.
  private func renumberHistory() throws {
    guard let tables = try HistoryTables(prefix: new.prefix, connection) else { return }
    try connection.execute(
      "UPDATE \(tables.changes) SET ZENTITY = \(newNumber("ZENTITY")); "
        + "DELETE FROM \(tables.changes) WHERE ZENTITY IS NULL")
  }

  /// The new number of the entity whose old number an expression gives; NULL for an entity that is gone.
  ///
  /// `CASE ZENTITY WHEN 1 THEN 1 WHEN 2 THEN 3 END`: an entity that is gone gives NULL, by which its references and its
  /// history are found and dropped.
  private func newNumber(_ expression: String) -> String {
    let cases = new.entities.compactMap { entity in
      source(of: entity).map { "WHEN \($0.number) THEN \(entity.number)" }
    }
    return cases.isEmpty ? "NULL" : "CASE \(expression) \(cases.joined(separator: " ")) END"
  }

  // MARK: Rows

  /// A to-one relationship that led to an entity which is gone becomes NULL; one to an entity with another number gets
  /// the new number:
  ///
  /// ```text
  /// CASE WHEN CASE 1 WHEN 1 THEN 1 WHEN 2 THEN 2 END IS NULL THEN NULL ELSE ZAUTHOR END
  ///           the new number of the old entity 1              the key stays
  /// ```
  private func copyRows(of entity: TableMapping) throws {
    guard let source = source(of: entity), let inferred = mapping.byDestination[entity.name] else { return }
    var columns = ["Z_PK", "Z_ENT", "Z_OPT"]
    var values: [SQL] = ["Z_PK", "\(raw: String(entity.number))", "Z_OPT"]
    for attribute in entity.attributes.values {
      let value = try value(of: attribute, entity, inferred, source)
      columns.append(attribute.column)
      values.append(value)
    }
    for toOne in entity.toOnes.values {
      guard let was = inferred.relationships[toOne.name].flatMap({ source.toOnes[$0.name] }) else { continue }
      // References to a row that is gone with its entity are dropped. Without a number the relationship's destination
      // is meant, as in a fetch.
      let destination = String(old.entitiesByName[was.destinationEntityName]?.number ?? 0)
      let number = newNumber(was.entityColumn.map { "coalesce(nullif(\($0), 0), \(destination))" } ?? destination)
      columns.append(toOne.column)
      values.append("CASE WHEN \(raw: number) IS NULL THEN NULL ELSE \(raw: was.column) END")
      if let column = toOne.entityColumn {
        columns.append(column)
        values.append("CASE WHEN \(raw: was.column) IS NULL THEN NULL ELSE \(raw: number) END")
      }
      if let column = toOne.orderColumn, let before = was.orderColumn {
        columns.append(column)
        values.append("\(raw: before)")
      }
    }
    try connection.run(
      """
      INSERT INTO \(raw: entity.table) (\(raw: columns.joined(separator: ", "))) \
      SELECT \(values.joined(", ")) FROM \(raw: aside(source.table)) WHERE Z_ENT = \(raw: source.number)
      """)
  }

  /// An attribute's value in the old row; its default if the attribute is new, or is mandatory and had no value.
  ///
  /// ```text
  /// title, optional                       ZTITLE
  /// pages, mandatory                      coalesce(ZPAGES, 0)                    with the model's default
  /// rating, new, default 3                3
  /// cover, external since now             CASE WHEN ZCOVER IS NULL THEN NULL ELSE CAST(x'01' || ZCOVER AS BLOB) END
  /// cover, external no more               the bytes after 01, or cd_external(ZCOVER): the file's content
  /// ```
  private func value(
    of attribute: AttributeColumn, _ entity: TableMapping, _ inferred: InferredMapping.Entity, _ source: TableMapping
  ) throws -> SQL {
    guard let description = entity.entity.attributesByName[attribute.name] else {
      return try value(ofElement: attribute, entity, inferred, source)
    }
    let defaultValue = try defaultValue(of: description, entity)
    guard let was = inferred.attributes[attribute.name], let column = source.attributes[was.name]?.column else {
      return "\(bind: defaultValue)"
    }
    var value: SQL = "\(raw: column)"
    // With external storage the first byte tells where the value is.
    if description.allowsExternalBinaryDataStorage && !was.allowsExternalBinaryDataStorage {
      value = "CASE WHEN \(raw: column) IS NULL THEN NULL ELSE CAST(x'01' || \(raw: column) AS BLOB) END"
    } else if was.allowsExternalBinaryDataStorage && !description.allowsExternalBinaryDataStorage {
      value =
        """
        CASE substr(\(raw: column), 1, 1) WHEN x'01' THEN substr(\(raw: column), 2) \
        WHEN x'02' THEN \(raw: Self.contentsOfFile)(\(raw: column)) ELSE \(raw: column) END
        """
    }
    return description.isOptional ? value : "coalesce(\(value), \(bind: defaultValue))"
  }

  /// An element of a composite attribute. A new element of an old composite gets its default if the composite had a
  /// value.
  private func value(
    ofElement attribute: AttributeColumn, _ entity: TableMapping, _ inferred: InferredMapping.Entity,
    _ source: TableMapping
  ) throws -> SQL {
    let path = attribute.name.components(separatedBy: ".")
    guard let composite = entity.entity.attributesByName[path[0]] as? NSCompositeAttributeDescription,
      let element = composite.element(at: path.dropFirst())
    else { return "NULL" }
    let initial = (composite.initialValue as? [String: Any]).flatMap { CompositeValue.value(at: path[1...], in: $0) }
    let defaultValue: SQL = "\(bind: try connection.stored { $0.value(initial, of: element) })"
    guard let was = inferred.attributes[composite.name] as? NSCompositeAttributeDescription,
      let columns = source.composites[was.name]
    else { return defaultValue }
    let old = InferredMapping.path(path[1...], of: composite, in: was)
    let column = columns.leaves.first { $0.path == old }?.column.column
    if element.isOptional { return column.map { "\(raw: $0)" } ?? "NULL" }
    let oldValues = columns.leaves.map(\.column.column) + ["NULL"]
    let value = column.map { "coalesce(\(raw: $0), \(defaultValue))" as SQL } ?? defaultValue
    return "CASE WHEN coalesce(\(raw: oldValues.joined(separator: ", "))) IS NULL THEN NULL ELSE \(value) END"
  }

  private func defaultValue(of attribute: NSAttributeDescription, _ entity: TableMapping) throws -> SQLiteValue {
    let layout = entity.entity.layout
    let encoder = RowEncoder(entity, layout: layout, [])
    guard attribute.defaultValue != nil, let slot = layout.slot(attribute.name),
      let step = encoder.steps.first(where: { $0.slot == slot })
    else { return .null }
    return try connection.stored { encoder.write(step, of: layout.defaults, to: &$0) { $0 } }
  }
}

/// The first error of a SQL function, which cannot throw.
private final class UnreadableFile: Sendable {
  private let first = Mutex<(any Error)?>(nil)

  var error: (any Error)? { first.withLock { $0 } }

  func note(_ error: any Error) { first.withLock { $0 = $0 ?? error } }
}
