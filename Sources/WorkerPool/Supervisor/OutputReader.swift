import CSystem
import Glibc
import LinuxSystem
import WorkerProtocol

/// Reads what a child writes to a pipe, line by line, so that it never blocks on a full one.
///
/// A turn reads one chunk: a child that writes without end does not keep the loop.
final class OutputReader {
  /// The most bytes that a pipe holds, unless the machine's limit was raised (pipe(7), /proc/sys/fs/pipe-max-size).
  private static let pipeCapacity = 1 << 20

  /// The reading end; nil when it is closed.
  private var pipe: Descriptor?
  private let loop: EventLoop
  private let onLine: (String) -> Void
  private var splitter: OutputSplitter

  /// - Parameters:
  ///   - pending: the beginning of a line, which the program before this one in the process has read.
  ///   - limit: a line longer than this is handed over in pieces.
  /// - Throws: when the pipe cannot be watched.
  init(
    _ pipe: Descriptor, pending: [UInt8] = [], limit: Int = OutputSplitter.longestLine, loop: EventLoop,
    onLine: @escaping (String) -> Void
  ) throws(SystemCallError) {
    self.pipe = pipe
    splitter = OutputSplitter(limit: limit, pending: pending)
    self.loop = loop
    self.onLine = onLine
    try pipe.makeNonBlocking()
    try loop.watch(pipe.number, for: .readable) { [weak self] in self?.readSome() }
  }

  deinit { shut() }

  /// The reading end of a pipe, and the beginning of a line that was read from it.
  struct Handed: Codable, Equatable {
    let pipe: Int32
    let pending: [UInt8]
  }

  /// What another program needs to go on; nil where the pipe has ended.
  var handed: Handed? { pipe.map { Handed(pipe: $0.number, pending: splitter.pending) } }

  /// Reads what is in the pipe and closes it. Another process may hold its other end and go on writing: the pool does
  /// not wait for that.
  func finish() {
    var waitingBytes: Int32 = 0
    if let pipe, csystem_waiting_bytes(pipe.number, &waitingBytes) == 0 {
      var bytes = min(Int(waitingBytes), Self.pipeCapacity)
      while self.pipe != nil, bytes > 0, case let count = readSome(), count >= 0 { bytes -= count }
    }
    if let rest = splitter.finish() { onLine(rest) }
    shut()
  }

  /// Reads one chunk; the number of its bytes, or -1 when there is none.
  @discardableResult
  private func readSome() -> Int {
    guard let pipe else { return -1 }
    var chunk = [UInt8](repeating: 0, count: 16_384)
    let count = read(pipe.number, &chunk, chunk.count)
    if count <= 0 {
      if count < 0, errno == EINTR { return 0 }
      if count == 0 { shut() }
      return -1
    }
    splitter.add(chunk[..<count]).forEach(onLine)
    return count
  }

  private func shut() {
    guard let pipe else { return }
    loop.unwatch(pipe.number)
    self.pipe = nil
  }
}
