extension StoreSchema {
  /// The table of entities with their numbers and highest keys.
  ///
  /// The table hands out keys. It has a row for each entity and, in a file with history, for each of the history's
  /// tables:
  ///
  /// ```text
  /// Z_ENT  Z_NAME             Z_SUPER  Z_MAX
  ///     1  Author                   0      1     the next author gets the key 2
  ///     2  Book                     0      2     one book was deleted: its key 2 is not given again
  ///     3  Novel                    2      0     a subentity counts with its root, Book
  /// 16001  CHANGE                   0      6     the last row of ACHANGE
  /// 16002  TRANSACTION              0      3
  /// 16003  TRANSACTIONSTRING        0      2
  /// ```
  ///
  /// A save reserves keys with `UPDATE … SET Z_MAX = Z_MAX + n` inside of its transaction (`SQLiteStore.takeKeys`). A
  /// rolled-back save gives them back, since the update is rolled back with it.
  var primaryKeyTable: String { prefix + "_PRIMARYKEY" }

  /// The table of one row that holds the store's identity and metadata.
  ///
  /// ```text
  /// Z_VERSION  Z_UUID                                Z_PLIST
  ///         1  3DADAD7C-A627-469D-80FB-A312CDACF7B7  bplist00… (see `StoreMetadata`)
  /// ```
  ///
  /// Its presence is what makes an SQLite file a store (`SQLiteStore.hasStore`). A second store in the file has another
  /// prefix and a table of its own.
  var metadataTable: String { prefix + "_METADATA" }

  /// The table of one row in which the store keeps a copy of its model. Stores of older frameworks have none.
  ///
  /// ```text
  /// Z_CONTENT   1447 bytes: raw DEFLATE, which unpacks to 1994 bytes of a binary property list, a keyed archive of
  ///             the NSManagedObjectModel
  /// ```
  ///
  /// With it a file can be opened, exported and migrated by a program that does not have the model of its version
  /// (`SQLiteStore.keptModel`). Python reads it with `zlib.decompress(content, -15)`.
  var modelCacheTable: String { prefix + "_MODELCACHE" }

  /// The statements that create a new file's schema, in the order in which Apple's files have it: the tables of
  /// entities, each followed by the join tables that it names; their indexes; triggers; then the store's own tables
  /// with a row per entity.
  ///
  /// For the library:
  ///
  /// ```text
  /// CREATE TABLE ZAUTHOR ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR )
  /// CREATE TABLE ZBOOK ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZISREAD INTEGER, ZPAGES INTEGER,
  ///                      ZAUTHOR INTEGER, ZTITLE VARCHAR )
  /// CREATE INDEX ZBOOK_ZAUTHOR_INDEX ON ZBOOK (ZAUTHOR)
  /// CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)
  /// CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)
  /// CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)
  /// INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (1, 'Author', 0, 0)
  /// INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (2, 'Book', 0, 0)
  /// ```
  ///
  /// `Z_PK INTEGER PRIMARY KEY` is SQLite's rowid itself (https://www.sqlite.org/lang_createtable.html, "ROWIDs and the
  /// INTEGER PRIMARY KEY"): looking a row up by its key walks one B-tree, and the key takes no space of its own. The
  /// type has to be spelt INTEGER for that; BIGINT would make a second index.
  var creationStatements: [String] {
    entityTableStatements + indexStatements + derivedAttributeStatements + [
      "CREATE TABLE \(primaryKeyTable) (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
      "CREATE TABLE \(metadataTable) (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)",
      "CREATE TABLE \(modelCacheTable) (Z_CONTENT BLOB)",
    ]
      + entities.map { entity in
        """
        INSERT INTO \(primaryKeyTable) (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) \
        VALUES (\(entity.number), '\(entity.name)', \(entity.superNumber), 0)
        """
      }
  }

  var entityTableStatements: [String] {
    tables.flatMap { table in
      let hierarchy = Set(entitiesByNumber[table.rootNumber]?.numbersIncludingSubentities ?? [])
      return [table.creationStatement]
        + joinTables.filter { hierarchy.contains($0.ownerNumber) }.map(\.creationStatement)
    }
  }

  // MARK: Indexes

  var indexStatements: [String] {
    tables.flatMap { table -> [String] in
      let hierarchy = entitiesByNumber[table.rootNumber]?.numbersIncludingSubentities ?? []
      let mappings = hierarchy.compactMap { entitiesByNumber[$0] }
      var statements: [String] = keyIndexes(of: table, mappings)
      for table in joinTables where hierarchy.contains(table.ownerNumber) { statements.append(table.indexStatement) }
      for mapping in mappings { statements += fetchIndexes(of: mapping) + uniqueIndexes(of: mapping) }
      return statements
    }
  }

