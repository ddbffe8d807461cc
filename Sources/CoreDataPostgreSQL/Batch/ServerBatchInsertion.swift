/// Writes the new rows of a batch: with COPY, or where duplicates are skipped or updated, with INSERT.
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

  /// On another connection, because this one may be in the middle of a COPY.
  private func nextKey() throws -> Int64 {
    while true {
      if let key = keys.next() { return key }
      keys = KeySupply(try store.database.read { reader, _ in try store.keys.take(Self.rowsAtOnce, reader) })
    }
  }

  // MARK: COPY

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
  /// about the same one.
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
