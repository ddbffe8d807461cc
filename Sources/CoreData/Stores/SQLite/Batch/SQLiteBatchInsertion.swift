/// Writes the new rows of a batch into a SQLite file.
///
/// A book, where `title` is not unique, and where it is:
///
/// ```text
/// SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = 2                                    2
/// INSERT OR FAIL INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZAUTHOR, ZISREAD, ZPAGES, ZTITLE)  20 rows in one statement,
///   VALUES (3, 2, 1, NULL, 0, 287, 'Kindred')                                       then 5, then one
/// UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_ENT = 2
///
/// INSERT INTO ZBOOK (…) VALUES (3, 2, 1, NULL, 0, 287, 'Kindred')                   update
///   ON CONFLICT (ZTITLE) DO UPDATE SET Z_OPT = Z_OPT % 9223372036854775807 + 1,
///                                      ZPAGES = excluded.ZPAGES, ZTITLE = excluded.ZTITLE RETURNING Z_PK
/// INSERT INTO ZBOOK (…) VALUES (3, 2, 1, NULL, 0, 287, 'Kindred')                   skip
///   ON CONFLICT (ZTITLE) DO NOTHING RETURNING Z_PK
/// ```
///
/// RETURNING tells what happened: the new key means an inserted row, another key an updated one, no row a skipped one.
/// Keys are given from a counter in memory, for nobody else can take one during the transaction, and are written back
/// once.
final class SQLiteBatchInsertion {
  private let batch: BatchInsertion<SQLiteBatchTransaction>
  private var store: SQLiteStore { batch.transaction.store }
  private var connection: SQLiteConnection { batch.transaction.connection }
  private var mapping: TableMapping { batch.mapping }
  private var writer: RowWriter { batch.writer }
  private let onDuplicate: BatchRows.OnDuplicate
  /// The columns of each constraint that the file's indexes keep.
  private let constraints: [[String]]
  /// Nil if no row replaces files.
  private let replacedFiles: ReplacedFiles?
  /// The rows of the next statement, and the one under construction.
  private let rows: [Snapshot]
  /// The number of complete rows.
  private var filled = 0
  private var lastNamed: [Bool] = []
  private var latest: (statement: SQLiteStatement, shape: InsertShape, rows: Int)?
  private var nextKey: Int64 = 0

  init(_ source: BatchRows, in transaction: SQLiteBatchTransaction) throws {
    let (store, batch) = (transaction.store, try BatchInsertion(source, in: transaction))
    self.batch = batch
    constraints =
      source.onDuplicate == .fail ? [] : try store.uniqueColumns(of: batch.mapping, transaction.connection)
    onDuplicate = constraints.isEmpty ? .fail : source.onDuplicate
    replacedFiles =
      onDuplicate == .update && store.externalFiles != nil ? ReplacedFiles(batch.writer, constraints) : nil
    let size = onDuplicate == .fail ? store.writeGroups.inserts.first ?? 1 : 1
    rows = (0..<size).map { _ in batch.newRow() }
  }

  /// The rows come from a closure of the program, which may take its time. The file's write lock is held for all of it:
  /// other processes read, and wait if they want to write.
  func run() throws -> BatchResult {
    let table = store.schema.primaryKeyTable
    let root: SQL = "Z_ENT = \(bind: .integer(Int64(mapping.rootNumber)))"
    let last = try connection.integer("SELECT Z_MAX FROM \(raw: table) WHERE \(root)")
    guard let last else {
      throw CoreDataErrors.error(
        .persistentStoreIncompatibleSchema,
        "\(table) has no row for the entity number \(mapping.rootNumber).")
    }
    nextKey = last + 1
    defer { latest = nil }
    while try fill(rows[filled]) {
      filled += 1
      if filled == rows.count { try insertRows() }
    }
    try insertRows()
    try connection.run("UPDATE \(raw: table) SET Z_MAX = \(bind: .integer(nextKey - 1)) WHERE \(root)")
    return batch.result
  }

  // MARK: Rows

  /// Fills a row from the source; false if there are no more.
  private func fill(_ row: Snapshot) throws -> Bool {
    do {
      return try batch.fill(row)
    } catch {
      // An error of a row before comes first.
      try insertRows()
      throw error
    }
  }

  /// Inserts the complete rows.
  private func insertRows() throws {
    let complete = rows.prefix(filled)
    filled = 0
    try WriteGroups.divide(complete, store.writeGroups.inserts) { try insert($0) }
  }

  /// Inserts rows with one statement. If a constraint refuses one, the transaction is rolled back.
  ///
  /// `OR FAIL` keeps what was inserted before the refused row, and SQLite needs no copy of pages to undo the statement.
  /// That is right here only because the whole transaction is rolled back then.
  private func insert(_ group: ArraySlice<Snapshot>) throws {
    if let replacedFiles {
      for row in group { store.externalFiles?.replaced += try replacedFiles.find(for: row, batch.named, connection) }
    }
    let shape = onDuplicate == .fail ? writer.insertShape(of: group) : writer.wholeInsert
    let statement = try statement(shape, rows: group.count)
    statement.texts = connection.boundTexts
    connection.boundTexts.clear()
    let files = store.externalFiles?.writtenCount ?? 0
    var index: Int32 = 1
    for (offset, row) in group.enumerated() {
      statement.bind(nextKey + Int64(offset), at: index)
      statement.bind(Int64(mapping.number), at: index + 1)
      statement.bind(1 as Int64, at: index + 2)
      index += 3
      index = writer.bind(row, shape, to: statement, at: index) { $0 }
    }
    try translatingConstraints {
      if onDuplicate != .fail { return try insertUnlessThere(statement, keeping: files) }
      try statement.run()
      for _ in group { try note(nextKey) }
    }
  }

