import CSystem
import Glibc
import WorkerProtocol

/// Reads what a child writes to a pipe, line by line, so that it never blocks on a full one.
///
/// A turn reads one chunk: a child that writes without end does not keep the loop.
final class OutputReader {
  /// A line longer than this is handed over in pieces, unless the reader is made for longer ones.
  static let longestLine = 4096
  /// What a pipe holds at most, unless the machine's limit was raised (pipe(7), /proc/sys/fs/pipe-max-size).
  private static let pipeCapacity = 1 << 20

  private let limit: Int
  private let descriptor: Int32
  private let loop: EventLoop
  private let onLine: (String) -> Void
  private var pending: [UInt8] = []
  private var isOpen = true

  /// Takes over the pipe's reading end, also when it throws since the pipe cannot be watched.
  init(
    _ descriptor: Int32, limit: Int = longestLine, loop: EventLoop, onLine: @escaping (String) -> Void
  ) throws(SystemCallError) {
    self.descriptor = descriptor
    self.limit = limit
    self.loop = loop
    self.onLine = onLine
    _ = csystem_set_nonblocking(descriptor)
    try loop.watch(descriptor, for: .readable) { [weak self] in self?.readSome() }
  }

  deinit { shut() }

  /// Reads what is in the pipe and closes it. Somebody else may hold its other end and go on writing: that is not waited for.
  func finish() {
    var left: Int32 = 0
    if isOpen, csystem_waiting_bytes(descriptor, &left) == 0 {
      var bytes = min(Int(left), Self.pipeCapacity)
      while isOpen, bytes > 0, case let count = readSome(), count >= 0 { bytes -= count }
    }
    if !pending.isEmpty { onLine(takeText(pending[...])) }
    pending = []
    shut()
  }

  /// Reads one chunk; the number of its bytes, or -1 when there is none.
  @discardableResult
  private func readSome() -> Int {
    var chunk = [UInt8](repeating: 0, count: 16_384)
    let count = read(descriptor, &chunk, chunk.count)
    if count <= 0 {
      if count < 0, errno == EINTR { return 0 }
      if count == 0 { shut() }
      return -1
    }
    pending.append(contentsOf: chunk[..<count])
    var start = 0
    while let newline = pending[start...].firstIndex(of: 0x0A) {
      onLine(takeText(pending[start..<newline]))
      start = newline + 1
    }
    pending.removeFirst(start)
    if pending.count > limit {
      onLine(takeText(pending[...]))
      pending = []
    }
    return count
  }

  private func takeText(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes.last == 0x0D ? bytes.dropLast() : bytes, as: UTF8.self)
  }

  private func shut() {
    guard isOpen else { return }
    isOpen = false
    loop.unwatch(descriptor)
    close(descriptor)
  }
}
