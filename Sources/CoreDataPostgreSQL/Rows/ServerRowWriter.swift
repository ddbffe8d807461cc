internal import Synchronization

/// The statements that write one entity's rows, and their parameters. One for each entity of a store, made when the
/// store is opened and used by all of its saves and batch insertions.
///
/// ```text
/// one new row        INSERT INTO "app"."Author" (_key, _entity, "name") VALUES ($1, 1, $2)
/// several            INSERT INTO "app"."Book" (_key, _entity, "author", "isRead", "pages", "title")
///                    SELECT u.key, 2, u.c0, u.c1, u.c2, u.c3
///                    FROM unnest($1, $2, $3, $4, $5) AS u (key, c0, c1, c2, c3)
/// one changed row    UPDATE "app"."Book" SET _version = _version % 9223372036854775807 + 1, "isRead" = $3
///                    WHERE _key = $1 AND ($2 < 0 OR _version = $2)
/// several            UPDATE "app"."Book" t SET _version = t._version % 9223372036854775807 + 1, "pages" = u.c0
///                    FROM unnest($1, $2, $3) AS u (key, version, c0)
///                    WHERE t._key = u.key AND (u.version < 0 OR t._version = u.version) RETURNING t._key
/// ```
///
/// The condition on the version is what detects conflicts: the row is changed only if it still is as the program has
/// read it. -1 stands for a row that was never read, which cannot conflict. The column `_version` has no place in an
/// INSERT: its default is 1.
///
/// A *step* is a property, and may have several columns: a composite attribute, or a to-one relationship whose
/// destination has subentities. Steps have positions, and a set of them says which properties an UPDATE changes.
///
/// `@unchecked Sendable`: everything is set in `init`, except the texts of the UPDATEs, which are used under their
/// lock.
final class ServerRowWriter: EncodedRowWriter, @unchecked Sendable {
  typealias Resolver = (RelatedKey) -> RelatedKey?

  let mapping: TableMapping
  let encoder: RowEncoder
  /// The columns of each step, in the order of their parameters.
  let columns: [[Column]]
  let constraints: [UniqueConstraint]
  /// The INSERT of rows; parameters: keys, then an array for each column.
  private(set) var insertSQL = ""
  /// The INSERT of one row; parameters: its key, then a value for each column.
  private(set) var insertRowSQL = ""
  /// The texts of the UPDATEs, by the properties that they change. A program changes few different sets of them.
  private let updates = Mutex<[StepSet: UpdateTexts]>([:])

  struct Column {
    let name: String
    let type: ServerType
    /// Nil for a key or an entity's number.
    let attribute: NSAttributeDescription?
  }

  private struct UpdateTexts {
    let rows: String
    let row: String
  }

  init(_ mapping: TableMapping, layout: EntityLayout, _ constraints: [UniqueConstraint]) {
    self.mapping = mapping
    self.constraints = constraints
    encoder = RowEncoder(mapping, layout: layout, constraints)
    columns = encoder.columns.map {
      $0.map { Column(name: $0.name, type: ServerType(columnOf: $0.attribute), attribute: $0.attribute) }
    }
    insertSQL = makeInsert()
    insertRowSQL = makeRowInsert()
  }

  /// The positions of all steps.
  var all: Range<Int> { columns.indices }

  /// Their positions are those of the steps.
  var properties: WrittenProperties { encoder.properties }

  /// The columns of the steps at some positions, in their order.
  func columns(_ positions: some Sequence<Int>) -> [Column] { positions.flatMap { columns[$0] } }

  // MARK: Values

  /// Appends the values of a row's columns.
  ///
  /// - Parameter resolve: gives the permanent key of a related object that this save inserts, too.
  /// - Throws: `RefusedValue` with the attribute's name.
  @inline(__always)
  func write(
    _ position: Int, of row: Snapshot, to fields: inout ServerFields, resolving resolve: Resolver
  ) throws(RefusedValue) {
    let first = fields.count
    do {
      try encoder.write(encoder.steps[position], of: row, to: &fields, resolving: resolve)
    } catch {
      // The refused value was not written.
      throw columns[position][fields.count - first].attribute.map(error.of) ?? error
    }
  }

  /// The bytes of several rows' values that one statement takes. A server accepts messages of one GiB.
  static let mostBytes = 64 << 20

  /// Adds an array for each column. Returns false when several rows have more bytes than one statement takes: then the
  /// parameters are of no use, and fewer rows have to be tried.
  func addColumns(
    _ positions: some Sequence<Int>, of rows: [Snapshot], to parameters: inout ServerParameters,
    resolving resolve: Resolver
  ) throws(RefusedValue) -> Bool {
    let most = rows.count > 1 ? Self.mostBytes : .max
    for position in positions {
      var fields = ServerFields(capacity: rows.count * columns[position].count * 16)
      for row in rows {
        try write(position, of: row, to: &fields, resolving: resolve)
        if parameters.bytes.count + fields.byteCount > most { return false }
      }
      for array in ServerArray.arrays(columns[position].map(\.type), of: fields) { parameters.add(array) }
    }
    return true
  }

