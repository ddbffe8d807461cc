/// Writes the rows of one save into a store's file with statements, each for a group of rows where that is possible.
///
/// A save with a new author, its two new books, and a changed one, in a store with history:
///
/// ```text
/// UPDATE Z_PRIMARYKEY SET Z_MAX = Z_MAX + 1 WHERE Z_ENT = 1                         assignKeys
/// SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = 1
/// UPDATE Z_PRIMARYKEY SET Z_MAX = Z_MAX + 2 WHERE Z_ENT = 2
/// SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = 2
/// UPDATE ZBOOK SET Z_OPT = 2, ZPAGES = 342 WHERE Z_PK = 1 AND Z_OPT = 1             writeUpdates
/// INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (2, 1, 1, 'Butler')        writeInserts
/// INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZAUTHOR, ZISREAD, ZPAGES, ZTITLE) VALUES (3, 2, 1, 2, 0, 287, 'Kindred')
/// INSERT INTO ZBOOK …
/// INSERT INTO ATRANSACTION …, INSERT INTO ACHANGE … for each row                    finish
/// ```
///
/// An update finds its row only with the version that was read (`AND Z_OPT = 1`). If it changes no row, another context
/// has saved it meanwhile, or deleted it: a conflict, which the merge policy decides about.
final class SQLiteChangeWriter: ChangeWriter {
  let store: SQLiteStore
  let changes: RowChanges
  let connection: SQLiteConnection
  let groups: WriteGroups
  private let recorder: HistoryRecorder?
  var progress = SaveProgress()
  /// The pairs of join tables that are written already.
  var removedPairs = WrittenPairs()
  var addedPairs = WrittenPairs()
  /// The statements of the rows before, the last one first.
  private var recent: [(sql: String, statement: SQLiteStatement)] = []

  init(_ changes: RowChanges, to store: SQLiteStore, _ connection: SQLiteConnection) {
    self.changes = changes
    self.store = store
    self.connection = connection
    groups = store.writeGroups
    recorder = HistoryRecorder(store, changes.origin, connection)
  }

  /// Writes the rows, and the files of their external data.
  ///
  /// ```text
  /// replacedFiles     which files do the rows name that this save changes or deletes?
  /// write             rows; large values go to new files on the way
  /// keepWritten       fsync of the folder, before COMMIT
  /// after COMMIT      `didCommit` of the store: replaced files wait until nobody needs them
  /// after an error    the new files go, the old ones stay
  /// ```
  func writeWithFiles() throws -> SavedRows {
    let replaced = try replacedFiles()
    do {
      let saved = try write()
      try store.externalFiles?.keepWritten()
      store.externalFiles?.replaced += replaced
      return saved
    } catch {
      store.externalFiles?.removeWritten()
      throw error
    }
  }

  // MARK: History

  var history: (any HistoryNotes)? { recorder }

  func begin() throws {
    guard let recorder else { return }
    for row in changes.deleted { try recorder.noteDelete(number: row.storedEntity.number, key: row.key) }
  }

  func finish(_ noteRows: () throws -> Void) throws {
    try throwRefusals()
    try noteRows()
    try recorder?.finish()
  }

  // MARK: Entities and keys

  func properties(_ storedEntity: StoredEntity) -> WrittenProperties { store.writer(storedEntity.number).properties }

  func keyGroup(_ storedEntity: StoredEntity) -> Int { store.writer(storedEntity.number).mapping.rootNumber }

  func takeKeys(_ count: Int, _ group: Int) throws -> [Range<Int64>] {
    let first = try store.takeKeys(count, root: group, connection)
    return [first..<first + Int64(count)]
  }

  // MARK: Versions

  func currentRow(_ id: NSManagedObjectID) throws -> Snapshot? { try store.row(id, connection) }

  func check(_ rows: [Int], of storedEntity: StoredEntity) throws {
    let writer = store.writer(storedEntity.number)
    for index in rows {
      let check = changes.checked[index]
      if !check.accepts(try version(of: check.key, writer)) {
        try noteConflict(.checked(index), storedEntity, check.key)
      }
    }
  }

