/// A key that was pressed, or another reason to draw a screen. The command makes these events from the bytes that the
/// terminal sends; the screens themselves use no terminal.
package enum ScreenEvent: Equatable, Sendable {
  case key(Character)
  case up, down, pageUp, pageDown, home, enter, escape, backspace
  /// `q`, Ctrl-C, Ctrl-D, or the end of the input.
  case quit
  /// Nothing happened in time, or the terminal has another size.
  case redraw
}

/// The explanation of a screen's keys, which takes the screen's place.
enum ScreenHelp {
  /// The lines, `rows` of them at most, the last of which says how to come back.
  static func lines(_ keys: [(keys: String, meaning: String)], layout: TextLayout, rows: Int) -> [String] {
    let longest = keys.map(\.keys.count).max() ?? 0
    // On a narrow terminal a column of its own for the meanings would have room for a word in each line.
    let width = layout.columns.map { $0 < longest + 30 } == true ? 0 : longest
    let lines = keys.flatMap { names, meaning in
      layout.wrapped(
        "  \(names)\(String(repeating: " ", count: max(0, width - names.count)))  \(meaning)", indentation: width + 4)
    }
    return ([layout.styled("keys", .strong)] + lines).prefix(max(0, rows - 1))
      + [layout.styled(layout.cut("any key leads back; q quits"), .weak)]
  }
}
