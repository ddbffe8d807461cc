import Foundation
import Glibc
import LinuxSystem
import PoolClient

/// A line on standard error that shows progress. On a terminal it is overwritten; elsewhere it is repeated when it has
/// changed, but not often.
struct ProgressLine {
  private var shown: String?
  private var shownAt = -Double.infinity
  private var isOnTerminal = false
  private var start: (moment: Double, done: Int)?

  /// Seconds between two lines where they cannot be written over.
  private static let interval = 10.0
  /// Seconds after which a rate says something.
  private static let settling = 1.0

  mutating func show(_ text: String) {
    guard text != shown else { return }
    if Output.canBeDrawnOver(STDERR_FILENO) {
      Output.errorAsItIs("\r\u{1B}[K\(TerminalText.escaped(text))")
      isOnTerminal = true
    } else {
      guard Clock.now - shownAt >= Self.interval else { return }
      shownAt = Clock.now
      Output.error(text + "\n")
    }
    shown = text
  }

  /// As ``show(_:)``, with the rate since the first call and the time left at this rate.
  mutating func show(_ text: String, done: Int, of total: Int) {
    let start = start ?? (Clock.now, done)
    self.start = start
    let seconds = Clock.now - start.moment
    guard seconds >= Self.settling, done > start.done else { return show(text) }
    let rate = Double(done - start.done) / seconds
    let timeLeft = StatusText.duration((Double(total - done) / rate).rounded(.up))
    show("\(text), \(StatusText.decimal(rate)) per s, about \(timeLeft) left")
  }

  /// Makes room for other lines.
  mutating func clear() {
    if isOnTerminal { Output.errorAsItIs("\r\u{1B}[K") }
    isOnTerminal = false
    shown = nil
  }
}
