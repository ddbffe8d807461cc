import Glibc
import LinuxSystem

/// What the process of a trial prints: as much of it as a pool logs of a worker, and of that the last lines. A job that
/// prints without end fills neither the disk nor the memory.
struct TrialOutput {
  /// Lines that are kept, the last ones.
  static let keptLines = 1000

  private var pipe: Descriptor?
  private var splitter = OutputSplitter()
  private var allowance = OutputAllowance()
  private var lines: [String] = []
  private var omitted = 0

  /// - Parameter pipe: the reading end.
  init(_ pipe: Descriptor) throws(SystemCallError) {
    self.pipe = pipe
    try pipe.makeNonBlocking()
  }

  /// For poll(2), which leaves out negative ones: -1 when everybody has closed the other end.
  var descriptor: Int32 { pipe?.number ?? -1 }

  /// Reads one chunk, if there is one. Returns whether there was.
  @discardableResult
  mutating func readSome() -> Bool {
    guard let pipe else { return false }
    var chunk = [UInt8](repeating: 0, count: 16_384)
    let count = read(pipe.number, &chunk, chunk.count)
    if count == 0 { self.pipe = nil }
    guard count > 0 else { return false }
    for line in splitter.add(chunk[..<count]) { add(line) }
    return true
  }

  private mutating func add(_ line: String) {
    let (isPassedOn, omittedBefore) = allowance.take(now: Clock.now)
    omitted += omittedBefore
    if isPassedOn { lines.append(line) }
    guard lines.count >= 2 * Self.keptLines else { return }
    omitted += lines.count - Self.keptLines
    lines.removeFirst(lines.count - Self.keptLines)
  }

  /// The lines, when all processes that write have ended.
  mutating func finish() -> [String] {
    while readSome() {}
    if let rest = splitter.finish() { add(rest) }
    omitted += allowance.takeOmitted()
    let shown = lines.suffix(Self.keptLines)
    omitted += lines.count - shown.count
    return shown + (omitted > 0 ? ["(it wrote \(omitted) lines more, which are left out)"] : [])
  }
}
