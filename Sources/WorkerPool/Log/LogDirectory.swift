import Foundation
import Glibc
import Jobs

/// `log/` in the queue directory, which `workerpool logs` reads: the newest lines in `pool.jsonl`, older ones in
/// `pool.jsonl.1`, and so on.
public struct LogDirectory: Sendable {
  /// The path of the directory, `log/` in the queue directory.
  public let path: String

  /// - Parameter queue: the path of the queue directory.
  public init(queue: String) { path = QueueLayout(root: queue).log }

  /// Bytes after which a file is closed and the next one begun.
  var fileSize = 8 << 20
  /// Files that are kept beside the newest.
  static let olderFiles = 3

  /// The path of the file to which lines are added.
  var newest: String { file(0) }

  /// The path of a file: 0 is the one that lines are added to, 1 the one that was closed last.
  func file(_ age: Int) -> String { path + "/pool.jsonl" + (age > 0 ? ".\(age)" : "") }

  /// Opens the log for writing. Writing never waits for the disk.
  ///
  /// - Throws: `FileError` when the directory or the file cannot be made.
  public func open() throws(FileError) -> Log {
    let file = try RotatingFile(self)
    let writer = LogWriter(capacity: LogWriter.defaultCapacity) { bytes in
      file.write(bytes)
    } leftOut: { count in
      Log.jsonLine(
        LogRecord(
          event: .linesLeftOut, text: "\(count) lines are left out here: the disk was too slow", fields: [.count(count)]
        ))
    }
    return Log { record in
      writer.write(Log.jsonLine(record))
    } finish: {
      writer.flush(timeout: Log.flushTimeout)
    }
  }
}

/// A file that is renamed when it has grown, and replaced by a new one, between two lines.
///
/// `@unchecked Sendable`: after `init` it is used on the thread of one `LogWriter` only.
private final class RotatingFile: @unchecked Sendable {
  private let directory: LogDirectory
  private var descriptor: Int32 = -1
  private var size = 0

  init(_ directory: LogDirectory) throws(FileError) {
    self.directory = directory
    if mkdir(directory.path, 0o700) != 0, errno != EEXIST {
      throw FileError(path: directory.path, action: "be made a directory", errno: errno)
    }
    guard openNewest() else { throw FileError(path: directory.newest, action: "be opened", errno: errno) }
    // A pool that was killed may have left half a line.
    var last: UInt8 = 0
    if size > 0, pread(descriptor, &last, 1, off_t(size - 1)) == 1, last != 0x0A { append([0x0A]) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  func write(_ bytes: [UInt8]) {
    guard size + bytes.count > directory.fileSize, let end = bytes.lastIndex(of: 0x0A) else {
      return append(bytes[...])
    }
    append(bytes[...end])
    rotate()
    append(bytes[(end + 1)...])
  }

  /// Bytes that cannot be written are lost: the pool does not stop for its log.
  private func append(_ bytes: ArraySlice<UInt8>) {
    closeIfMoved()
    if descriptor < 0 {
      mkdir(directory.path, 0o700)
      _ = openNewest()
    }
    guard descriptor >= 0 else { return }
    var unwritten = bytes
    while !unwritten.isEmpty {
      let count = unwritten.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        size += count
        unwritten = unwritten.dropFirst(count)
      } else if errno != EINTR {
        return
      }
    }
  }

  /// A person may have removed or renamed the file, or the whole directory.
  private func closeIfMoved() {
    var (own, there) = (stat(), stat())
    guard descriptor >= 0, fstat(descriptor, &own) == 0 else { return }
    if lstat(directory.newest, &there) == 0, FileID(own) == FileID(there) { return }
    close(descriptor)
    descriptor = -1
  }

  private func rotate() {
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
    for age in stride(from: LogDirectory.olderFiles, to: 0, by: -1) {
      rename(directory.file(age - 1), directory.file(age))
    }
    _ = openNewest()
  }

  private func openNewest() -> Bool {
    descriptor = Glibc.open(directory.newest, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    var status = stat()
    guard descriptor >= 0, fstat(descriptor, &status) == 0 else { return false }
    size = Int(status.st_size)
    return true
  }
}
