import CoreData
import Jobs

/// A file that is written under a temporary name beside its own, and takes its place only when it is complete and on disk.
final class ReplacingFile {
  private let path: String
  private let temporaryPath: String
  private var descriptor: Int32
  private var buffer: [UInt8] = []

  private static let bufferSize = 256 * 1024

  /// - Throws: ``FileError`` when no file can be made in that directory.
  init(path: String) throws {
    self.path = path
    let url = URL(fileURLWithPath: path)
    let name = ".\(url.lastPathComponent).\(getpid()).tmp"
    temporaryPath = url.deletingLastPathComponent().appendingPathComponent(name).path
    descriptor = open(temporaryPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw FileError(path: temporaryPath, action: "be created", errno: errno) }
  }

  /// Removes what was written, unless it was completed.
  deinit {
    guard descriptor >= 0 else { return }
    close(descriptor)
    unlink(temporaryPath)
  }

  func write(_ bytes: [UInt8]) throws {
    buffer += bytes
    if buffer.count >= Self.bufferSize { try flush() }
  }

  /// Puts the file into its place.
  func complete() throws {
    try flush()
    guard fsync(descriptor) == 0 else { throw FileError(path: temporaryPath, action: "be synchronised", errno: errno) }
    guard rename(temporaryPath, path) == 0 else { throw FileError(path: path, action: "be replaced", errno: errno) }
    close(descriptor)
    descriptor = -1
  }

  private func flush() throws {
    try buffer.writeAll(to: descriptor, path: temporaryPath)
    buffer.removeAll(keepingCapacity: true)
  }
}
