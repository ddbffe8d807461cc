import CoreData

extension JobStore {
  /// Makes everything that is committed outlast a loss of power.
  ///
  /// A commit with `synchronous=NORMAL` is there for every process at once, but reaches the disk later, in the order of the
  /// commits. Synchronising the write-ahead log brings all that it holds to the disk, as a commit with `synchronous=FULL` does
  /// at its end; what the log no longer holds, a checkpoint has brought there before
  /// (https://www.sqlite.org/pragma.html#pragma_synchronous, https://www.sqlite.org/wal.html).
  ///
  /// - Throws: ``FileError``; then nothing is known of what is on disk.
  public func synchronize() throws(FileError) {
    // Not the database file itself: closing any descriptor of it drops the locks that SQLite holds on it for the whole process
    // (https://www.sqlite.org/howtocorrupt.html, 2.2). There are none on the log.
    try Self.synchronize(url.path + "-wal")
    // The log's name, too, which may be new.
    try Self.synchronize(url.deletingLastPathComponent().path)
  }

  private static func synchronize(_ path: String) throws(FileError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(path: path, action: "be opened", errno: errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw FileError(path: path, action: "be synchronised", errno: errno) }
  }
}
