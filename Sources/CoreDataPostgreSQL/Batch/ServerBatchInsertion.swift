/// Writes the new rows of a batch: with COPY, or where duplicates are skipped or updated, with INSERT.
final class ServerBatchInsertion {
  private let store: ServerStore
  private let connection: any ServerConnection
  private let history: ServerHistoryNotes?
  private let source: BatchRows
  private let mapping: TableMapping
  private let storedEntity: StoredEntity
  private let layout: EntityLayout
  private let writer: ServerRowWriter
  private let rules: BatchRowRules
  private var named: [Bool]
  private var result = BatchResult()
  private var keys = KeySupply()

  /// The number of rows of one INSERT, and of keys that are reserved at once.
  private static let rowsAtOnce = 1024

  init(
    _ store: ServerStore, _ source: BatchRows, _ connection: any ServerConnection, _ history: ServerHistoryNotes?
  ) throws {
    self.store = store
    self.source = source
    self.connection = connection
    self.history = history
    mapping = store.mapping(source.entityName)
    guard let storedEntity = store.storedEntities.byNumber[mapping.number] else {
      throw CoreDataErrors.error(.persistentStoreOperation, "The store holds no entity \(source.entityName).")
    }
    self.storedEntity = storedEntity
    layout = storedEntity.layout
    writer = store.writer(mapping.number)
    rules = BatchRowRules(layout, slots: writer.steps.map(\.slot))
    named = Array(repeating: false, count: layout.slotCount)
  }

  func run() throws -> BatchResult {
    if source.onDuplicate == .fail || writer.constraints.isEmpty { try copyRows() } else { try insertRows() }
    return result
  }

  // MARK: Rows

  /// Fills a row from the source; false if there are no more.
  private func fill(_ row: Snapshot) throws -> Bool {
    let defaults: Snapshot = layout.defaults
    for step in writer.steps { row.assign(slot: step.slot, from: defaults) }
    for slot in named.indices { named[slot] = false }
    guard try source.next(row, &named) else { return false }
    try rules.check(row)
    return true
  }

  /// On another connection, because this one may be in the middle of a COPY.
  private func nextKey() throws -> Int64 {
    while true {
      if let key = keys.next() { return key }
      keys = KeySupply(try store.database.read { reader, _ in try store.keys.take(Self.rowsAtOnce, reader) })
    }
  }

  private func note(_ key: Int64) {
    result.count += 1
    if source.keepsIDs { result.ids.append(NSManagedObjectID(storedEntity: storedEntity, key: key)) }
  }

  // MARK: COPY

  /// Source: https://www.postgresql.org/docs/15/sql-copy.html, "Binary Format".
  private func copyRows() throws {
    let columns = writer.columns(writer.steps)
    let names = [mapping.names.key, mapping.names.entity] + columns.map(\.column.name)
    let row = Snapshot.make(layout)
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
      guard try fill(row) else {
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
      for (step, column) in columns {
        let start = bytes.count
        bytes.append(bigEndian: Int32(-1))
        if try writer.append(step, column, of: row, to: &bytes, resolving: { $0 }) {
          bytes.replace(at: start, bigEndian: Int32(bytes.count - start - 4))
        }
      }
      note(key)
      history?.noteInsert(number: mapping.number, key: key)
      return true
    }
  }

  // MARK: INSERT

  private typealias Row = (key: Int64, values: Snapshot, named: [Bool])

  private func insertRows() throws {
    var rows: [Row] = []
    while true {
      let values = Snapshot.make(layout)
      guard try fill(values) else { break }
      rows.append((try nextKey(), values, named))
      if rows.count == Self.rowsAtOnce {
        try insert(rows)
        rows = []
      }
    }
    if !rows.isEmpty { try insert(rows) }
  }

  private func insert(_ rows: [Row]) throws {
    var keys = ServerArray(.int8)
    for row in rows { keys.append(row.key) }
    var parameters = ServerParameters()
    parameters.add(keys)
    try add(writer.steps, rows, to: &parameters)
    let sql = "\(writer.insertSQL) ON CONFLICT DO NOTHING RETURNING \(mapping.names.key)"
    let answer = try connection.execute(sql, parameters)
    let written = Set((0..<answer.rowCount).map { answer.integer($0, 0) })
    for row in rows where written.contains(row.key) {
      note(row.key)
      history?.noteInsert(number: mapping.number, key: row.key)
    }
    if source.onDuplicate == .update { try update(rows.filter { !written.contains($0.key) }) }
  }

  private func add(_ steps: [ServerRowWriter.Step], _ rows: [Row], to parameters: inout ServerParameters) throws {
    for step in steps {
      for column in step.columns {
        var array = ServerArray(column.type)
        for row in rows {
          try array.append { try writer.append(step, column, of: row.values, to: &$0, resolving: { $0 }) }
        }
        parameters.add(array)
      }
    }
  }

  /// Gives the rows that have the unique values already the named values. One after the other: two new rows may be
  /// about the same one.
  private func update(_ rows: [Row]) throws {
    let statements = try rows.map { row -> (sql: String, parameters: ServerParameters) in
      var parameters = ServerParameters()
      try add(writer.steps, [row], to: &parameters)
      return (updateSQL(row.named), parameters)
    }
    if statements.isEmpty { return }
    let answers = try connection.pipeline(statements)
    for (row, answer) in zip(rows, answers) where answer.rowCount > 0 {
      let key = answer.integer(0, 0)
      note(key)
      let names = layout.slots.indices.filter { row.named[$0] }.map { layout.slots[$0].name }
      history?.noteUpdate(number: mapping.number, key: key, changed: names)
    }
  }

  private func updateSQL(_ named: [Bool]) -> String {
    let columns = writer.columns(writer.steps)
    let places = (1...columns.count).map { "$\($0)" }.joined(separator: ", ")
    let aliases = columns.indices.map { "c\($0)" }.joined(separator: ", ")
    let sets = columns.enumerated().filter { named[$1.step.slot] }.map { ", \($1.column.name) = u.c\($0)" }.joined()
    let matches = writer.constraints.map { constraint in
      let equalities = constraint.columns.compactMap { name in
        columns.firstIndex { $0.column.name == name }.map { "t.\(name) = u.c\($0)" }
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