  /// One index for each to-one, because its inverse is looked for by it, and one for the entity where a table has
  /// several.
  private func keyIndexes(of table: EntityTable, _ mappings: [TableMapping]) -> [String] {
    let keys = Set(mappings.flatMap { $0.toOnes.values.map(\.column) })
    var statements = table.columns.filter { keys.contains($0.name) }.map { column in
      "CREATE INDEX \(table.name)_\(column.name)_INDEX ON \(table.name) (\(column.name))"
    }
    if mappings.count > 1 {
      statements.append("CREATE INDEX \(table.name)_Z_ENT_INDEX ON \(table.name) (Z_ENT)")
    }
    return statements
  }

  /// An index "byAuthor" of the author and the title, for books with a title, is:
  ///
  /// ```text
  /// CREATE INDEX Z_Book_byAuthor ON ZBOOK (ZAUTHOR COLLATE BINARY ASC, ZTITLE COLLATE BINARY ASC)
  ///   WHERE ZTITLE IS NOT NULL
  /// ```
  ///
  /// BINARY serves `==`, `BEGINSWITH`, comparisons and orders without options. `==[c]` calls `cd_fold`, which no index
  /// of the column serves; keep a derived attribute `canonical:(title)` for that, and index it.
  private func fetchIndexes(of mapping: TableMapping) -> [String] {
    var names: Set<String> = []
    return mapping.fetchIndexes.filter { names.insert($0.name.lowercased()).inserted }.map { index in
      let list = index.columns.map { "\($0.column) COLLATE BINARY \($0.isAscending ? "ASC" : "DESC")" }
      let condition = index.conditions.isEmpty ? "" : " WHERE \(index.conditions.joined(separator: " AND "))"
      return """
        CREATE INDEX \(prefix)_\(mapping.name)_\(index.name.asIndexName) \
        ON \(mapping.table) (\(list.joined(separator: ", ")))\(condition)
        """
    }
  }

  /// `Book.uniquenessConstraints = [["title"]]` makes:
  ///
  /// ```text
  /// CREATE UNIQUE INDEX Z_Book_UNIQUE_title ON ZBOOK (ZTITLE COLLATE BINARY ASC)
  /// ```
  ///
  /// The index spans the whole table: a constraint that `Novel` declares holds for all books that have its columns. Two
  /// rows with NULL do not violate it (https://www.sqlite.org/lang_createindex.html, "Unique Indexes").
  private func uniqueIndexes(of mapping: TableMapping) -> [String] {
    mapping.entity.uniquenessConstraints.map(mapping.entity.names(of:)).compactMap { names in
      let columns = mapping.columns(of: names)
      guard columns.count == names.count, !columns.isEmpty else { return nil }
      let list = columns.map { "\($0) COLLATE BINARY ASC" }.joined(separator: ", ")
      let name = "\(prefix)_\(mapping.name)_UNIQUE_\(names.joined(separator: "_").asIndexName)"
      return "CREATE UNIQUE INDEX \(name) ON \(mapping.table) (\(list))\(mapping.uniqueCondition(columns))"
    }
  }
}

extension TableMapping {
  /// The user info with which an entity of the program's own model asks for unique indexes without the rows in which
  /// one of the values is nil. They are as strict, since nil differs from everything, and cost such rows nothing.
  /// Apple's unique indexes hold all rows.
  private static let uniqueKey = "sqlite.uniqueIndexes"
  private static let partialValue = "partial"

  /// The condition of the unique index over these columns, with WHERE; empty without one.
  func uniqueCondition(_ columns: [String]) -> String {
    guard entity.userInfo?[Self.uniqueKey] as? String == Self.partialValue else { return "" }
    return " WHERE " + columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
  }
}

extension String {
  /// Without the dots of key paths.
  fileprivate var asIndexName: String { replacingOccurrences(of: ".", with: "_") }
}

extension TableMapping {
  /// The columns of attributes and to-one relationships, in the order of the names. Other names are skipped.
  package func columns(of names: [String]) -> [String] {
    names.compactMap { attributes[$0]?.column ?? toOnes[$0]?.column }
  }
}

extension EntityTable {
  var creationStatement: String {
    let columns = columns.map { "\($0.name) \($0.declaredType)" }.joined(separator: ", ")
    return "CREATE TABLE \(name) ( \(columns) )"
  }
}

extension JoinTable {
  fileprivate var creationStatement: String {
    let columns = ([firstColumn, secondColumn] + orderColumns).map { "\($0) INTEGER" }.joined(separator: ", ")
    return "CREATE TABLE \(name) ( \(columns), PRIMARY KEY (\(firstColumn), \(secondColumn)) )"
  }

  fileprivate var indexStatement: String {
    "CREATE INDEX \(name)_\(secondColumn)_INDEX ON \(name) (\(secondColumn), \(firstColumn))"
  }
}
