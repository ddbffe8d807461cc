import Jobs

extension ImportParameters {
  /// Checks that the file has the columns that the parameters name: a row never has a field that its header does not
  /// name.
  ///
  /// - Throws: ``ColumnError`` for the first that is missing.
  func check(columns: [String]) throws(ColumnError) {
    let columnNames = Set(columns)
    if columns.count == 1, let header = columns.first, let likely = Self.delimiter(in: header) {
      throw ColumnError.delimiter(
        header: header, used: Character(Unicode.Scalar(delimiter)), likely: likely)
    }
    let keyField = map?.first { $0.attribute == key }?.field ?? key
    if !columnNames.contains(keyField) { throw ColumnError.missing(keyField, neededBy: "the key", known: columns) }
    for (field, _) in map ?? [] where !columnNames.contains(field) {
      throw ColumnError.missing(field, neededBy: "\"map\"", known: columns)
    }
    for relationship in relationships {
      for template in [relationship.value, relationship.prefix] {
        guard let missing = template?.fields.first(where: { !columnNames.contains($0) }) else { continue }
        throw ColumnError.missing(missing, neededBy: "the relationship \"\(relationship.name)\"", known: columns)
      }
    }
  }
}

extension ImportParameters {
  /// The characters that separate fields in common files.
  private static let delimiters: [Character] = [";", "\t", "|", ","]

  /// The character that most likely separates the fields of a header that was read as one field.
  private static func delimiter(in header: String) -> Character? {
    delimiters.filter(header.contains).max { one, other in header.count { $0 == one } < header.count { $0 == other } }
  }
}

/// The file does not have the columns that the parameters name.
enum ColumnError: Error, Hashable, CustomStringConvertible {
  /// A column is missing, which the key, `"map"` or a relationship needs.
  case missing(String, neededBy: String, known: [String])
  /// The header is one field, which looks like several with another delimiter between them.
  case delimiter(header: String, used: Character, likely: Character)

  private static let shown = 20
  private static let longestHeader = 80

  var description: String {
    switch self {
    case .missing(let column, let neededBy, let columns): Self.text(missing: column, neededBy, columns)
    case .delimiter(let header, let used, let likely):
      "the header \"\(header.prefix(Self.longestHeader))\" is one column with the delimiter \"\(used)\"; for this file "
        + "set \"delimiter\": \"\(likely == "\t" ? "\\t" : String(likely))\""
    }
  }

  private static func text(missing column: String, _ neededBy: String, _ columns: [String]) -> String {
    let list = columns.prefix(Self.shown).map { "\"\($0)\"" }.joined(separator: ", ")
    let more = columns.count > Self.shown ? " and \(columns.count - Self.shown) more" : ""
    let hint = Spelling.hint(to: column, among: columns, .quotes, otherwise: "it has \(list)\(more)")
    return "the file has no column \"\(column)\", which \(neededBy) needs\(hint)"
  }
}
