/// What a store at a server gets in place: see ``SchemaAdditions``.
///
/// ```text
/// INSERT INTO "app"."_entities" (number, name) VALUES (3, 'Tag');         a new entity
/// CREATE TABLE "app"."Tag" (…);
/// ALTER TABLE "app"."Book" ADD COLUMN "isbn" text COLLATE "C";            a new optional attribute
/// COMMENT ON COLUMN …;
/// DROP FUNCTION IF EXISTS "app"."_announce"() CASCADE;                    its triggers go with it
/// CREATE OR REPLACE FUNCTION "app"."_announce"() …; CREATE TRIGGER …
/// DROP INDEX …; CREATE INDEX …                                            those that differ from the old model's
/// ```
///
/// ADD COLUMN waits for all transactions that use the table, and later ones wait for it. Once it has the lock it takes
/// a moment, since no row is written.
extension ServerTables {
  /// Adds what is missing, in an open transaction.
  ///
  /// - Parameter old: the tables of the old model; nil if that is unknown. Its indexes that the new model lacks go.
  func add(_ additions: SchemaAdditions, from old: ServerTables?, _ connection: any ServerConnection) throws {
    var statements = additions.entities.map(numbering)
    statements += additions.tables.map(creation)
    statements += additions.columns.map {
      "ALTER TABLE \($0.table) ADD COLUMN \($0.column.name) \($0.column.declaredType)"
    }
    statements += comments
    statements.append("DROP FUNCTION IF EXISTS \(announcer)() CASCADE")
    statements += announcements
    try connection.run(statements.joined(separator: ";\n"))
    try renewIndexes(from: old, connection)
    try renewFunctions(connection)
  }

  /// Drops the indexes of the old model that the new one lacks, and makes those that are missing. Indexes of others
  /// stay: they are in neither model. A new unique index over rows with duplicates fails with 23505: error 134111.
  private func renewIndexes(from old: ServerTables?, _ connection: any ServerConnection) throws {
    let presentIndexes = try schema.tables.flatMap { try ServerIndexes(connection).all(of: $0.name) }
    func key(_ statement: String, _ table: String) -> String { table + ServerIndexes.content(of: statement) }
    let there = Dictionary(
      presentIndexes.map { (key($0.statement, $0.table), $0.name) }, uniquingKeysWith: { first, _ in first })
    func keys(_ tables: ServerTables) -> [(key: String, statement: String)] {
      tables.indexes.compactMap { statement in
        let table = tables.schema.tables.first { statement.contains(" ON \($0.name) (") }?.name
        return table.map { (key(statement, $0), statement) }
      }
    }
    let neededIndexes = keys(self)
    let gone = Set(old.map(keys)?.map(\.key) ?? []).subtracting(neededIndexes.map(\.key))
    for name in gone.compactMap({ there[$0] }).sorted() { try connection.run("DROP INDEX \(name)") }
    for (key, statement) in neededIndexes where there[key] == nil {
      do { try connection.run(statement) } catch let error as ServerError where error.state == "23505" {
        throw CoreDataErrors.newConstraintFails(error.message)
      }
    }
  }
}

extension SchemaFile {
  /// Reads which entities a store at a server has, and which columns. Names are quoted as in ``ServerLayout``.
  ///
  /// ```text
  /// SELECT relname::text, attname::text FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid
  /// WHERE relnamespace = to_regnamespace($1) AND relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped
  /// ORDER BY attrelid, attnum
  /// ```
  ///
  /// A partitioned table ('p') counts as a table: an administrator may have divided a large one.
  init(_ address: ServerAddress, _ connection: any ServerConnection) throws {
    let rows = try connection.execute(
      """
      SELECT relname::text, attname::text FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid \
      WHERE relnamespace = to_regnamespace(\(bind: .text(address.schema.quotedName))) AND relkind IN ('r', 'p') \
      AND attnum > 0 AND NOT attisdropped ORDER BY attrelid, attnum
      """)
    let names = ServerLayout.ownColumns
    var columns: [String: [String]] = [:]
    for row in 0..<rows.rowCount {
      guard let table = rows.text(row, 0), let column = rows.text(row, 1) else { continue }
      columns[address.qualified(table), default: []].append(
        [names.key, names.entity, names.version].contains(column) ? column : column.quotedName)
    }
    self.init(entities: try ServerStore.entityNumbers(address, connection), columns: columns)
  }
}
