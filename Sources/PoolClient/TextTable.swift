import Jobs

/// Rows in columns that line up, for people.
public struct TextTable {
  private let header: [String]
  private var rows: [[String]] = []
  private let rightAligned: Set<Int>

  /// The most characters of a column.
  static let widest = 48

  /// - Parameter rightAligned: the positions of columns of numbers.
  public init(_ header: [String], rightAligned: Set<Int> = []) {
    self.header = header
    self.rightAligned = rightAligned
  }

  /// Whether the table has no rows.
  public var isEmpty: Bool { rows.isEmpty }

  /// Adds a row; its texts are escaped for terminals.
  public mutating func add(_ row: [String]) {
    rows.append(row.map { TerminalText.cut(TerminalText.escaped($0), to: Self.widest) })
  }

  /// The lines of the table, the header first.
  public var lines: [String] {
    var widths = header.map(\.count)
    for row in rows {
      for (column, text) in row.enumerated() { widths[column] = max(widths[column], text.count) }
    }
    return ([header] + rows).map { row in
      var line = row.enumerated().map { column, text in
        let padding = String(repeating: " ", count: widths[column] - text.count)
        return rightAligned.contains(column) ? padding + text : text + padding
      }.joined(separator: "  ")
      while line.hasSuffix(" ") { line.removeLast() }
      return line
    }
  }
}

extension TextTable {
  /// A value as it stands in a table: objects by entity and key, nothing for null.
  public static func cell(_ value: JSONValue) -> String {
    switch value {
    case .null: return ""
    case .string(let text):
      return ObjectURI(text).map { "\($0.entity)/\($0.name)" } ?? text
    default: return value.text
    }
  }
}