  /// Whether the rows are in the file and have the expected versions. That stays true until this save writes them,
  /// because no other connection can write during its transaction.
  ///
  /// ```text
  /// all have version 1       SELECT count(*) FROM ZBOOK WHERE Z_PK BETWEEN 17 AND 32 AND Z_OPT = 1      16?
  /// versions differ          SELECT Z_PK, Z_OPT FROM ZBOOK WHERE Z_PK BETWEEN 1 AND 16                  row by row
  /// ```
  ///
  /// The second form relies on SQLite giving the rows in the order of the keys. It does, because it walks the table's
  /// B-tree, also for IN, whose list it sorts; if it ever did not, the group is written row by row, which is right as
  /// well.
  ///
  /// - Parameter keys: in ascending order, which is SQLite's order too.
  func versions(of keys: [Int64], _ shape: KeyShape, _ writer: RowWriter, are expected: (Int) -> Int64) throws -> Bool {
    let first = expected(0)
    let isUniform = keys.indices.allSatisfy { expected($0) == first }
    let statement = try statement(isUniform ? writer.versionCountSQL(shape) : writer.versionsSQL(shape))
    defer { statement.reset() }
    shape.bind(keys, to: statement)
    if isUniform {
      statement.bind(first, at: shape.parameterCount + 1)
      return try statement.step() && statement.integer(0) == keys.count
    }
    for (position, key) in keys.enumerated() {
      guard try statement.step(), statement.integer(0) == key, statement.integer(1) == expected(position) else {
        return false
      }
    }
    return true
  }

  /// The version of a row; nil if there is none.
  func version(of key: Int64, _ writer: RowWriter) throws -> Int64? {
    let statement = try statement(writer.versionSQL)
    defer { statement.reset() }
    statement.bind(key, at: 1)
    return try statement.step() ? statement.integer(0) : nil
  }

  // MARK: Statements

  /// Runs a statement whose text is kept for many rows.
  func run(_ sql: String, _ values: SQLiteValue...) throws {
    let statement = try statement(sql)
    statement.bind(values)
    try statement.run()
  }

  /// The statement for the text, which is mostly one of the rows before.
  ///
  /// Four texts at hand serve the pattern of a save: an entity's INSERT, its group, another entity's, and the
  /// history's. Comparing a text with the same `String` needs no look at its characters.
  func statement(_ sql: String) throws -> SQLiteStatement {
    if let recentStatement = recent.first(where: { $0.sql == sql }) { return recentStatement.statement }
    let statement = try connection.statement(sql)
    statement.texts = connection.boundTexts
    if recent.count == 4 { recent.removeLast() }
    recent.insert((sql, statement), at: 0)
    return statement
  }

  /// Runs a statement for one row.
  ///
  /// SQLite undoes the refused statement and keeps the transaction (https://www.sqlite.org/lang_conflict.html, ABORT).
  /// So the save can go on and find all refused rows.
  ///
  /// - Returns: SQLite's sentence if another row has its unique values.
  func run(_ statement: SQLiteStatement, for row: (entity: String, key: Int64)) throws -> String? {
    let hasRefusedValue = statement.hasRefusedValue
    do {
      try statement.run()
      return nil
    } catch let error as SQLiteError where error.isViolatedUniqueIndex {
      return error.message
    } catch let error as SQLiteError where error.isTooLong && !hasRefusedValue {
      let refused = RefusedValue(
        entity: row.entity, key: row.key, "is longer than SQLite can store: all its values together",
        remedy: "keep long values in files, or divide the object")
      throw SQLiteError(code: error.code, message: refused.sentence, sql: error.sql)
    }
  }

  /// Runs a statement for several rows. False, with nothing written, if a constraint refuses one of them, or SQLite
  /// does for its length.
  func runGroup(_ statement: SQLiteStatement) throws -> Bool {
    let hasRefusedValue = statement.hasRefusedValue
    do {
      try statement.run()
      return true
    } catch let error as SQLiteError
      where (error.isViolatedConstraint || error.isTooLong && !hasRefusedValue) && connection.isInTransaction
    {
      return false
    }
  }
}
