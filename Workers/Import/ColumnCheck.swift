import Jobs

extension ImportParameters {
  /// Checks that the file has the columns that the parameters name: a row never has a field that its header does not
  /// name.
  ///
  /// - Throws: ``ColumnError`` for the first that is missing.
  func check(columns: [String]) throws(ColumnError) {
    let known = Set(columns)
    let keyField = map?.first { $0.attribute == key }?.field ?? key
    if !known.contains(keyField) { throw ColumnError(column: keyField, neededBy: "the key", known: columns) }
    for (field, _) in map ?? [] where !known.contains(field) {
      throw ColumnError(column: field, neededBy: "\"map\"", known: columns)
    }
    for relationship in relationships {
      for template in [relationship.value, relationship.prefix] {
        guard let missing = template?.fields.first(where: { !known.contains($0) }) else { continue }
        throw ColumnError(column: missing, neededBy: "the relationship \"\(relationship.name)\"", known: columns)
      }
    }
  }
}

/// The parameters name a column that the file does not have.
struct ColumnError: Error, Hashable, CustomStringConvertible {
  let column: String
  /// What names it.
  let neededBy: String
  let known: [String]

  private static let shown = 20

  var description: String {
    let list = known.prefix(Self.shown).map { "\"\($0)\"" }.joined(separator: ", ")
    let more = known.count > Self.shown ? " and \(known.count - Self.shown) more" : ""
    let hint = Spelling.nearest(to: column, among: known).map { "did you mean \"\($0)\"?" }
    return "the file has no column \"\(column)\", which \(neededBy) needs; \(hint ?? "it has \(list)\(more)")"
  }
}
