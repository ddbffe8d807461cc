/// Writes the new rows of a batch: with COPY, or where duplicates are skipped or updated, with INSERT.
///
/// COPY costs the server least for each row, and knows no ON CONFLICT: one duplicate ends it with 23505, and nothing of
/// the batch is there. So an entity with uniqueness constraints whose merge policy skips or updates duplicates takes
/// the other way.
///
/// ```text
/// session of the writer                                     session of a reader
/// BEGIN, the number of the transaction
/// COPY "app"."Book" (_key, _entity, "author", "isRead",
/// "pages", "title") FROM STDIN (FORMAT binary)
///                                                           SELECT nextval(…) FROM generate_series(1, $1)
/// CopyData: 64 KiB of rows                                      $1 = '16': 1,024 keys
/// CopyData …
/// CopyDone
/// the history
/// COMMIT
/// ```
///
/// The rows come from the program's closure one by one, so a batch of any size needs 64 KiB here; with a history, 44
/// bytes more for each row.
final class ServerBatchInsertion {
  private let batch: BatchInsertion<ServerBatchTransaction>
  private var store: ServerStore { batch.transaction.store }
  private var connection: any ServerConnection { batch.transaction.connection }
  private var mapping: TableMapping { batch.mapping }
  private var writer: ServerRowWriter { batch.writer }
  private var keys = KeySupply()

  /// The number of rows of one INSERT, and of keys that are reserved at once.
  private static let rowsAtOnce = 1024

  init(_ rows: BatchRows, in transaction: ServerBatchTransaction) throws {
    batch = try BatchInsertion(rows, in: transaction)
  }

  func run() throws -> BatchResult {
    if batch.source.onDuplicate == .fail || writer.constraints.isEmpty { try copyRows() } else { try insertRows() }
    return batch.result
  }

  /// The key of the next row. On another connection, because this one may be in the middle of a COPY, which accepts no
  /// other statement. With a limit of one reader the batch needs two sessions all the same.
  private func nextKey() throws -> Int64 {
    while true {
      if let key = keys.next() { return key }
      keys = KeySupply(try store.database.read { reader, _ in try store.keys.take(Self.rowsAtOnce, reader) })
    }
  }

  // MARK: COPY

