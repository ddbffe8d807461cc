/// A row in the server's binary format: where the bytes of its values are. The caller keeps their memory.
///
/// Loops over rows are specialised for its two kinds, so that no value costs a call through the protocol: `ResultRow`
/// for the rows of a prepared statement, `CopiedRow` for those of a COPY. Both give the same bytes for the same value.
///
/// `RowDecoder` asks for a column in the form that the plan's cast has made certain (`RowPlan.form`), so no type is
/// looked at here.
protocol ServerRow: RowCells {
  /// The value's bytes; nil for NULL.
  func bytes(_ column: Int32) -> UnsafeRawBufferPointer?

  /// The place of a value that is never empty; nil for NULL.
  func number(_ column: Int32) -> UnsafeRawPointer?
}

extension ResultRow: ServerRow {}
extension CopiedRow: ServerRow {}

extension ServerRow {
  /// A key, which is never NULL.
  @inline(__always)
  func key(_ column: Int32) -> Int64 { integer(column) ?? 0 }

  /// The eight bytes of a `bigint`; also those of a date and of a floating-point number, before they are read as such.
  @inline(__always)
  func integer(_ column: Int32) -> Int64? {
    number(column).map { Int64(bigEndian: $0.loadUnaligned(as: Int64.self)) }
  }

  @inline(__always)
  func boolean(_ column: Int32) -> Int64? { number(column).map { $0.load(as: UInt8.self) == 0 ? 0 : 1 } }

  @inline(__always)
  func double(_ column: Int32) -> Double? { integer(column).map { Double(bitPattern: UInt64(bitPattern: $0)) } }

  @inline(__always)
  func date(_ column: Int32) -> Double? { integer(column).map(ServerDate.seconds) }

  @inline(__always)
  func text(_ column: Int32) -> UnsafeBufferPointer<UInt8>? { bytes(column)?.bindMemory(to: UInt8.self) }

  /// The bytes of a `bytea`. Nothing is kept in files beside a server's rows, so `isExternal` changes nothing.
  func data(_ column: Int32, isExternal: Bool, in storedEntity: StoredEntity?) -> Data? {
    bytes(column).map { Data($0) }
  }

  func decimal(_ column: Int32) -> NSDecimalNumber? {
    bytes(column).map(ServerValue.decimal)
  }

  func uuid(_ column: Int32) -> UUID? {
    bytes(column).flatMap(ServerValue.uuid)
  }

  /// What a transformer decodes: the bytes of a `bytea`, or the text of a `jsonb`.
  func archive(_ column: Int32, of attribute: NSAttributeDescription?) -> Data? {
    let isJSON = attribute.flatMap { ServerType($0) } == .json
    return bytes(column).map { isJSON ? ServerValue.json($0) : Data($0) }
  }

  /// A text, for an attribute whose type is undefined.
  func plain(_ column: Int32) -> Any? { bytes(column).map { String(decoding: $0, as: UTF8.self) } }
}

/// A row of a result whose columns have types of their own: of dictionaries, where an expression decides the type.
struct TypedServerRow: ValueCells {
  let result: any ServerResult
  let row: Int

  func key(_ column: Int32) -> Int64 { result.integer(row, Int(column)) }

  func value(
    _ column: Int32, as type: NSAttributeType, of attribute: NSAttributeDescription?, in storedEntity: StoredEntity?
  ) -> Any? {
    result.bytes(row, Int(column)).flatMap {
      ServerValue.value($0, ofType: result.type(Int(column)), as: type, of: attribute)
    }
  }
}

extension RowPlan {
  /// A column with the type as which it is decoded, since a person may have altered the column's; where it is the same,
  /// this costs nothing.
  ///
  /// ```text
  /// "pages" bigint                              t0."pages"::bigint     the server removes the cast when it plans
  /// ALTER TABLE … ALTER "pages" TYPE integer    t0."pages"::bigint     widened for each row; no program notices
  /// ALTER TABLE … ALTER "pages" TYPE text       t0."pages"::bigint     22P02 where a text is no number
  /// ```
  static func form(_ name: String, _ attribute: NSAttributeDescription?) -> String {
    "\(name)::\(ServerType(columnOf: attribute).name)"
  }

  /// Gives the body the rows of a result: the decoder, the entity, the cells.
  @inline(__always)
  func forEachRow(
    of result: any ServerResult, _ body: (RowDecoder, StoredEntity, ResultRow) throws -> Void
  ) throws {
    let cells = result.cells
    let count = Int32(truncatingIfNeeded: result.rowCount)
    var index: Int32 = 0
    // The cells refer to the result's memory.
    try withExtendedLifetime(result) {
      try forEachRow(
        {
          if index == count { return nil }
          defer { index += 1 }
          return cells.row(index)
        }, body)
    }
  }

  /// The same with the rows of a SELECT without parameters, while the server sends them. An error of the body stops the
  /// COPY: see `PostgreSQLConnection.copyRows`.
  ///
  /// - Returns: the number of rows, also of those whose entity the model lacks.
  @inline(__always)
  @discardableResult
  func forEachCopiedRow(
    _ connection: any ServerConnection, _ sql: String, columnCount: Int,
    _ body: (RowDecoder, StoredEntity, CopiedRow) throws -> Void
  ) throws -> Int {
    let copiedRows = CopiedRows(columnCount: columnCount)
    var count = 0
    // The rows refer to its memory.
    try withExtendedLifetime(copiedRows) {
      try connection.copyRows(sql) { messages in
        var rows = try copiedRows.rows(in: messages)
        try forEachRow(
          {
            let row = try rows.next()
            if row != nil { count += 1 }
            return row
          }, body)
      }
    }
    return count
  }
}

/// The SELECTs of rows of one entity by their keys, made once for each entity when the store is opened.
///
/// ```text
/// row     SELECT t._key::bigint, t._version::bigint, t."author"::bigint, t."isRead"::boolean, t."pages"::bigint,
///                t."title"::text FROM "app"."Book" t WHERE t._key = $1 AND t._entity = 2
/// rows    … WHERE t._key = ANY($1) AND t._entity = 2
/// ```
///
/// The entity is part of the condition, since the ID names it: a row that another program has given another entity is
/// not this object.
struct ServerRowQueries {
  /// Its parameter: an array of keys.
  let rows: String
  /// Its parameter: a key.
  let row: String

  init(_ plan: RowPlan, _ mapping: TableMapping) {
    let selection = "SELECT \(plan.columnList(alias: "t")) FROM \(mapping.table) t WHERE t.\(mapping.names.key) ="
    row = "\(selection) $1 AND t.\(mapping.names.entity) = \(mapping.number)"
    rows = "\(selection) ANY($1) AND t.\(mapping.names.entity) = \(mapping.number)"
  }
}
