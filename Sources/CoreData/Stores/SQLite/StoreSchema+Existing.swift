extension StoreSchema {
  /// The schema of an existing file, matched with a model that has the file's version hashes.
  ///
  /// Entity numbers are the file's. Columns have the places that the rules for a new file with those numbers give them.
  /// Join tables are also found under the names that older frameworks gave them.
  ///
  /// `SchemaFile` is what is there, the model what should be there; what the schema gets is the model's with the file's
  /// numbers. A file may have more than the model: columns of other programs, tables of other stores. It may not have
  /// less.
  ///
  /// - Throws: `StoreSchemaError` if the file lacks an entity, a table or a column of the model.
  convenience init(
    entities: [NSEntityDescription], prefix: String, file: SchemaFile
  ) throws(StoreSchemaError) {
    try self.init(entities: entities, prefix: prefix, addingTo: file)
    for table in tables { try file.check(table) }
  }

  /// The schema that a file gets by additions. It may lack tables of entities, and columns; it has the join tables, and
  /// a number for each entity.
  ///
  /// - Throws: `StoreSchemaError` if the file lacks one of these.
  convenience init(entities: [NSEntityDescription], prefix: String, addingTo file: SchemaFile) throws(StoreSchemaError)
  {
    let numbering = try EntityNumbering(entities, rows: file.entities)
    var joins: [JoinLayout] = []
    for expected in JoinLayouts(numbering, prefix: prefix).layouts { joins.append(try file.existing(expected)) }
    self.init(numbering, try SchemaLayout(numbering, prefix: prefix), joins)
  }
}

extension SchemaFile {
  /// Reads the file through the given connection.
  init(_ connection: SQLiteConnection, prefix: String) throws {
    // The history's tables have rows there, too.
    let rows = try connection.rows(
      "SELECT Z_ENT, Z_NAME, Z_SUPER FROM \(raw: prefix)_PRIMARYKEY WHERE Z_ENT < \(raw: HistoryTables.Number.change)")
    let entities: [EntityRow] = rows.compactMap { row in
      guard case .integer(let number) = row[0], case .text(let name) = row[1] else { return nil }
      var superNumber = 0
      if case .integer(let value) = row[2] { superNumber = Int(value) }
      return EntityRow(number: Int(number), name: name, superNumber: superNumber)
    }
    var columns: [String: [String]] = [:]
    // https://www.sqlite.org/pragma.html#pragfunc: a pragma as a table, joined with the list of tables.
    let described = try connection.rows(
      """
      SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns \
      WHERE tables.type = 'table' ORDER BY tables.rowid, columns.cid
      """)
    for row in described {
      guard case .text(let table) = row[0], case .text(let column) = row[1] else { continue }
      columns[table, default: []].append(column)
    }
    self.init(entities: entities, columns: columns)
  }

  fileprivate func check(_ table: EntityTable) throws(StoreSchemaError) {
    guard let fileColumns = columns[table.name] else { throw StoreSchemaError("the file has no table \(table.name)") }
    let names = Set(fileColumns)
    for column in table.columns where !names.contains(column.name) {
      throw StoreSchemaError("the file's table \(table.name) has no column \(column.name)")
    }
  }

  /// A join table in the file: under the expected name or the other end's, with the columns found there.
  ///
  /// ```text
  /// expected            Z_1BOOKS (Z_1AUTHORS, Z_2BOOKS)
  /// accepted as well    Z_1BOOKS (Z_1AUTHORS1, Z_2BOOKS)        another suffix of a collision
  ///                     Z_2BOOKS or Z_1AUTHORS with these columns: the other end named the table
  /// ```
  fileprivate func existing(_ expected: JoinLayout) throws(StoreSchemaError) -> JoinLayout {
    if let fileColumns = columns[expected.table.name], let layout = match(expected, expected.table.name, fileColumns) {
      return layout
    }
    let table = expected.table
    // The other end names the table in files of some older frameworks: its column without the suffix of a collision.
    for column in [table.firstColumn, table.secondColumn] {
      let prefix = String(table.name.prefix { $0 != "_" })
      let name = prefix + column.dropFirst()
      if let fileColumns = columns[name], let layout = match(expected, name, fileColumns) { return layout }
    }
    throw StoreSchemaError(
      """
      the file has no join table \(table.name) with the columns \(table.firstColumn) and \(table.secondColumn) for \
      \(expected.relationship.owner?.name ?? "").\(expected.relationship.name)
      """)
  }

  private func match(_ expected: JoinLayout, _ name: String, _ fileColumns: [String]) -> JoinLayout? {
    guard let first = Self.column(expected.table.firstColumn, in: fileColumns),
      let second = Self.column(expected.table.secondColumn, in: fileColumns.filter { $0 != first })
    else { return nil }
    let order = expected.orderColumn.flatMap { Self.column($0, in: fileColumns) }
    let inverseOrder = expected.inverseOrderColumn.flatMap { Self.column($0, in: fileColumns) }
    guard (order == nil) == (expected.orderColumn == nil),
      (inverseOrder == nil) == (expected.inverseOrderColumn == nil)
    else { return nil }
    return JoinLayout(
      relationship: expected.relationship, inverse: expected.inverse,
      table: JoinTable(
        name: name, firstColumn: first, secondColumn: second,
        orderColumns: [order, inverseOrder].compactMap { $0 }, ownerNumber: expected.table.ownerNumber),
      orderColumn: order, inverseOrderColumn: inverseOrder)
  }

  /// The column with this name, or with the name and the digits of a collision.
  private static func column(_ name: String, in fileColumns: [String]) -> String? {
    if fileColumns.contains(name) { return name }
    let stem = name.trimmingSuffixDigits
    return fileColumns.first { $0.trimmingSuffixDigits == stem }
  }
}

extension String {
  fileprivate var trimmingSuffixDigits: String {
    String(reversed().drop { $0.isNumber }.reversed())
  }
}