  /// Sends all rows in one COPY.
  ///
  /// ```text
  /// "PGCOPY\n" FF 0D 0A 00, 8 bytes of zeros
  /// 00 06  00000008 key  00000004 entity's number  author  isRead  pages  title       a row: 6 fields
  /// FF FF                                                                             the end
  /// ```
  ///
  /// `_entity` is an `integer` of 4 bytes, `_key` a `bigint` of 8: COPY converts no value to its column's type. Where a
  /// person has altered a column, the server refuses the row (22P03, `invalid_binary_representation`).
  ///
  /// Source: https://www.postgresql.org/docs/15/sql-copy.html, "Binary Format".
  private func copyRows() throws {
    let names = [mapping.names.key, mapping.names.entity] + writer.columns(writer.all).map(\.name)
    let row = batch.newRow()
    var fields = ServerFields(capacity: 256)
    var isFirst = true
    var isDone = false
    let sql = "COPY \(mapping.table) (\(names.joined(separator: ", "))) FROM STDIN (FORMAT binary)"
    try connection.copy(sql) { bytes in
      if isDone { return false }
      if isFirst {
        bytes += "PGCOPY\n".utf8
        bytes += [0xFF, 0x0D, 0x0A, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        isFirst = false
      }
      guard try batch.fill(row) else {
        bytes.append(bigEndian: Int16(-1))
        isDone = true
        return true
      }
      let key = try nextKey()
      bytes.append(bigEndian: Int16(names.count))
      bytes.append(bigEndian: Int32(8))
      bytes.append(bigEndian: key)
      bytes.append(bigEndian: Int32(4))
      bytes.append(bigEndian: Int32(mapping.number))
      for position in writer.all { try writer.write(position, of: row, to: &fields, resolving: { $0 }) }
      fields.move(to: &bytes)
      try batch.noteInsert(key)
      return true
    }
  }

  // MARK: INSERT

  private typealias Row = (key: Int64, values: Snapshot, named: [Bool])

  private func insertRows() throws {
    var rows: [Row] = []
    while true {
      let values = batch.newRow()
      guard try batch.fill(values) else { break }
      rows.append((try nextKey(), values, batch.named))
      if rows.count == Self.rowsAtOnce {
        try insert(rows[...])
        rows = []
      }
    }
    if !rows.isEmpty { try insert(rows[...]) }
  }

  /// Inserts some rows, and updates those that exist with the values that the new ones name, if the merge policy says
  /// so.
  ///
  /// ```text
  /// INSERT INTO "app"."Book" (…) SELECT u.key, 2, u.c0, … FROM unnest($1, …) AS u (key, c0, …)
  /// ON CONFLICT DO NOTHING RETURNING _key
  /// ```
  ///
  /// Not ON CONFLICT DO UPDATE: it takes one constraint only, and an entity may have several.
  private func insert(_ rows: ArraySlice<Row>) throws {
    var parameters = ServerParameters()
    parameters.add(ServerArray(rows.map(\.key)))
    guard try writer.addColumns(writer.all, of: rows.map(\.values), to: &parameters, resolving: { $0 }) else {
      return try rows.halves.forEach(insert)
    }
    let sql = "\(writer.insertSQL) ON CONFLICT DO NOTHING RETURNING \(mapping.names.key)"
    let answer = try connection.execute(sql, parameters)
    let written = Set((0..<answer.rowCount).map { answer.integer($0, 0) })
    for row in rows where written.contains(row.key) { try batch.noteInsert(row.key) }
    if batch.source.onDuplicate == .update { try update(rows.filter { !written.contains($0.key) }) }
  }

  /// Gives the rows that have the unique values already the named values. One after the other: two new rows may be
  /// about the same one. All go in one pipeline.
  ///
  /// ```text
  /// UPDATE "app"."Book" t SET _version = t._version % 9223372036854775807 + 1, "isbn" = u.c3, "title" = u.c7
  /// FROM unnest($1, $2, $3, $4, $5, $6, $7, $8) AS u (c0, c1, c2, c3, c4, c5, c6, c7)
  /// WHERE (t."isbn" = u.c3) RETURNING t._key
  /// $4 = '{978-1}', $8 = '{"Emma 2"}', all others '{NULL}'
  /// ```
  private func update(_ rows: [Row]) throws {
    let statements = try rows.map { row -> (sql: String, parameters: ServerParameters) in
      var parameters = ServerParameters()
      _ = try writer.addColumns(writer.all, of: [row.values], to: &parameters) { $0 }
      return (updateSQL(row.named), parameters)
    }
    if statements.isEmpty { return }
    let answers = try connection.pipeline(statements)
    for (row, answer) in zip(rows, answers) where answer.rowCount > 0 {
      try batch.noteUpdate(answer.integer(0, 0), row.named)
    }
  }

  /// The UPDATE for rows that give values to some properties: only these are changed, so the text differs with them.
  private func updateSQL(_ named: [Bool]) -> String {
    let columns = writer.columns(writer.all)
    let isNamed = writer.all.flatMap { position in
      writer.columns[position].map { _ in named[writer.encoder.steps[position].slot] }
    }
    let places = (1...columns.count).map { "$\($0)" }.joined(separator: ", ")
    let aliases = columns.indices.map { "c\($0)" }.joined(separator: ", ")
    let sets = columns.enumerated().filter { isNamed[$0.offset] }.map { ", \($1.name) = u.c\($0)" }.joined()
    let matches = writer.constraints.map { constraint in
      let equalities = constraint.columns.compactMap { name in
        columns.firstIndex { $0.name == name }.map { "t.\(name) = u.c\($0)" }
      }
      return "(\(equalities.joined(separator: " AND ")))"
    }
    let names = mapping.names
    return """
      UPDATE \(mapping.table) t SET \(names.version) = \("t.\(names.version)".nextVersion)\(sets) \
      FROM unnest(\(places)) AS u (\(aliases)) WHERE \(matches.joined(separator: " OR ")) RETURNING t.\(names.key)
      """
  }
}