  /// Adds the value of each column, for a statement of one row: such a statement is planned once, while the server
  /// plans one of arrays for each array anew as long as that is cheaper to run.
  func addValues(
    _ positions: some Sequence<Int>, of row: Snapshot, to parameters: inout ServerParameters,
    resolving resolve: Resolver
  ) throws(RefusedValue) {
    var fields = ServerFields(capacity: 256)
    for position in positions { try write(position, of: row, to: &fields, resolving: resolve) }
    parameters.add(fields, columns(positions).map(\.type))
  }

  /// The value of a column in the server's form; nil for NULL, or for a column that is not written.
  func value(_ column: String, of row: Snapshot, resolving resolve: Resolver) throws(RefusedValue) -> SQLiteValue? {
    for position in all {
      guard let index = columns[position].firstIndex(where: { $0.name == column }) else { continue }
      var fields = ServerFields(capacity: 64)
      try write(position, of: row, to: &fields, resolving: resolve)
      return fields.values(columns[position].map(\.type))[index]
    }
    return nil
  }
}

// MARK: Statements

extension ServerRowWriter {
  /// The INSERT of several rows, whose text is the same for any number of them.
  fileprivate func makeInsert() -> String {
    let columns = columns(all)
    let names = [mapping.names.key, mapping.names.entity] + columns.map(\.name)
    let places = (1...(columns.count + 1)).map { "$\($0)" }.joined(separator: ", ")
    let values = columns.indices.map { ", u.c\($0)" }.joined()
    let aliases = columns.indices.map { ", c\($0)" }.joined()
    return """
      INSERT INTO \(mapping.table) (\(names.joined(separator: ", "))) SELECT u.key, \(mapping.number)\(values) \
      FROM unnest(\(places)) AS u (key\(aliases))
      """
  }

  fileprivate func makeRowInsert() -> String {
    let columns = columns(all)
    let names = [mapping.names.key, mapping.names.entity] + columns.map(\.name)
    let places = columns.indices.map { ", $\($0 + 2)" }.joined()
    return """
      INSERT INTO \(mapping.table) (\(names.joined(separator: ", "))) VALUES ($1, \(mapping.number)\(places))
      """
  }

  /// The UPDATE of the steps; parameters: keys, the versions before or -1, then an array for each column.
  ///
  /// ```text
  /// UPDATE "app"."Book" t SET _version = t._version % 9223372036854775807 + 1, "pages" = u.c0
  /// FROM unnest($1, $2, $3) AS u (key, version, c0)
  /// WHERE t._key = u.key AND (u.version < 0 OR t._version = u.version) RETURNING t._key
  /// $1 = '{2,3}', $2 = '{2,1}', $3 = '{475,250}'
  /// ```
  ///
  /// The remainder lets the largest version be followed by 1 instead of an error (22003): only another program writes
  /// it.
  func updateSQL(_ changed: StepSet) -> String { texts(changed).rows }

  /// The UPDATE of the steps of one row; parameters: its key, the version before or -1, then a value for each column.
  func updateRowSQL(_ changed: StepSet) -> String { texts(changed).row }

  /// The statements of a set of steps. With more than 200 sets all are forgotten, as those of a connection are with
  /// more than 500 texts: a program with more sets uses each of them rarely.
  private func texts(_ changed: StepSet) -> UpdateTexts {
    updates.withLock { textsBySteps in
      if let texts = textsBySteps[changed] { return texts }
      if textsBySteps.count > 200 { textsBySteps.removeAll() }
      let texts = UpdateTexts(rows: makeUpdate(changed), row: makeRowUpdate(changed))
      textsBySteps[changed] = texts
      return texts
    }
  }

  /// The UPDATE of one row. Its answer needs no RETURNING: the number of changed rows, 0 or 1, says all.
  private func makeRowUpdate(_ changed: StepSet) -> String {
    let columns = columns(changed.positions)
    let sets = columns.enumerated().map { ", \($1.name) = $\($0 + 3)" }.joined()
    let names = mapping.names
    return """
      UPDATE \(mapping.table) SET \(names.version) = \(names.version.nextVersion)\(sets) \
      WHERE \(names.key) = $1 AND ($2 < 0 OR \(names.version) = $2)
      """
  }

  /// The UPDATE of several rows. RETURNING names those that were changed; a row that is missing there has another
  /// version, or is gone.
  private func makeUpdate(_ changed: StepSet) -> String {
    let columns = columns(changed.positions)
    let places = (1...(columns.count + 2)).map { "$\($0)" }.joined(separator: ", ")
    let aliases = columns.indices.map { ", c\($0)" }.joined()
    let sets = columns.enumerated().map { ", \($1.name) = u.c\($0)" }.joined()
    let names = mapping.names
    return """
      UPDATE \(mapping.table) t SET \(names.version) = \("t.\(names.version)".nextVersion)\(sets) \
      FROM unnest(\(places)) AS u (key, version\(aliases)) \
      WHERE t.\(names.key) = u.key AND (u.version < 0 OR t.\(names.version) = u.version) RETURNING t.\(names.key)
      """
  }
}
