import CoreData

/// Text from a store or a file, made fit for a terminal.
///
/// The output of a job, an error's message and a file's name can contain any characters. A terminal obeys sequences in
/// them: they could colour what follows, move the cursor over other lines, or set the window's title. A newline would
/// make two lines of one. So pass all such texts through ``escaped(_:)`` before they are printed.
public enum TerminalText {
  /// The text with escapes in place of everything that a terminal might obey, or that would break a line.
  ///
  /// Control characters become `\n`, `\t` or `\u{1b}`; so do characters that change the direction of writing and the
  /// separators of lines and paragraphs.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// print(TerminalText.escaped("a\u{1B}[31mb\n"))  // a\u{1b}[31mb\n, in one line and without colour
  /// ```
  ///
  /// A backslash is doubled only in texts that have something to escape. Costs one look at each character.
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

  /// Control characters of ASCII and of Latin-1 (C0, C1), the marks and overrides of the direction of writing, the
  /// separators of lines and paragraphs, and the byte order mark.
  private static func mustEscape(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0: true
    case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069, 0x2028, 0x2029, 0xFEFF: true
    default: false
    }
  }

  /// The text cut to `width` columns, the last of them an ellipsis. A wide character of which only half
  /// fits is left out.
  package static func cut(_ text: String, to width: Int) -> String {
    guard self.width(text) > width else { return text }
    var room = width - 1
    let kept = text.prefix { character in
      room -= self.width(character)
      return room >= 0
    }
    return kept + "…"
  }

  /// How many columns of a terminal the text takes: characters of East Asian scripts and emoji take two, marks none.
  ///
  /// Terminals differ in emoji that are joined from several. Here each part counts, as for wcswidth(3).
  package static func width(_ text: String) -> Int {
    text.utf8.allSatisfy { $0 < 0x80 } ? text.utf8.count : text.reduce(0) { $0 + width($1) }
  }

  private static func width(_ character: Character) -> Int {
    character.unicodeScalars.reduce(0) { $0 + width($1) }
  }

  private static func width(_ scalar: Unicode.Scalar) -> Int {
    if scalar.value < 0x300 { return 1 }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: return isWide(scalar) ? 2 : 1
    }
  }

  /// Whether the character is wide.
  ///
  /// Source: Unicode Standard Annex 11, "East Asian Width": the blocks whose characters are W or F, and all characters
  /// with an emoji presentation but the letters of flags, of which two make one.
  private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
      0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF,
      0x1F200...0x1F2FF, 0x20000...0x3FFFD:
      true
    case 0x1F1E6...0x1F1FF: false
    default: scalar.properties.isEmojiPresentation
    }
  }
}
