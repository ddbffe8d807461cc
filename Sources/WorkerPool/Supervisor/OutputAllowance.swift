/// Cuts what a process writes into lines. A line that is longer than the limit comes in pieces.
struct OutputSplitter {
  /// The longest line of a worker's output.
  static let longestLine = 4096

  let limit: Int
  /// The beginning of a line whose end has not come.
  private(set) var pending: [UInt8]

  init(limit: Int = longestLine, pending: [UInt8] = []) {
    self.limit = limit
    self.pending = pending
  }

  /// Returns the lines that have ended with these bytes.
  mutating func add(_ bytes: ArraySlice<UInt8>) -> [String] {
    var lines: [String] = []
    pending.append(contentsOf: bytes)
    var start = 0
    while let newline = pending[start...].firstIndex(of: 0x0A) {
      lines.append(Self.text(pending[start..<newline]))
      start = newline + 1
    }
    pending.removeFirst(start)
    if pending.count > limit, let piece = finish() { lines.append(piece) }
    return lines
  }

  /// Returns what has come of a line whose end has not; nil for nothing.
  mutating func finish() -> String? {
    defer { pending = [] }
    return pending.isEmpty ? nil : Self.text(pending[...])
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes.last == 0x0D ? bytes.dropLast() : bytes, as: UTF8.self)
  }
}

/// How much of a process's output is passed on: some lines in each second. The others are counted.
struct OutputAllowance {
  /// Lines of one process that are passed on in one second.
  static let linesPerSecond = 200

  private var second = 0.0
  private var lines = 0
  private var omitted = 0

  /// Whether a line that comes now is passed on, and how many lines were left out in the second before, if it begins a
  /// new one.
  mutating func take(now: Double) -> (isPassedOn: Bool, omittedBefore: Int) {
    let isNewSecond = now >= second + 1
    let omittedBefore = isNewSecond ? takeOmitted() : 0
    if isNewSecond { (second, lines) = (now, 0) }
    lines += 1
    let isPassedOn = lines <= Self.linesPerSecond
    if !isPassedOn { omitted += 1 }
    return (isPassedOn, omittedBefore)
  }

  /// How many lines were left out since that was asked last.
  mutating func takeOmitted() -> Int {
    defer { omitted = 0 }
    return omitted
  }
}
