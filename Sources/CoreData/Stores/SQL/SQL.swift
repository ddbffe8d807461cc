/// A piece of SQL with the values of its parameters, in the order of the text.
///
/// Put together by interpolation, so that text and values cannot get out of step:
///
///     let condition: SQL = "\(column) = \(bind: .integer(5))"
///
/// Interpolating a string is left out on purpose: names of tables and columns come in as `\(raw: name)`, and nothing
/// else does.
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

  static let yes: SQL = "1"
  static let no: SQL = "0"
}

extension [SQL] {
  /// The pieces one after the other.
  func joined(_ separator: String) -> SQL {
    var result = SQL(raw: map(\.text).joined(separator: separator))
    result.values = flatMap(\.values)
    return result
  }
}
