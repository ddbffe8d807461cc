/// A statement of the generator in the server's form: parameters are `$1`, `$2`, …
///
/// ```text
/// the generator, for both databases    SELECT count(*) FROM "app"."Book" t0 WHERE (t0."pages" > ?)
/// for the server                       SELECT count(*) FROM "app"."Book" t0 WHERE (t0."pages" > $1)
/// ```
///
/// The text is the key under which a connection keeps a statement prepared. So values are never part of it, except the
/// numbers of LIMIT and OFFSET, and a list's length (`IN ($1, $2)`).
struct ServerStatement {
  let sql: String
  let parameters: ServerParameters

  init(_ sql: SQL) {
    self.sql = Self.numbered(sql.text, from: 1)
    parameters = Self.parameters(sql.values)
  }

  /// The values in the server's binary form, each with the type that it says itself:
  ///
  /// ```text
  /// .integer   bigint              .text      text
  /// .real      double precision    .blob      bytea
  /// .null      text, NULL          .encoded   as the column: timestamptz, uuid, numeric, boolean, jsonb
  /// ```
  ///
  /// The server does not convert between these as a literal would be: `"pages" > $1` with a text is error 42883. The
  /// generator casts where a column's type is another one than its value's (`SQLDialect.parameter`).
  static func parameters(_ values: [SQLiteValue]) -> ServerParameters {
    var parameters = ServerParameters()
    for value in values {
      switch value {
      case .null: parameters.addNull(.text)
      case .integer(let value): parameters.add(value)
      case .real(let value): parameters.add(value)
      case .text(let value): parameters.add(value)
      case .blob(let value): parameters.add(value)
      case .encoded(let bytes, let type): parameters.add(bytes, type: type)
      }
    }
    return parameters
  }

  /// The text with numbers in place of the question marks that are not in names or constants.
  ///
  /// A question mark is no operator of the statements here: those of `jsonb` are not used, since they could not be told
  /// from a parameter. A doubled quote inside of a constant closes and opens it, which leaves the state right.
  static func numbered(_ sql: String, from first: Int) -> String {
    guard sql.utf8.contains(UInt8(ascii: "?")) else { return sql }
    var numbered: [UInt8] = []
    numbered.reserveCapacity(sql.utf8.count + 32)
    var quote: UInt8 = 0
    var number = first
    for byte in sql.utf8 {
      if byte == UInt8(ascii: "?") && quote == 0 {
        numbered += "$\(number)".utf8
        number += 1
        continue
      }
      if quote == 0, byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
        quote = byte
      } else if byte == quote {
        quote = 0
      }
      numbered.append(byte)
    }
    return String(decoding: numbered, as: UTF8.self)
  }
}

extension ServerConnection {
  @discardableResult
  func execute(_ sql: SQL) throws -> any ServerResult {
    let statement = ServerStatement(sql)
    return try execute(statement.sql, statement.parameters)
  }

  /// The rows of a statement whose columns are numbers; 0 for NULL.
  func integers(_ sql: SQL) throws -> [[Int64]] {
    let result = try execute(sql)
    return (0..<result.rowCount).map { row in (0..<result.columnCount).map { result.integer(row, $0) } }
  }
}
