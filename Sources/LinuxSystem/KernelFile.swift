import Glibc

/// Files whose text the kernel makes while they are read, such as those under `/proc`.
///
/// Foundation takes a short read for the file's end. The kernel returns at most a page of such a file, so that all but
/// the first 4 KiB of a long one would be missing.
package enum KernelFile {
  /// The whole file; `nil` when it cannot be opened or read, as that of a process that is gone.
  package static func bytes(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    while true {
      var count = 0
      let part = [UInt8](unsafeUninitializedCapacity: partBytes) { buffer, initialized in
        repeat { count = read(descriptor, buffer.baseAddress, buffer.count) } while count < 0 && errno == EINTR
        initialized = max(0, count)
      }
      guard count >= 0 else { return nil }
      if count == 0 { return bytes }
      bytes += part
    }
  }

  /// The whole file, read as UTF-8.
  package static func text(_ path: String) -> String? {
    bytes(path).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Writes a text into a file that is there, in one call: such files take a whole value at a time.
  package static func write(_ text: String, to path: String) throws(SystemCallError) {
    let file = try Descriptor(open(path, O_WRONLY | O_CLOEXEC), "open", path: path)
    var text = text
    let count = text.withUTF8 { Glibc.write(file.number, $0.baseAddress, $0.count) }
    guard count >= 0 else { throw SystemCallError("write", path: path) }
  }

  private static let partBytes = 16_384
}
