import CoreData
internal import LinuxSystem

/// Copies commits from a store's write-ahead log into its file and keeps the log short, on a connection of its own.
///
/// ```swift
/// import StoreTools
///
/// let checkpointer = try WALCheckpointer(url: url)
/// let outcome = try checkpointer.checkpoint(.whileWriting)
/// if outcome.isTooLong { print("readers keep \(outcome.pagesLeft) pages in the log") }
/// ```
///
/// A program calls it after commits and when it is idle, a few times a second at most. A process that checkpoints for
/// all others lets them open their stores with `wal_autocheckpoint` 0 in `NSSQLitePragmasOption`, so that none of their
/// saves pays for it. A pool does so for its workers. Use it on one thread at a time. An addition to Apple's API.
///
/// SQLite only starts the log over when a writer finds that all of it is copied and has no reader. While processes
/// write without a pause a few pages are always left, so the log would grow without end. The checkpointer therefore
/// watches the log's length: it copies a long log, then takes the writers' turn and copies the few pages that were
/// added meanwhile. The next writer starts the log over.
///
/// Source: https://www.sqlite.org/wal.html, "Avoiding Excessively Large WAL Files".
public final class WALCheckpointer {
  /// The sizes of the log at which the checkpointer acts, in bytes.
  public struct Limits: Sendable {
    /// A shorter log waits for a pause. Default: 8 MiB, twice SQLite's own: each checkpoint makes the disk busy, which
    /// commits feel. Up to 16 MiB a page of the log is found as fast
    /// (https://www.sqlite.org/walformat.html, "The WAL-Index File Format").
    public var copied = 8 << 20
    /// The size from which the log is started over, for which writers wait a moment. Default: 12 MiB. More than
    /// `copied`, or each checkpoint would wait.
    public var length = 12 << 20
    /// The size from which the log's file is truncated instead of being written over. Default: 16 MiB. Writing over is
    /// cheaper than letting a file grow again.
    public var file = 16 << 20

    /// Settings with the default values.
    public init() {}
  }

  /// The cost to others that a checkpoint may cause.
  public enum Effort: Sendable {
    /// For while processes write: a short log is left alone, and writers wait ``WALCheckpointer/shortLockTimeout`` at
    /// most.
    case whileWriting
    /// For times without writes: copies everything that needs no waiting, and truncates a long file.
    case inPause
    /// Copies the whole log and empties the file, unless a reader stays longer than
    /// ``WALCheckpointer/longLockTimeout``.
    case completely
  }

  /// The result of a checkpoint.
  public struct Outcome: Sendable, Equatable {
    /// The number of pages of the log that readers kept from being copied, without those written since the checkpoint
    /// began. 0 when all is in the file.
    public var pagesLeft = 0
    /// Whether the log is too long because readers, or writers without a turn, did not let go in time. Tell a person
    /// when it stays so: a program reads an old state.
    public var isTooLong = false
    /// The read locks whose holders see an older state than the newest. Each keeps the pages after its mark in the log.
    public var pins: [Pin] = []
  }

  /// A read lock of the log, which processes may hold, and the pages that its holders see.
  ///
  /// Two checkpoints that find equal pins and the same process as holder have met one reader: a read lock gets another
  /// mark before it serves another reader.
  public struct Pin: Sendable, Hashable {
    /// The number of the read lock, 0 to 4: byte 123 + number of the `-shm` file
    /// (https://www.sqlite.org/walformat.html, "WAL Locks").
    public let readLock: Int
    /// The number of pages of the log that its readers see.
    public let mark: Int
    /// Changes when the log starts over.
    public let generation: UInt32
  }

  /// The seconds that writers wait at most for each of the few locks of starting the log over.
  public static let shortLockTimeout = 0.01
  /// The same while no writer waits for a turn.
  public static let longLockTimeout = 0.5
  /// The number of bytes that can be copied during the writers' turn without much harm.
  private static let little = 1 << 20

  private let connection: SQLiteConnection
  private let writeTurn: FairFileLock?
  private let limits: Limits
  /// The result of the last checkpoint that examined the log.
  private var outcome = Outcome()
  /// The progress of the last checkpoint.
  private var last: (generation: UInt32, copiedFrames: Int)?

  /// Opens a store's file.
  ///
  /// - Parameters:
  ///   - url: the store's file, which must exist.
  ///   - writeTurn: the file of `NSPersistentStoreWriteTurnOption`, by which the checkpointer keeps writers waiting.
  ///     Without it the log only starts over if no process happens to write.
  ///   - limits: the sizes at which it acts.
  /// - Throws: 134080 if the file cannot be opened, and other errors of SQLite.
  public init(url: URL, writeTurn: String? = nil, limits: Limits = Limits()) throws {
    self.limits = limits
    (connection, self.writeTurn) = try CoreDataErrors.translating("Opening \(url.path)") {
      (try SQLiteConnection(path: url.path, access: .readWrite), try writeTurn.map { try FairFileLock.writeTurn($0) })
    }
  }

