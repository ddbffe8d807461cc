import CoreData

/// Text from a store or a file, made fit for a terminal.
public enum TerminalText {
  /// The text with escapes in place of everything that a terminal might obey, or that would break a line.
  ///
  /// Control characters become `\n`, `\t` or `\u{1b}`; so do characters that change the direction of writing and the
  /// separators of lines and paragraphs.
  public static func escaped(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: mustEscape) else { return text }
    return text.escaped { scalar in
      switch scalar {
      case "\n": "\\n"
      case "\r": "\\r"
      case "\t": "\\t"
      case "\\": "\\\\"
      case _ where mustEscape(scalar): "\\u{\(String(scalar.value, radix: 16))}"
      default: nil
      }
    }
  }

  private static func mustEscape(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0: true
    case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069, 0x2028, 0x2029, 0xFEFF: true
    default: false
    }
  }

  /// The text cut to `width` characters, the last of them an ellipsis.
  package static func cut(_ text: String, to width: Int) -> String {
    text.count <= width ? text : text.prefix(max(0, width - 1)) + "…"
  }
}
