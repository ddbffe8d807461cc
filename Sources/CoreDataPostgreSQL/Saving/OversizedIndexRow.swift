extension ServerError {
  /// Whether something is larger than the server allows: in a save the row of an index, in most cases.
  ///
  /// ```text
  /// 54000  index row size 2712 exceeds btree version 4 maximum 2704 for index "Book_isbn_idx"
  /// 54000  index row requires 38240 bytes, maximum size is 8191
  /// ```
  ///
  /// Source: https://www.postgresql.org/docs/15/errcodes-appendix.html, `program_limit_exceeded`
  var isBeyondLimit: Bool { state == "54000" }
}

/// Finds out whose value was too long for an index: the server's error names the index at best, and never the row.
///
/// Its answer is a sentence such as "the value of isbn of Book/p2057 is too long for an index of the server" (134030)
/// instead of the server's own, which a user of the program could not act upon. Nothing is found out before the error:
/// a limit that is checked in advance would be wrong for values that the server compresses.
struct OversizedIndexRow {
  /// The least bytes of a refused row: a third of a page of 8 KiB, less what an index keeps of each row. The server
  /// compresses long values first, so rows with more bytes may have been accepted.
  ///
  /// Source: https://www.postgresql.org/docs/15/btree-limits.html
  private static let limit = 2600

  private let store: ServerStore
  /// The name of the index; nil where the server has not told it.
  private let index: String?

  init(_ error: ServerError, of store: ServerStore) {
    self.store = store
    index = error.constraint
  }

  /// The refused value among those of a save; nil if several attributes have values that are long enough to be refused.
  func value(in writer: ServerChangeWriter) throws -> RefusedValue? {
    var longestValues: [(attribute: NSAttributeDescription, entity: String, key: Int64)] = []
    var columns: [String: [Set<String>]] = [:]
    for (row, key) in Self.rows(of: writer) {
      let name = row.layout.name
      let indexes = try columns[name] ?? indexedColumns(name)
      columns[name] = indexes
      for index in indexes {
        guard let attribute = try longest(of: row, index, resolving: writer.resolve) else { continue }
        longestValues.append((attribute, name, key))
      }
    }
    // One value may be in several indexes.
    guard let first = longestValues.first,
      longestValues.allSatisfy({ $0.attribute === first.attribute && $0.entity == first.entity })
    else { return nil }
    let refused = Self.refused(for: "an index of the server")
    let isAlone = longestValues.allSatisfy { $0.key == first.key }
    return (isAlone ? refused.of(first.entity, first.key) : refused).of(first.attribute)
  }

  /// What a batch request could not write: the attribute where one alone may be too long, or else the entity with all
  /// of them. The rows are not known here.
  ///
  /// - Parameter names: the properties that the request changes; nil for all.
  func value(inBatchOf entity: String, changing names: Set<String>? = nil) throws -> RefusedValue {
    let columns = Set(try indexedColumns(entity).joined())
    let writer = store.writer(store.mapping(entity).number)
    var attributes: [NSAttributeDescription] = []
    for column in writer.columns(writer.all) where columns.contains(Self.plain(column.name)) {
      guard let attribute = column.attribute, Self.mayBeLong(attribute), names?.contains(attribute.name) ?? true,
        !attributes.contains(where: { $0 === attribute })
      else { continue }
      attributes.append(attribute)
    }
    if attributes.count == 1 { return Self.refused(entity: entity, for: "an index of the server").of(attributes[0]) }
    let places = index.map { ["the index \($0)"] } ?? attributes.map { "the index of \($0.name)" }
    return Self.refused(
      entity: entity,
      for: places.isEmpty ? "an index of the server" : "\(places.joined(separator: " or ")) at the server")
  }

  private static func refused(entity: String? = nil, for index: String) -> RefusedValue {
    RefusedValue(
      entity: entity, "is too long for \(index), which takes some 2,700 bytes of a row",
      remedy: "shorten it, or remove the index or the uniqueness constraint from the model")
  }

  /// Whether the values of an attribute differ in length.
  private static func mayBeLong(_ attribute: NSAttributeDescription) -> Bool {
    switch attribute.attributeType {
    case .stringAttributeType, .binaryDataAttributeType, .transformableAttributeType, .URIAttributeType: true
    default: false
    }
  }

  /// The rows that the save writes, with their keys.
  private static func rows(of writer: ServerChangeWriter) -> [(row: Snapshot, key: Int64)] {
    zip(writer.changes.inserted, writer.progress.saved.keys).map { ($0.values, $1) }
      + writer.changes.updated.compactMap { update in update.values.map { ($0, update.key) } }
  }

  /// The columns of each index of an entity's table, or of the one that is known.
  ///
  /// ```text
  /// SELECT i.indexrelid::text, quote_ident(a.attname) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  /// JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
  /// WHERE i.indrelid = to_regclass($1) AND $2 IN ('', c.relname::text)
  /// $1 = '"app"."Book"', $2 = 'Book_isbn_idx', or '' for all
  /// ```
  ///
  /// On a reader, since the writer's transaction has failed. Only that transaction sees the new tables of a
  /// migration, which have the indexes of the model.
  private func indexedColumns(_ entity: String) throws -> [Set<String>] {
    if store.database.isRebuilding { return modelColumns(entity) }
    let result = try store.database.read { connection, _ in
      try connection.execute(
        """
        SELECT i.indexrelid::text, quote_ident(a.attname) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid \
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) \
        WHERE i.indrelid = to_regclass(\(bind: .text(store.mapping(entity).table))) \
        AND \(bind: .text(index ?? "")) IN ('', c.relname::text)
        """)
    }
    var columns: [String: Set<String>] = [:]
    for row in 0..<result.rowCount {
      guard let index = result.text(row, 0), let column = result.text(row, 1) else { continue }
      columns[index, default: []].insert(Self.plain(column))
    }
    return Array(columns.values)
  }

  /// The columns of each index that the model asks for in an entity's table, except those of relationships.
  private func modelColumns(_ entity: String) -> [Set<String>] {
    let table = store.mapping(entity).table
    return store.schema.entities.filter { $0.table == table }.flatMap { mapping in
      let constraints = mapping.entity.uniquenessConstraints.map { mapping.columns(of: mapping.entity.names(of: $0)) }
      return (mapping.fetchIndexes.map { $0.columns.map(\.column) } + constraints).map { Set($0.map(Self.plain)) }
    }
  }

  /// A column's name without quotes: the server quotes fewer names than the store does.
  private static func plain(_ column: String) -> String { column.replacingOccurrences(of: "\"", with: "") }

  /// The attribute with the longest value of a row's indexed ones; nil if all together are short enough.
  private func longest(
    of row: Snapshot, _ columns: Set<String>, resolving resolve: ServerRowWriter.Resolver
  ) throws -> NSAttributeDescription? {
    let writer = store.writer(store.mapping(row.layout.name).number)
    var (total, longest) = (0, 0)
    var attribute: NSAttributeDescription?
    for column in writer.columns(writer.all) where columns.contains(Self.plain(column.name)) {
      guard case .encoded(let bytes, _)? = try writer.value(column.name, of: row, resolving: resolve) else { continue }
      total += bytes.count
      if bytes.count > longest { (longest, attribute) = (bytes.count, column.attribute) }
    }
    return total > Self.limit ? attribute : nil
  }
}