  /// Copies as much as the effort allows; the default waits for no reader while the log is short. If there is nothing
  /// to do, returns the result of the last checkpoint.
  ///
  /// Copying reads the log and synchronises the file, so it takes as long as the disk needs; readers and writers go on
  /// meanwhile, except for the moments that ``Effort`` names.
  ///
  /// - Throws: 134090 or another error of SQLite. Nothing is lost by it: try again later.
  @discardableResult
  public func checkpoint(_ effort: Effort = .inPause) throws -> Outcome {
    try CoreDataErrors.translating("Checkpointing \(connection.path)") {
      if effort == .whileWriting, fileBytes <= limits.copied { return outcome }
      guard let index = try connection.walIndex(), isWorthwhile(index, effort) else { return outcome }
      outcome = try bringIn(index, effort)
      return outcome
    }
  }

  private func bringIn(_ index: WALIndex, _ effort: Effort) throws -> Outcome {
    let uncopiedPages = try copy()
    guard let copied = try connection.walIndex() else { return Outcome() }
    defer { last = (copied.generation, copied.copiedFrames) }
    var outcome = Outcome(pagesLeft: uncopiedPages, pins: uncopiedPages > 0 ? pins(copied) : [])
    guard effort == .completely || isTooLong(index) else { return outcome }
    // Writers wait for readers that come and go, not for one that stays long.
    if effort != .completely, uncopiedPages > 0, isStuck(copied) {
      outcome.isTooLong = true
    } else if try startLogOver(effort) {
      outcome = Outcome()
    } else {
      outcome.isTooLong = isTooLong(copied)
    }
    return outcome
  }

  // MARK: The log's state

  /// The file may be longer than its log: a log that starts over writes over the old one.
  private var fileBytes: Int {
    var status = stat()
    return stat(connection.path + "-wal", &status) == 0 ? Int(status.st_size) : 0
  }

  private func isWorthwhile(_ index: WALIndex, _ effort: Effort) -> Bool {
    effort != .whileWriting || isTooLong(index)
      || index.bytes(frames: index.frames - index.copiedFrames) > limits.copied
  }

  private func isTooLong(_ index: WALIndex) -> Bool {
    index.bytes(frames: index.frames) > limits.length || fileBytes > limits.file
  }

  /// Whether no page could be copied since the last time.
  private func isStuck(_ index: WALIndex) -> Bool {
    last.map { $0 == (index.generation, index.copiedFrames) } ?? false
  }

  /// A reader with read lock 0 sees only the file, and keeps everything else from being copied.
  private func pins(_ index: WALIndex) -> [Pin] {
    index.readMarks.enumerated().compactMap { readLock, mark in
      guard let mark = readLock == 0 ? index.copiedFrames : mark, mark < index.frames else { return nil }
      return Pin(readLock: readLock, mark: mark, generation: index.generation)
    }
  }

  // MARK: Checkpoints

  /// Copies what needs no waiting. Returns the number of pages left, of those that existed at its beginning.
  private func copy() throws -> Int {
    try run("PASSIVE").pagesLeft
  }

  /// Copies the whole log, so that the next writer starts it over. False if a reader or writer stays too long.
  private func startLogOver(_ effort: Effort) throws -> Bool {
    guard let writeTurn else { return try end(effort) }
    // Work done now is not done in the writers' turn: most of the copying, and syncing the file.
    for _ in 0..<3 {
      try connection.synchronizeFile()
      guard let index = try connection.walIndex(),
        index.bytes(frames: index.frames - index.copiedFrames) > Self.little
      else { break }
      _ = try copy()
    }
    return try writeTurn.hold { try end(effort) }
  }

  private func end(_ effort: Effort) throws -> Bool {
    let timeout = effort == .completely ? Self.longLockTimeout : effort == .whileWriting ? Self.shortLockTimeout : 0
    connection.setBusyTimeout(timeout)
    defer { connection.setBusyTimeout(SQLiteConnection.standardBusyTimeout) }
    // A file that stays is written over, which is cheaper for writers than letting it grow again.
    let isCutOff = effort == .completely || fileBytes > limits.file
    return try !run(isCutOff ? "TRUNCATE" : "RESTART").wasKept
  }

  /// Source: https://www.sqlite.org/pragma.html#pragma_wal_checkpoint.
  private func run(_ mode: String) throws -> (wasKept: Bool, pagesLeft: Int) {
    // One row: whether it was blocked, pages in the log, pages copied; -1 outside of WAL mode.
    guard let row = try connection.rows("PRAGMA wal_checkpoint(\(raw: mode))").first, row.count == 3,
      case .integer(let wasKept) = row[0], case .integer(let pages) = row[1], case .integer(let copied) = row[2]
    else { return (false, 0) }
    return (wasKept != 0, Int(pages - copied))
  }
}
