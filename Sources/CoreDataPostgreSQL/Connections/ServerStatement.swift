/// A statement of the generator in the server's form: parameters are `$1`, `$2`, …
struct ServerStatement {
  let sql: String
  let parameters: ServerParameters

  init(_ sql: String, _ values: [SQLiteValue]) {
    self.sql = Self.numbered(sql, from: 1)
    parameters = Self.parameters(values)
  }

  init(_ sql: SQL) { self.init(sql.text, sql.values) }

  static func parameters(_ values: [SQLiteValue]) -> ServerParameters {
    var parameters = ServerParameters()
    for value in values {
      switch value {
      case .null: parameters.addNull(.text)
      case .integer(let value): parameters.add(value)
      case .real(let value): parameters.add(value)
      case .text(let value): parameters.add(value)
      case .blob(let value): parameters.add(value)
      }
    }
    return parameters
  }

  /// The text with numbers in place of the question marks that are not in names or constants.
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
