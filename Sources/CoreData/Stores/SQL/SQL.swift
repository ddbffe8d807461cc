/// A piece of SQL with the values of its parameters, in the order of the text.
///
/// It is built by interpolation, so that text and values always match:
///
///     let condition: SQL = "\(column) = \(bind: .integer(5))"
///
/// Strings cannot be interpolated directly: names of tables and columns, and their numbers, are written
/// `\(raw: name)`, and nothing else is.
///
/// Parts are joined with their parameters in the order of the text, so nobody counts question marks:
///
/// ```text
/// let part: SQL = "t0.ZPAGES > \(bind: .integer(100))"
/// let whole: SQL = "(\(part)) AND t0.ZTITLE = \(bind: .text("Kindred"))"
///
/// whole.text    (t0.ZPAGES > ?) AND t0.ZTITLE = ?
/// whole.values  [100, "Kindred"]
/// ```
///
/// PostgreSQL's driver numbers the parameters ($1, $2, …) when it sends the text.
package struct SQL: ExpressibleByStringInterpolation {
  package var text: String
  package var values: [SQLiteValue] = []

  package struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var text = ""
    fileprivate var values: [SQLiteValue] = []

    package init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity * 2) }

    package mutating func appendLiteral(_ literal: String) { text += literal }

    package mutating func appendInterpolation(_ part: SQL) {
      text += part.text
      values += part.values
    }

    package mutating func appendInterpolation(raw name: String) { text += name }

    package mutating func appendInterpolation(raw number: some FixedWidthInteger) { text += "\(number)" }

    package mutating func appendInterpolation(bind value: SQLiteValue) {
      text += "?"
      values.append(value)
    }
  }

  package init(raw text: String) { self.text = text }

  package init(stringLiteral text: String) { self.text = text }

  package init(stringInterpolation: StringInterpolation) {
    text = stringInterpolation.text
    values = stringInterpolation.values
  }

  var isEmpty: Bool { text.isEmpty }

  static func += (sql: inout SQL, part: SQL) {
    sql.text += part.text
    sql.values += part.values
  }

  static let yes: SQL = "TRUE"
  static let no: SQL = "FALSE"
}

extension [SQL] {
  /// The pieces in order.
  func joined(_ separator: String) -> SQL {
    var result = SQL(raw: map(\.text).joined(separator: separator))
    result.values = flatMap(\.values)
    return result
  }
}

extension String {
  /// The text as a name in SQL.
  package var quotedName: String { "\"\(replacingOccurrences(of: "\"", with: "\"\""))\"" }

  /// The text as a constant in SQL.
  ///
  /// For texts that the framework itself has made, such as names of entities. A value of a program is bound instead.
  package var quotedText: String { "'\(replacingOccurrences(of: "'", with: "''"))'" }
}
