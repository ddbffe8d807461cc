/// A piece of SQL with the values of its parameters, in the order of the text.
///
/// It is built by interpolation, so that text and values always match:
///
///     let condition: SQL = "\(column) = \(bind: .integer(5))"
///
/// Strings cannot be interpolated directly: names of tables and columns are written `\(raw: name)`, and nothing else
/// is.
struct SQL: ExpressibleByStringInterpolation {
  var text: String
  var values: [SQLiteValue] = []

  struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var text = ""
    fileprivate var values: [SQLiteValue] = []

    init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity * 2) }

    mutating func appendLiteral(_ literal: String) { text += literal }

    mutating func appendInterpolation(_ part: SQL) {
      text += part.text
      values += part.values
    }

    mutating func appendInterpolation(raw name: String) { text += name }

    mutating func appendInterpolation(bind value: SQLiteValue) {
      text += "?"
      values.append(value)
    }
  }

  init(raw text: String) { self.text = text }

  init(stringLiteral text: String) { self.text = text }

  init(stringInterpolation: StringInterpolation) {
    text = stringInterpolation.text
    values = stringInterpolation.values
  }

  var isEmpty: Bool { text.isEmpty }

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
