internal import CSystem
internal import LinuxSystem

/// Reports commits to database files, by this process or another.
///
/// One thread serves all files of the process. It sleeps until the kernel reports a write beside one of them, and then
/// asks SQLite whether it was a commit:
///
///     writer                                     | watcher
///     -------------------------------------------+--------------------------------------------------
///     takes the write lock                       |
///     appends to the write-ahead log             | wakes; the file's version is still the old one
///     makes the commit visible in shared memory, | cannot take the write lock
///     which the kernel does not report           |
///     releases the write lock                    | takes it, releases it: the version is the new one
///
/// So a write that is over when the lock is free is never missed. While a writer has the lock, and only then, the
/// watcher tries again every few milliseconds. One report may stand for several quick commits.
///
/// `@unchecked Sendable`: everything is used under `lock`, except the descriptors, which do not change.
final class CommitWatcher: @unchecked Sendable {
  static let shared = CommitWatcher()

  /// The watch of a file, which lasts as long as this object.
  final class Registration: Sendable {
    fileprivate let path: String
    fileprivate let body: @Sendable (SQLiteConnection) -> Void

    fileprivate init(_ path: String, _ body: @escaping @Sendable (SQLiteConnection) -> Void) {
      self.path = path
      self.body = body
    }

    /// Ends the watch. When it returns the body is not running and is never called again.
    func cancel() { CommitWatcher.shared.remove(self) }
  }

  private struct File {
    var connection: SQLiteConnection
    var version: Int64
    var file: FileID?
    /// Whether a write may not be visible yet.
    var isPending = false
    var registrations: [Registration]

    init(_ path: String, _ registrations: [Registration] = []) throws {
      file = FileID(path: path)
      // It never waits, because the thread has other files to serve.
      connection = try SQLiteConnection(path: path, access: .readWrite, busyTimeout: 0)
      version = try connection.integer("PRAGMA data_version") ?? 0
      self.registrations = registrations
    }
  }

  private let lock = NSLock()
  private var files: [String: File] = [:]
  private var events: DirectoryEvents?
  /// Wakes the thread for work that no event of the kernel announced.
  private let wakeUp = csystem_eventfd()
  /// Called when a file cannot be checked because of a writer.
  private var whenBusy: (@Sendable (String) -> Void)?

  /// The milliseconds between checks of a file with a running writer.
  private static let pause: Int32 = 5

  // MARK: Watching

  /// - Parameters:
  ///   - path: the path of an existing database file.
  ///   - body: called on the watcher's thread with a connection for a short read. It must not wait.
  func watch(_ path: String, _ body: @escaping @Sendable (SQLiteConnection) -> Void) throws -> Registration {
    // SQLite's log is beside the file to which a symbolic link leads.
    let path = FileID.resolve(path) ?? path
    let registration = Registration(path, body)
    try lock.withLock {
      if files[path] == nil {
        let events = try self.events ?? start()
        try events.watch(Self.directory(path))
        files[path] = try File(path)
      }
      files[path]?.registrations.append(registration)
    }
    return registration
  }

  private func remove(_ registration: Registration) {
    lock.withLock {
      let path = registration.path
      files[path]?.registrations.removeAll { $0 === registration }
      guard let file = files[path], file.registrations.isEmpty else { return }
      file.connection.close()
      files[path] = nil
      events?.unwatch(Self.directory(path))
    }
  }

  /// For tests, which end a write when the watcher has found it running.
  func setWhenBusy(_ body: (@Sendable (String) -> Void)?) { lock.withLock { whenBusy = body } }

  private static func directory(_ path: String) -> String {
    let parent = path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)
    return parent.isEmpty ? "/" : String(parent)
  }

  // MARK: The thread

  private func start() throws -> DirectoryEvents {
    let events = try DirectoryEvents()
    let descriptor = events.descriptor
    try BackgroundThread.start("CoreData commits") { [self] in run(descriptor) }
    self.events = events
    return events
  }

  /// The thread: it waits for the kernel, or for a writer that it has found at work.
  ///
  /// ```text
  /// nothing is written                 poll sleeps without a limit
  /// a file was written                 wakes, checks all files of the directory's events
  /// a writer is still at work          every 5 ms, without looking at further events of the kernel
  /// ```
  private func run(_ descriptor: Int32) -> Never {
    var isPending = false
    while true {
      // Further writes of a running writer are not news.
      var polled = [
        pollfd(fd: isPending ? -1 : descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: wakeUp, events: Int16(POLLIN), revents: 0),
      ]
      _ = poll(&polled, 2, isPending ? Self.pause : -1)
      isPending = lock.withLock { checkFiles() }
    }
  }

  /// Checks the written files. Returns whether one has to be checked again.
  ///
  /// ```text
  /// inotify says "Library.sqlite-wal was written"
  /// report         PRAGMA data_version: the same number as before? then nothing was committed yet
  /// waitForWriter  BEGIN IMMEDIATE, COMMIT: free? then the write that woke us is over
  /// report         PRAGMA data_version again: another number, so the observers are told
  /// ```
  ///
  /// `data_version` changes for a connection when another one has committed
  /// (https://www.sqlite.org/pragma.html#pragma_data_version). The second report catches a commit between the first one
  /// and the lock.
  private func checkFiles() -> Bool {
    let written = events?.collect()
    for path in files.keys {
      let isWritten = written.map { $0.contains(path) || $0.contains("\(path)-wal") || $0.contains("\(path)-journal") }
      if isWritten ?? true { files[path]?.isPending = true }
      guard files[path]?.isPending == true else { continue }
      replaceIfMoved(path)
      report(path)
      guard waitForWriter(path) else {
        whenBusy?(path)
        continue
      }
      files[path]?.isPending = false
      report(path)
    }
    return files.values.contains { $0.isPending }
  }

  /// Reports a commit if the file's version differs from the last one seen.
  private func report(_ path: String) {
    guard let file = files[path], let version = try? file.connection.integer("PRAGMA data_version"),
      version != file.version
    else { return }
    files[path]?.version = version
    for registration in file.registrations { registration.body(file.connection) }
  }

  /// Whether no writer is between writing and publishing.
  private func waitForWriter(_ path: String) -> Bool {
    guard let connection = files[path]?.connection else { return true }
    do {
      try connection.execute("BEGIN IMMEDIATE")
      try connection.execute("COMMIT")
      return true
    } catch let error as SQLiteError {
      // The first error is the one to tell; SQLite may have ended the transaction by itself.
      if connection.isInTransaction { try? connection.execute("ROLLBACK") }
      // SQLITE_BUSY. Other failures, such as a missing file, do not get better a little later.
      return error.primaryCode != 5
    } catch { return true }
  }

  /// A file that replaced this one has connections and versions of its own.
  ///
  /// `replacePersistentStore` writes in place; a program that renames another file over the store makes a new inode,
  /// which this connection would never see.
  private func replaceIfMoved(_ path: String) {
    guard let file = files[path], let there = FileID(path: path), there != file.file,
      let replacement = try? File(path, file.registrations)
    else { return }
    file.connection.close()
    files[path] = replacement
    for registration in file.registrations { registration.body(replacement.connection) }
  }
}
