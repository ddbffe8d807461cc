import Foundation
import PoolClient

/// What the demo shows: on a terminal a bar and the pool's status, drawn over again and again below the lines that tell
/// what happens; elsewhere only lines.
final class DemoView {
  private let layout: TextLayout?
  private let rows: Int
  private let output: (String) -> Void
  /// Lines on the terminal that the next picture replaces.
  private var drawn = 0
  private var lastLine = ""

  /// - Parameters:
  ///   - layout: how the terminal shows text; nil where lines cannot be written over.
  ///   - rows: the rows of the terminal.
  init(layout: TextLayout?, rows: Int, output: @escaping (String) -> Void) {
    self.layout = layout
    self.rows = rows
    self.output = output
  }

  /// A line that stays.
  func event(_ line: String) {
    output(back() + line + "\n")
    drawn = 0
  }

  func show(_ status: PoolStatus, done: Int, of total: Int) {
    let line = progressLine(status, done: done, of: total)
    guard let layout else {
      if done != total, line != lastLine { output(line + "\n") }
      lastLine = line
      return
    }
    // A picture that is higher than the terminal could not be drawn over.
    let lines = [line, ""] + StatusText.lines(status, layout: layout).prefix(max(0, rows - 4))
    output(back() + lines.map { $0 + "\n" }.joined())
    drawn = lines.count
  }

  /// Takes the picture away.
  private func back() -> String { drawn > 0 ? "\u{1B}[\(drawn)A\u{1B}[J" : "" }

  private func progressLine(_ status: PoolStatus, done: Int, of total: Int) -> String {
    let width = 30
    let filled = min(width, done * width / max(1, total))
    let bar = String(repeating: "█", count: filled) + String(repeating: "·", count: width - filled)
    let busy = status.workers.count { !$0.running.isEmpty }
    return "[\(bar)] \(done)/\(total) jobs, \(busy) of \(status.workers.count) workers busy"
  }
}
