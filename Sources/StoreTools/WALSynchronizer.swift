import CoreData
internal import LinuxSystem

/// Makes the commits of a store survive a loss of power, if its connections commit with `synchronous=NORMAL`.
///
/// An addition to Apple's API. Every process sees such a commit at once, but it reaches the disk later, in the order of
/// the commits. Syncing the write-ahead log brings all its commits to the disk, like a commit with `synchronous=FULL`;
/// a checkpoint brought those there that the log no longer holds
/// (https://www.sqlite.org/pragma.html#pragma_synchronous, https://www.sqlite.org/wal.html).
///
/// A sync that succeeds after a failed one proves nothing: the kernel reports a failed write once and may have dropped
/// the data. So after a failure the log is written again, and then synced.
///
/// Use it on one thread at a time.
///
/// ```swift
/// import StoreTools
///
/// let synchronizer = try WALSynchronizer(url: url)
/// try context.save()
/// try synchronizer.synchronize()  // now a loss of power does not undo it
/// ```
///
/// One call serves all saves before it, of all processes, so a program that saves often gets many commits for one wait.
/// A program that saves rarely sets `synchronous` to `FULL` instead.
public final class WALSynchronizer {
  private let connection: SQLiteConnection
  private let writeTurn: FairFileLock?
  private let path: String
  private let calls: Calls
  private var log: Log?
  private var mustRewrite = false

  /// The system calls on the log, which a test makes fail.
  struct Calls {
    var synchronize: (Int32) -> Int32 = { fdatasync($0) }
    var write: (Int32, UnsafeRawPointer?, Int, off_t) -> Int = { pwrite($0, $1, $2, $3) }
  }

  /// The log, held open so that a failed write is reported here and not only to others (fsync(2), "EIO").
  private final class Log {
    let descriptor: Int32
    let file: FileID

    init(_ descriptor: Int32, _ status: stat) {
      self.descriptor = descriptor
      file = FileID(status)
    }

    deinit { close(descriptor) }
  }

  /// Opens a store's file, and its log.
  ///
  /// - Parameters:
  ///   - url: the store's file, which must exist.
  ///   - writeTurn: the file of `NSPersistentStoreWriteTurnOption`, whose turn it takes when the log has to be written
  ///     again. Default: nil.
  /// - Throws: 134080 if the file cannot be opened, and other errors of SQLite.
  public convenience init(url: URL, writeTurn: String? = nil) throws {
    try self.init(url: url, writeTurn: writeTurn, calls: Calls())
  }

  init(url: URL, writeTurn: String?, calls: Calls) throws {
    self.calls = calls
    (connection, self.writeTurn) = try CoreDataErrors.translating("Opening \(url.path)") {
      (try SQLiteConnection(path: url.path, access: .readWrite), try writeTurn.map { try FairFileLock.writeTurn($0) })
    }
    path = connection.fileName + "-wal"
    // Opening the store creates the log.
    _ = try? currentLog()
  }

  /// Makes the next sync write the log again first, because an earlier process may have failed to sync it.
  public func distrust() { mustRewrite = true }

  /// Brings all commits to the disk. Waits for the disk, milliseconds on a good one; writers do not wait, unless the
  /// log has to be written again after a failure.
  ///
  /// - Throws: an `NSError` of the code 134180. The state of the disk is unknown then: try again, and do not
  ///   report earlier saves as safe before it succeeds.
  public func synchronize() throws {
    let log = try currentLog()
    if mustRewrite { try rewrite(log) }
    guard calls.synchronize(log.descriptor) == 0 else {
      let reason = errno
      mustRewrite = true
      throw Self.failure("\(path) cannot be synchronised", reason)
    }
    mustRewrite = false
  }

  /// The log, whose directory entry is on disk. SQLite uses the same file as long as the store is open. Another file at
  /// the path belongs to another store and says nothing about commits here.
  private func currentLog() throws -> Log {
    // Never the database file itself: closing any descriptor of it drops all of SQLite's locks on it in this process
    // (https://www.sqlite.org/howtocorrupt.html, 2.2). The log has no locks.
    var status = stat()
    if let log {
      guard stat(path, &status) == 0 else { throw Self.failure("\(path) cannot be found", errno) }
      if FileID(status) == log.file { return log }
      throw CoreDataErrors.error(
        .sqlite, "\(path) is no longer the log of the open store: another program replaced the store's files")
    }
    let descriptor = open(path, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.failure("\(path) cannot be opened", errno) }
    guard fstat(descriptor, &status) == 0 else {
      let reason = errno
      close(descriptor)
      throw Self.failure("\(path) cannot be examined", reason)
    }
    let new = Log(descriptor, status)
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    try CoreDataErrors.translatingFiles(.sqlite) { try synchronizeDirectory(folder) }
    log = new
    return new
  }

  /// Writes the log over itself, so that the kernel writes all of it to the disk again. Meanwhile this holds SQLite's
  /// write lock: no process changes the log, and readers always find the same bytes.
  private func rewrite(_ log: Log) throws {
    try CoreDataErrors.translating("Writing the log of \(connection.path) again") {
      if let writeTurn { try writeTurn.hold { try locked(log) } } else { try locked(log) }
    }
  }

  private func locked(_ log: Log) throws {
    try connection.execute("BEGIN IMMEDIATE")
    // It has only read: nothing is lost if it cannot be ended in order.
    defer { try? connection.execute("ROLLBACK") }
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    var offset: off_t = 0
    while true {
      let count = pread(log.descriptor, &buffer, buffer.count, offset)
      guard count >= 0 else { throw Self.failure("\(path) cannot be read", errno) }
      if count == 0 { return }
      var written = 0
      while written < count {
        let part = buffer.withUnsafeBytes { bytes in
          calls.write(log.descriptor, bytes.baseAddress.map { $0 + written }, count - written, offset + off_t(written))
        }
        guard part > 0 else { throw Self.failure("\(path) cannot be written again", errno) }
        written += part
      }
      offset += off_t(count)
    }
  }

  private static func failure(_ what: String, _ reason: Int32) -> NSError {
    CoreDataErrors.error(
      .sqlite, "\(what): \(String(cString: strerror(reason)))",
      [NSUnderlyingErrorKey: NSError(domain: NSPOSIXErrorDomain, code: Int(reason))])
  }
}
