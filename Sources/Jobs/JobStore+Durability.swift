import CoreData

extension JobStore {
  /// Makes everything that is committed outlast a loss of power.
  ///
  /// A commit with `synchronous=NORMAL` is there for every process at once, but reaches the disk later, in the order of the
  /// commits. Synchronising the write-ahead log brings all that it holds to the disk, as a commit with `synchronous=FULL` does
  /// at its end; what the log no longer holds, a checkpoint has brought there before
  /// (https://www.sqlite.org/pragma.html#pragma_synchronous, https://www.sqlite.org/wal.html).
  ///
  /// - Throws: ``SynchronizationError``; then nothing is known of what is on disk.
  public func synchronize() throws(SynchronizationError) {
    // Not the database file itself: closing any descriptor of it drops the locks that SQLite holds on it for the whole process
    // (https://www.sqlite.org/howtocorrupt.html, 2.2). There are none on the log.
    let path = url.path + "-wal"
    let log = open(path, O_RDONLY | O_CLOEXEC)
    guard log >= 0 else { throw SynchronizationError(path: path, errno: errno) }
    defer { close(log) }
    guard fsync(log) == 0 else { throw SynchronizationError(path: path, errno: errno) }
    // The log's name, too, which may be new.
    let folder = url.deletingLastPathComponent().path
    let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { throw SynchronizationError(path: folder, errno: errno) }
    defer { close(directory) }
    guard fsync(directory) == 0 else { throw SynchronizationError(path: folder, errno: errno) }
  }
}

/// The write-ahead log or its directory could not be synchronised.
public struct SynchronizationError: Error, Hashable, Sendable, CustomStringConvertible {
  public let path: String
  public let errno: Int32

  public var description: String { "\(path) cannot be synchronised: \(String(cString: strerror(errno)))" }
}
