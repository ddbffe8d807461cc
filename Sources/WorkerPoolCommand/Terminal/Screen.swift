import Foundation
import Glibc
import LinuxSystem
import PoolClient
import Synchronization

/// The alternate screen of a terminal, on which a command shows something that changes, as `top` does.
///
/// Keys come one by one and without an echo. The terminal is as before when the screen closes, and when a signal ends
/// the process. Used from the main thread, one at a time.
final class Screen {
  private static let saved = Mutex<termios?>(nil)
  /// Whether SIGTSTP asks for a pause, and whether SIGCONT has ended one.
  private static let mustPause = Atomic(false)
  private static let goesOn = Atomic(false)
  private var input: [UInt8] = []
  /// Whether a text is typed: all letters are keys then, and none is a command.
  var isTyping = false
  /// Seconds after which an Esc is a key, and not the beginning of what another key sends.
  private static let escapeTime = 0.05
  private let hasKeys: Bool

  /// Opens the screen; nil where standard output cannot be drawn over. Without a terminal as standard input it has no
  /// keys.
  init?() {
    guard Output.canBeDrawnOver() else { return nil }
    hasKeys = isatty(STDIN_FILENO) == 1
    if hasKeys { readKeysOneByOne() }
    signal(SIGWINCH) { _ in }
    // Ctrl-C and Ctrl-\ of the keyboard come as keys; other programs send the signals.
    for number in [SIGTERM, SIGHUP, SIGINT, SIGQUIT] {
      signal(number) { number in
        Screen.restore()
        signal(number, SIG_DFL)
        raise(number)
      }
    }
    signal(SIGTSTP) { _ in Screen.mustPause.store(true, ordering: .relaxed) }
    // The shell has used the terminal meanwhile.
    signal(SIGCONT) { _ in Screen.goesOn.store(true, ordering: .relaxed) }
    enter()
  }

  private func enter() {
    // The alternate screen, without a cursor (xterm's private modes 1049 and 25).
    Output.text("\u{1B}[?1049h\u{1B}[?25l")
  }

  /// Gives the terminal to the shell until it continues this job.
  private func pause() {
    Self.restore()
    // To the whole job, as the terminal does it for Ctrl-Z: a shell waits until all of its processes have stopped.
    signal(SIGTSTP, SIG_DFL)
    kill(0, SIGTSTP)
    signal(SIGTSTP) { _ in Screen.mustPause.store(true, ordering: .relaxed) }
    Self.goesOn.store(true, ordering: .relaxed)
  }

  /// Does what signals have asked for; false when there was nothing.
  private func obeySignals() -> Bool {
    if Self.mustPause.exchange(false, ordering: .relaxed) { pause() }
    guard Self.goesOn.exchange(false, ordering: .relaxed) else { return false }
    if hasKeys { readKeysOneByOne() }
    enter()
    return true
  }

  /// Gives the terminal back as it was.
  func close() { Self.restore() }

  private static func restore() {
    let text: StaticString = "\u{1B}[?25h\u{1B}[?1049l"
    // Called from a signal handler, too: write(2) and tcsetattr(3) may be (signal-safety(7)).
    _ = write(STDOUT_FILENO, text.utf8Start, text.utf8CodeUnitCount)
    saved.withLockIfAvailable { saved in
      if var settings = saved { tcsetattr(STDIN_FILENO, TCSANOW, &settings) }
    }
  }

  private func readKeysOneByOne() {
    var settings = termios()
    guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return }
    let before = settings
    // After a pause it may be as this program has left it.
    Self.saved.withLock { $0 = $0 ?? before }
    settings.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
    tcsetattr(STDIN_FILENO, TCSANOW, &settings)
  }

  /// The size of the terminal now.
  var size: (rows: Int, columns: Int) { Output.terminalSize }

  /// Shows these lines in place of those before, without flicker: the cursor goes to the top left, each line clears its
  /// rest, and what is below is cleared (ECMA-48: CUP, EL, ED). Lines that are too long are cut by the terminal
  /// (DECAWM).
  func show(_ lines: [String]) {
    let text = lines.map { "\u{1B}[K\($0)" }.joined(separator: "\r\n")
    Output.text("\u{1B}[?7l\u{1B}[H\(text)\u{1B}[J\u{1B}[?7h")
  }

  /// Waits `seconds` at most for something to happen.
  func nextEvent(within seconds: Double) -> ScreenEvent {
    if let event = parsed() { return event }
    let end = Clock.now + seconds
    while true {
      if obeySignals() { return .redraw }
      let isEscape = input == [0x1B]
      let secondsLeft = isEscape ? Self.escapeTime : max(0, end - Clock.now)
      var ready = pollfd(fd: hasKeys ? STDIN_FILENO : -1, events: Int16(POLLIN), revents: 0)
      let count = poll(&ready, 1, Int32((secondsLeft * 1000).rounded(.up)))
      if isEscape, count == 0 {
        input = []
        return .escape
      }
      // A signal: the size may have changed.
      if count <= 0 {
        _ = obeySignals()
        return .redraw
      }
      var bytes = [UInt8](repeating: 0, count: 64)
      let length = read(STDIN_FILENO, &bytes, bytes.count)
      // The terminal is closed. A program that ignores SIGHUP gets here: each read(2) fails from now on.
      if length == 0 || length < 0 && errno != EINTR && errno != EAGAIN { return .quit }
      if length > 0 { input += bytes[..<length] }
      if let event = parsed() { return event }
    }
  }

  /// What the keys of terminals send (ECMA-48 and xterm).
  private static let sequences: [(text: String, event: ScreenEvent)] = [
    ("\u{1B}[A", .up), ("\u{1B}[B", .down), ("\u{1B}[5~", .pageUp), ("\u{1B}[6~", .pageDown), ("\u{1B}[H", .home),
    ("\u{1B}OA", .up), ("\u{1B}OB", .down), ("\u{1B}OH", .home), ("\u{1B}[1~", .home),
  ]

  /// The first event of what was typed; unknown sequences are passed over.
  private func parsed() -> ScreenEvent? {
    while let first = input.first {
      if first == 0x1B {
        if let sequence = Self.sequences.first(where: { input.starts(with: $0.text.utf8) }) {
          input.removeFirst(sequence.text.utf8.count)
          return sequence.event
        }
        if input.count > 1 { input.removeAll() }
        return nil
      }
      if isTyping, first >= 0x20, first != 0x7F {
        guard let letter = typedLetter(first) else { return nil }
        return .key(letter)
      }
      input.removeFirst()
      switch first {
      case 0x0A, 0x0D: return .enter
      case 0x08, 0x7F: return .backspace
      case UInt8(ascii: "q"), UInt8(ascii: "Q"), 3, 4: return .quit
      case 0x1A:
        // Ctrl-Z, which the terminal leaves to this program.
        Self.mustPause.store(true, ordering: .relaxed)
        return .redraw
      case UInt8(ascii: "k"): return .up
      case UInt8(ascii: "j"): return .down
      case UInt8(ascii: " "): return .pageDown
      case 0x21..<0x7F: return .key(Character(Unicode.Scalar(first)))
      default: continue
      }
    }
    return nil
  }

  /// Takes a letter in UTF-8, which begins with this byte; nil as long as a part of it has not come.
  private func typedLetter(_ first: UInt8) -> Character? {
    let length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    guard input.count >= length else { return nil }
    defer { input.removeFirst(length) }
    return String(decoding: input.prefix(length), as: UTF8.self).first
  }
}
