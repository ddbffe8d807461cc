/// The columns, indexes, triggers and views that others have made in a store's file; ``StoreGuests`` says what becomes
/// of them.
///
/// ```text
/// CREATE INDEX titles ON ZBOOK (ZTITLE)              made again; fails if the new table has no ZTITLE
/// CREATE TRIGGER … AFTER UPDATE OF ZTITLE ON ZBOOK   made again, then statements that would fire it are prepared
/// CREATE VIEW … AS SELECT … FROM ZBOOK               stays; whether it still works is looked at afterwards
/// ALTER TABLE ZBOOK ADD COLUMN mine TEXT             cannot be kept: the migration is refused (134110)
/// ```
///
/// SQLite checks a view's or trigger's columns only when a statement uses them, so each is tried with a statement that
/// is prepared and not run.
struct SQLiteGuests {
  /// An index or a trigger of one of the store's tables, which goes with the old table.
  private struct Part {
    let type: String
    let name: String
    let table: String
    let sql: String
    /// The columns that its table had.
    let columns: Set<String>
  }

  private let schema: StoreSchema
  private let connection: SQLiteConnection

  init(of schema: StoreSchema, _ connection: SQLiteConnection) {
    self.schema = schema
    self.connection = connection
  }

  /// What the file has now, before its tables are made anew.
  ///
  /// A column `mine` that a person has added to ZBOOK ends the migration (134110): "… is not migrated: its tables are
  /// made anew, and things of others would be lost, because they do not fit the new ones: the column mine of ZBOOK.
  /// Drop them or move them elsewhere, migrate, and make them again in another form."
  func all() throws -> [StoreGuest] {
    let columns = try schema.tables.flatMap { table in
      // Core Data's own have its prefix, also those that a deferred migration has left.
      try Self.columns(of: table.name, connection).filter { !$0.hasPrefix(schema.prefix) }.sorted()
        .map { StoreGuest.column($0, of: table.name) }
    }
    return try columns + partsAndUsers()
  }

  /// What others have made of the store's tables, and what of theirs uses these.
  ///
  /// ```text
  /// index or trigger of ZBOOK, named like Core Data's own       not a guest: it is made anew with the table
  /// index or trigger of ZBOOK with another name                 a part: goes with the old table, is made again
  /// view                                                        a user: stays, and is tried
  /// trigger of another table                                    a user: its statements may change ZBOOK
  /// ```
  private func partsAndUsers() throws -> [StoreGuest] {
    let ownTables = Set((schema.tables.map(\.name) + schema.joinTables.map(\.name)).map { $0.uppercased() })
    var columnsByTable: [String: Set<String>] = [:]
    var guests: [StoreGuest] = []
    let rows = try connection.rows(
      "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type <> 'table' AND sql NOT NULL ORDER BY rowid")
    for case let row in rows {
      guard case .text(let type) = row[0], case .text(let name) = row[1], case .text(let table) = row[2],
        case .text(let sql) = row[3]
      else { continue }
      if ownTables.contains(table.uppercased()) {
        let columns = try columnsByTable[table] ?? Self.columns(of: table, connection)
        columnsByTable[table] = columns
        if schema.isOwn(name, of: table, columns) { continue }
        let part = Part(type: type, name: name, table: table, sql: sql, columns: columns)
        guests.append(StoreGuest("the \(type) \(name)") { try failure(of: part) })
      } else if type == "view" {
        guests += [user("the view \(name)", ["SELECT * FROM \(name.quotedName)"])].compactMap(\.self)
      } else if type == "trigger" {
        guests += [user("the trigger \(name) of \(table)", try Self.changes(of: table, connection))].compactMap(\.self)
      }
    }
    return guests
  }

  /// A view, or a trigger of others' tables, which may use the store's tables; nil for one that is broken already: that
  /// keeps nobody from migrating.
  private func user(_ name: String, _ statements: [String]) -> StoreGuest? {
    let working = statements.filter { failure(of: $0) == nil }
    return working.isEmpty ? nil : StoreGuest(name) { working.lazy.compactMap(failure).first }
  }

  /// Makes an index or a trigger again; the reason if it does not fit.
  ///
  /// A trigger is accepted by SQLite whatever its statements name; whether they work shows only when a statement that
  /// fires it is prepared.
  private func failure(of part: Part) throws -> String? {
    do {
      try connection.execute(part.sql)
    } catch let error as SQLiteError {
      return error.message
    }
    guard part.type == "trigger" else { return nil }
    let changes = try Self.changes(of: part.table, connection)
    let reason = try missingColumn(of: part) ?? changes.lazy.compactMap(failure).first
    if reason != nil { try connection.execute("DROP TRIGGER \(part.name.quotedName)") }
    return reason
  }

  /// SQLite accepts `UPDATE OF` a column that is not there, and looks at all other uses of one.
  private func missingColumn(of part: Part) throws -> String? {
    let gone = part.columns.subtracting(try Self.columns(of: part.table, connection))
    let words = part.sql.uppercased().split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init)
    guard let update = words.indices.first(where: { words[$0...].starts(with: ["UPDATE", "OF"]) }) else { return nil }
    let listed = Set(words[(update + 2)...].prefix { $0 != "ON" })
    return gone.sorted().first { listed.contains($0.uppercased()) }.map { "no such column: \($0)" }
  }

  /// SQLite looks at a view, and at a trigger's statements, when a statement that uses it is prepared.
  private func failure(of sql: String) -> String? {
    do {
      _ = try SQLiteStatement(sql: sql, connection: connection)
      return nil
    } catch {
      return (error as? SQLiteError)?.message ?? "\(error)"
    }
  }

  /// A statement for each event of a trigger.
  private static func changes(of table: String, _ connection: SQLiteConnection) throws -> [String] {
    let assignments = try columns(of: table, connection).sorted().map { "\($0.quotedName) = \($0.quotedName)" }
    return ["INSERT INTO \(table.quotedName) DEFAULT VALUES", "DELETE FROM \(table.quotedName)"]
      + (assignments.isEmpty ? [] : ["UPDATE \(table.quotedName) SET \(assignments.joined(separator: ", "))"])
  }

  static func columns(of table: String, _ connection: SQLiteConnection) throws -> Set<String> {
    let rows = try connection.rows("SELECT name FROM pragma_table_info(\(bind: .text(table)))")
    return Set(rows.compactMap { if case .text(let name) = $0[0] { name } else { nil } })
  }
}

extension StoreSchema {
  /// Whether an index or trigger of one of the store's tables has a name that Core Data gives, and not a person: that
  /// of a column, of an entity in the table, or of a derived attribute's trigger.
  func isOwn(_ name: String, of table: String, _ columns: Set<String>) -> Bool {
    columns.contains { name == "\(table)_\($0)_INDEX" } || name.hasPrefix("\(prefix)_DA_")
      || entities.contains { $0.table == table && name.hasPrefix("\(prefix)_\($0.name)_") }
  }
}
