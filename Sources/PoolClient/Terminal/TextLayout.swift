/// The place where text for people goes: how wide it is, and whether it has colours.
///
/// ```swift
/// import PoolClient
///
/// let layout = TextLayout(columns: 40, hasColours: false)
/// for line in layout.wrapped("a job of kind import has been waiting for 2 min", indentation: 2) { print(line) }
/// ```
public struct TextLayout: Hashable, Sendable {
  /// The characters of a line; nil where lines may have any length, as in a file.
  public var columns: Int?
  /// Whether texts have colours.
  public var hasColours: Bool

  /// A file or a pipe: lines of any length, no colours.
  public static let file = TextLayout(columns: nil, hasColours: false)

  /// Describes a terminal, a file or a pipe.
  public init(columns: Int?, hasColours: Bool) {
    self.columns = columns
    self.hasColours = hasColours
  }

  /// The text in a style; as it is where there are no colours, and for an empty text.
  public func styled(_ text: String, _ style: TextStyle) -> String {
    hasColours && !text.isEmpty ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// The text cut to a line. A terminal that does not wrap would show its end in the last column.
  public func cut(_ text: String) -> String { columns.map { TerminalText.cut(text, to: $0) } ?? text }

  /// The text in lines that fit, broken at spaces; all but the first begin with the indentation.
  ///
  /// A word that is longer than a line stays whole: a command or a path can be copied.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let layout = TextLayout(columns: 30, hasColours: false)
  /// let lines = layout.wrapped("error: there is no file with that name", indentation: 7)
  /// print(lines.joined(separator: "\n"))
  /// ```
  public func wrapped(_ text: String, indentation: Int = 0) -> [String] {
    guard let columns, TerminalText.width(text) > columns else { return [text] }
    let margin = String(repeating: " ", count: indentation)
    var lines: [String] = []
    var line = ""
    for (index, word) in text.split(separator: " ", omittingEmptySubsequences: false).enumerated() {
      if !line.isEmpty, line != margin, TerminalText.width(line) + 1 + TerminalText.width(String(word)) > columns {
        lines.append(line)
        line = margin + word
      } else {
        // A text may begin with spaces of its own.
        line += index == 0 ? "" : " "
        line += word
      }
    }
    return lines + [line]
  }
}

/// How a part of a text looks on a terminal, as a parameter of SGR (ECMA-48).
public enum TextStyle: Int, Sendable {
  case strong = 1
  case weak = 2
  case bad = 31
  case good = 32
  case warning = 33
  case active = 36
}
