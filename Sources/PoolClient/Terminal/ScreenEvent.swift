/// What a person at a terminal, or the terminal, wants of a screen.
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
  /// The lines, `rows` of them at most.
  static func lines(_ keys: [(keys: String, meaning: String)], layout: TextLayout, rows: Int) -> [String] {
    let width = keys.map(\.keys.count).max() ?? 0
    let lines = keys.flatMap { names, meaning in
      layout.wrapped(
        "  \(names)\(String(repeating: " ", count: width - names.count))  \(meaning)", indentation: width + 4)
    }
    return ([layout.styled("keys", .strong)] + lines).prefix(max(0, rows - 1))
      + [layout.styled(layout.cut("any key leads back; q quits"), .weak)]
  }
}
