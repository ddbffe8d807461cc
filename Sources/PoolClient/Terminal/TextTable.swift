import Jobs

/// Rows in columns that line up, for people.
///
/// ```swift
/// import PoolClient
///
/// var table = TextTable([.text("kind"), .number("dead"), .text("error", worth: 1)])
/// table.add(["import", "12", "no such file"])
/// print(table.lines(TextLayout(columns: 30, hasColours: false)).joined(separator: "\n"))
/// ```
///
/// The widths come from all rows, so the lines are made when the table is complete. In 30 columns, and in 16:
///
/// ```text
/// kind    dead  error                 kind    dead
/// import    12  no such file          import    12
/// ```
///
/// For programs, print JSON: a cell may be cut, and a column left out.
public struct TextTable {
  /// A column: its title, and what happens to it on a narrow terminal.
  public struct Column: Sendable {
    let title: String
    let isNumber: Bool
    let worth: Int?

    /// A column of texts, which are cut where they do not fit.
    ///
    /// - Parameter worth: the columns of the lowest worth are left out first; nil: never.
    public static func text(_ title: String, worth: Int? = nil) -> Column {
      Column(title: title, isNumber: false, worth: worth)
    }

    /// A column of numbers, which stand at its right edge and are not cut.
    ///
    /// - Parameter worth: the columns of the lowest worth are left out first; nil: never.
    public static func number(_ title: String, worth: Int? = nil) -> Column {
      Column(title: title, isNumber: true, worth: worth)
    }
  }

  private let columns: [Column]
  private var rows: [[String]] = []
  private var styles: [[Int: TextStyle]] = []

  /// The most columns of a cell where no width is given.
  static let widest = 48
  /// A column of texts does not get narrower than this as long as others can be left out.
  private static let narrow = 16

  /// Makes a table without rows.
  public init(_ columns: [Column]) { self.columns = columns }

  /// Whether the table has no rows.
  public var isEmpty: Bool { rows.isEmpty }

  /// Adds a row; its texts are escaped for terminals.
  ///
  /// - Parameter styles: the styles of cells, by column.
  public mutating func add(_ row: [String], styles: [Int: TextStyle] = [:]) {
    rows.append(row.map(TerminalText.escaped))
    self.styles.append(styles)
  }

  /// The lines of the table, the header first.
  ///
  /// Where they are wider than the layout, the widest columns of texts are cut; then columns are left out in the order
  /// of their worth.
  public func lines(_ layout: TextLayout = .file) -> [String] {
    let shown = fitted(to: layout.columns)
    let header = line(columns.map(\.title), shown) { _, text in layout.styled(text, .strong) }
    return [header]
      + zip(rows, styles).map { row, styles in
        line(row, shown) { column, text in styles[column].map { layout.styled(text, $0) } ?? text }
      }
  }

  /// One line; spaces at its end are left out.
  private func line(
    _ row: [String], _ shown: [(column: Int, width: Int)], style: (_ column: Int, _ text: String) -> String
  ) -> String {
    var line = shown.map { column, width in
      let text = TerminalText.cut(row[column], to: width)
      let padding = String(repeating: " ", count: max(0, width - TerminalText.width(text)))
      return columns[column].isNumber ? padding + style(column, text) : style(column, text) + padding
    }.joined(separator: "  ")
    while line.hasSuffix(" ") { line.removeLast() }
    return line
  }

  /// The columns that are shown, with their widths. For a terminal it tries, in this order: all columns, with texts cut
  /// to 16 columns at the narrowest; the same without the column that is worth least, and so on; and at last those that
  /// may not be left out, with texts cut to four.
  private func fitted(to width: Int?) -> [(column: Int, width: Int)] {
    var natural = columns.map(\.title.count)
    for row in rows {
      for (column, text) in row.enumerated() { natural[column] = max(natural[column], TerminalText.width(text)) }
    }
    guard let width else {
      return natural.enumerated().map { ($0, min($1, max(Self.widest, columns[$0].title.count))) }
    }
    var shown = Array(columns.indices)
    while true {
      var widths = natural
      if shrink(&widths, shown, to: width, narrowest: Self.narrow) { return shown.map { ($0, widths[$0]) } }
      // The rightmost of those that are worth least.
      guard
        let least = shown.indices.filter({ columns[shown[$0]].worth != nil })
          .min(by: { (columns[shown[$0]].worth ?? 0, $1) < (columns[shown[$1]].worth ?? 0, $0) })
      else {
        _ = shrink(&widths, shown, to: width, narrowest: 4)
        return shown.map { ($0, widths[$0]) }
      }
      shown.remove(at: least)
    }
  }

  /// Takes from the widest columns of texts until all fit; false when that is not enough. Numbers are not cut: a part
  /// of a number is another number.
  private func shrink(_ widths: inout [Int], _ shown: [Int], to width: Int, narrowest: Int) -> Bool {
    var excess = shown.reduce(2 * (shown.count - 1)) { $0 + widths[$1] } - width
    while excess > 0 {
      let texts = shown.filter { !columns[$0].isNumber && widths[$0] > max(narrowest, columns[$0].title.count) }
      guard let widest = texts.max(by: { widths[$0] < widths[$1] }) else { return false }
      widths[widest] -= 1
      excess -= 1
    }
    return true
  }
}

extension TextTable {
  /// A value as it stands in a table: objects by entity and key, nothing for null.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// print(TextTable.cell(.string("x-coredata://A/Book/p17")))  // Book/p17
  /// print(TextTable.cell(.string("Emma")), TextTable.cell(.null))  // Emma
  /// ```
  public static func cell(_ value: JSONValue) -> String {
    switch value {
    case .null: return ""
    case .string(let text):
      return ObjectURI(text).map { "\($0.entity)/\($0.name)" } ?? text
    default: return value.text
    }
  }
}
