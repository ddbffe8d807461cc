/// The columns, indexes, triggers and views that others have made in a store's file.
///
/// A migration makes the store's tables anew. It keeps what others made where that still fits, and else changes nothing
/// and names it; columns never fit. At a server ``ServerGuests`` does the same.
struct StoreGuests {
  /// An index or a trigger of one of the store's tables, which goes with the old table.
  private struct Guest {
    let type: String
    let name: String
    let table: String
    let sql: String
  }

  private let connection: SQLiteConnection
  private var guests: [Guest] = []
  /// Columns of the store's tables that others have added, with their values.
  private var foreignColumns: [String] = []
  /// The columns that the tables of guests had.
  private var columns: [String: Set<String>] = [:]
  /// Statements that use views, or triggers of others' tables, with what each is about. They could be prepared.
  private var uses: [(what: String, sql: String)] = []

  /// Looks at the file before its tables are made anew.
  init(of schema: StoreSchema, _ connection: SQLiteConnection) throws {
    self.connection = connection
    let own = Set((schema.tables.map(\.name) + schema.joinTables.map(\.name)).map { $0.uppercased() })
    let rows = try connection.rows(
      "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type <> 'table' AND sql NOT NULL ORDER BY rowid")
    for case let row in rows {
      guard case .text(let type) = row[0], case .text(let name) = row[1], case .text(let table) = row[2],
        case .text(let sql) = row[3]
      else { continue }
      if own.contains(table.uppercased()) {
        let known = try columns[table] ?? Self.columns(of: table, connection)
        columns[table] = known
        if schema.isOwn(name, of: table, known) { continue }
        guests.append(Guest(type: type, name: name, table: table, sql: sql))
      } else if type == "view" {
        uses.append(("the view \(name)", "SELECT * FROM \(name.quotedName)"))
      } else if type == "trigger" {
        uses += try Self.changes(of: table, connection).map { ("the trigger \(name) of \(table)", $0) }
      }
    }
    for table in schema.tables {
      // Core Data's own have its prefix, also those that a deferred migration has left.
      let foreign = try Self.columns(of: table.name, connection).filter { !$0.hasPrefix(schema.prefix) }
      foreignColumns += foreign.sorted().map { "the column \($0) of \(table.name)" }
    }
    // What is broken already does not keep anybody from migrating.
    uses = uses.filter { failure(of: $0.sql) == nil }
  }

  /// Makes the indexes and triggers of the new tables again, and looks whether all fit.
  ///
  /// - Throws: 134110 with the names of those that do not. The migration has to be taken back.
  func makeAgain() throws {
    var misfits = foreignColumns
    for guest in guests {
      if let reason = try failure(of: guest) { misfits.append("the \(guest.type) \(guest.name) (\(reason))") }
    }
    for use in uses where !misfits.contains(where: { $0.hasPrefix("\(use.what) (") }) {
      if let reason = failure(of: use.sql) { misfits.append("\(use.what) (\(reason))") }
    }
    try Self.refuse(misfits, at: connection.path)
  }

  /// Throws 134110 with the names of what does not fit, if there is anything.
  static func refuse(_ misfits: [String], at place: String) throws {
    guard !misfits.isEmpty else { return }
    let names = misfits.prefix(5).joined(separator: ", ")
    throw CoreDataErrors.error(
      .migration,
      "\(place) is not migrated, because the new model has no place for what others have made there: \(names)"
        + "\(misfits.count > 5 ? " and \(misfits.count - 5) more" : ""). Drop them, migrate, and make them again in "
        + "another form.")
  }

  /// The reason why the guest does not fit; nil if it is there again.
  private func failure(of guest: Guest) throws -> String? {
    do {
      try connection.execute(guest.sql)
    } catch let error as SQLiteError {
      return error.message
    }
    guard guest.type == "trigger" else { return nil }
    let changes = try Self.changes(of: guest.table, connection)
    let reason = try missingColumn(of: guest) ?? changes.lazy.compactMap(failure).first
    if reason != nil { try connection.execute("DROP TRIGGER \(guest.name.quotedName)") }
    return reason
  }

  /// SQLite accepts `UPDATE OF` a column that is not there, and looks at all other uses of one.
  private func missingColumn(of guest: Guest) throws -> String? {
    let gone = (columns[guest.table] ?? []).subtracting(try Self.columns(of: guest.table, connection))
    let words = guest.sql.uppercased().split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init)
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
    let all = try columns(of: table, connection).sorted().map { "\($0.quotedName) = \($0.quotedName)" }
    return ["INSERT INTO \(table.quotedName) DEFAULT VALUES", "DELETE FROM \(table.quotedName)"]
      + (all.isEmpty ? [] : ["UPDATE \(table.quotedName) SET \(all.joined(separator: ", "))"])
  }

  static func columns(of table: String, _ connection: SQLiteConnection) throws -> Set<String> {
    let rows = try connection.rows("SELECT name FROM pragma_table_info(?)", [.text(table)])
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
