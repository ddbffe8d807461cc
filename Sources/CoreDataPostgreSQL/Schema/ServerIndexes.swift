/// The indexes that a server has of a store's tables.
///
/// The names of the store's own are the server's choice. They are known by their columns, which the server tells in
/// words of its own: without quotes where none are needed, and without an order that is the usual one.
///
/// ```text
/// the store makes     CREATE INDEX ON "app"."Book" ("title" ASC NULLS FIRST, _key ASC NULLS FIRST)
/// the server tells    CREATE INDEX "Book_title__key_idx" ON app."Book"
///                     USING btree (title NULLS FIRST, _key NULLS FIRST)
/// content of both     (title NULLS FIRST, _key NULLS FIRST)
/// ```
struct ServerIndexes {
  private let connection: any ServerConnection

  init(_ connection: any ServerConnection) { self.connection = connection }

  /// A table's indexes, with the statements that would make them again, without those of its primary key and other
  /// constraints.
  ///
  /// ```text
  /// SELECT pg_get_indexdef(indexrelid), indexrelid::regclass::text FROM pg_index i
  /// WHERE indrelid = to_regclass($1) AND NOT EXISTS (SELECT FROM pg_constraint c
  /// WHERE c.conindid = i.indexrelid AND c.conrelid = i.indrelid) ORDER BY 1
  /// ```
  func all(of table: String) throws -> [(table: String, name: String, statement: String)] {
    let rows = try connection.execute(
      """
      SELECT pg_get_indexdef(indexrelid), indexrelid::regclass::text FROM pg_index i \
      WHERE indrelid = to_regclass(\(bind: .text(table))) AND NOT EXISTS (SELECT FROM pg_constraint c \
      WHERE c.conindid = i.indexrelid AND c.conrelid = i.indrelid) ORDER BY 1
      """)
    return (0..<rows.rowCount).map { (table, rows.text($0, 1) ?? "", rows.text($0, 0) ?? "") }
  }

  /// What makes an index the same as another of its table: whether it is unique, its columns and its condition.
  static func content(of statement: String) -> String {
    let columns = statement.drop { $0 != "(" }.replacingOccurrences(of: "\"", with: "")
    return (statement.contains("CREATE UNIQUE ") ? "unique " : "")
      + columns.replacingOccurrences(of: " ASC NULLS FIRST", with: " NULLS FIRST")
  }
}