  private func translatingConstraints(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as SQLiteError where error.isViolatedUniqueIndex {
      throw CoreDataErrors.constraintError(error, mapping)
    }
  }

  /// Runs a statement with a `conflictClause`, for one row.
  ///
  /// A skipped row's large values were written to files before the statement ran: they go at once.
  ///
  /// - Parameter files: how many of the written files are of other rows.
  private func insertUnlessThere(_ statement: SQLiteStatement, keeping files: Int) throws {
    // No row was written: the key is free for the next.
    guard try statement.step() else {
      store.externalFiles?.removeWritten(after: files)
      return statement.reset()
    }
    let written = statement.integer(0)
    try statement.run()
    try note(written)
  }

  private func note(_ key: Int64) throws {
    guard key == nextKey else { return try batch.noteUpdate(key, batch.named) }
    nextKey += 1
    try batch.noteInsert(key)
  }

  // MARK: SQL

  /// The last statement, if it serves again.
  ///
  /// For updates the text depends on the properties that the row names, since only these are taken over. Rows of one
  /// batch mostly name the same.
  private func statement(_ shape: InsertShape, rows: Int) throws -> SQLiteStatement {
    if onDuplicate == .fail {
      if let latest, latest.shape === shape, latest.rows == rows { return latest.statement }
    } else if let latest, onDuplicate != .update || batch.named == lastNamed {
      return latest.statement
    }
    lastNamed = batch.named
    let sql =
      onDuplicate == .fail ? shape.sql(rows: rows, onRefusal: .endsTransaction) : shape.sql(rows: rows) + conflictClause
    let made = try connection.statement(sql)
    latest = (made, shape, rows)
    return made
  }

  /// Each constraint is named, so that any other conflict is an error, especially one of keys.
  ///
  /// Source: https://www.sqlite.org/lang_upsert.html, several ON CONFLICT clauses;
  /// https://www.sqlite.org/lang_returning.html.
  private var conflictClause: String {
    let action: String
    switch onDuplicate {
    case .fail: return ""
    case .skip: action = "DO NOTHING"
    case .update:
      let columns = writer.steps.indices.filter { batch.named[writer.steps[$0].slot] }.flatMap { writer.columns[$0] }
      let assignments = columns.map { ", \($0) = excluded.\($0)" }.joined()
      action = "DO UPDATE SET Z_OPT = \("Z_OPT".nextVersion)\(assignments)"
    }
    return constraints.map { columns in
      " ON CONFLICT (\(columns.joined(separator: ", ")))\(mapping.uniqueCondition(columns)) \(action)"
    }.joined()
      + " RETURNING Z_PK"
  }
}

extension SQLiteStore {
  /// The columns of the uniqueness constraints for which the file has a unique index. Some files of Apple's lack it.
  fileprivate func uniqueColumns(of mapping: TableMapping, _ connection: SQLiteConnection) throws
    -> [[String]]
  {
    let constraints = schema.uniqueConstraints(of: mapping)
    if constraints.isEmpty { return [] }
    let rows = try connection.rows(
      """
      SELECT list.name, info.name FROM pragma_index_list(\(bind: .text(mapping.table))) AS list, \
      pragma_index_info(list.name) AS info WHERE list."unique" ORDER BY list.name, info.seqno
      """)
    var indexes: [String: Set<String>] = [:]
    for row in rows {
      if case .text(let index) = row[0], case .text(let column) = row[1] {
        indexes[index, default: []].insert(column)
      }
    }
    return constraints.map(\.columns).filter { columns in indexes.values.contains(Set(columns)) }
  }
}

extension CoreDataErrors {
  /// The error for a row that SQLite refused. Its sentence names the columns: "UNIQUE constraint failed: T.A, T.B".
  ///
  /// "UNIQUE constraint failed: ZBOOK.ZTITLE" becomes "An object of Book with the same title exists already." (133021).
  /// A save finds the other row as well and names it: "…: p1."
  static func constraintError(_ error: SQLiteError, _ mapping: TableMapping) -> NSError {
    let columns = (error.message.split(separator: ":").last ?? "").split(separator: ",").map {
      $0.trimmingCharacters(in: .whitespaces).split(separator: ".").last.map(String.init) ?? ""
    }
    let names = columns.map { column in
      mapping.attributes.values.first { $0.column == column }?.name
        ?? mapping.toOnes.values.first { $0.column == column }?.name ?? column
    }
    return CoreDataErrors.error(
      .managedObjectConstraintMerge,
      "An object of \(mapping.name) with the same \(names.joined(separator: ", ")) exists already.",
      [NSUnderlyingErrorKey: NSError(domain: NSSQLiteErrorDomain, code: Int(error.code))])
  }
}
