import CSystem
import Glibc

/// Reads what a child writes to a pipe, line by line, so that it never blocks on a full one.
final class OutputReader {
  /// A line longer than this is handed over in pieces.
  static let longestLine = 4096

  private let descriptor: Int32
  private let loop: EventLoop
  private let onLine: (String) -> Void
  private var pending: [UInt8] = []
  private var isOpen = true

  /// Takes over the pipe's reading end.
  init(_ descriptor: Int32, loop: EventLoop, onLine: @escaping (String) -> Void) {
    self.descriptor = descriptor
    self.loop = loop
    self.onLine = onLine
    _ = csystem_set_nonblocking(descriptor)
    loop.watch(descriptor, for: .readable) { [weak self] in self?.readSome() }
  }

  deinit { shut() }

  /// Reads what is still there and closes the pipe, even when somebody else holds its other end.
  func finish() {
    while isOpen, readSome() {}
    if !pending.isEmpty { onLine(takeText(pending[...])) }
    pending = []
    shut()
  }

  /// Whether there may be more to read now.
  @discardableResult
  private func readSome() -> Bool {
    var chunk = [UInt8](repeating: 0, count: 16_384)
    let count = read(descriptor, &chunk, chunk.count)
    if count <= 0 {
      if count < 0, errno == EINTR { return true }
      if count == 0 { shut() }
      return false
    }
    pending.append(contentsOf: chunk[..<count])
    var start = 0
    while let newline = pending[start...].firstIndex(of: 0x0A) {
      onLine(takeText(pending[start..<newline]))
      start = newline + 1
    }
    pending.removeFirst(start)
    if pending.count > Self.longestLine {
      onLine(takeText(pending[...]))
      pending = []
    }
    return true
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
