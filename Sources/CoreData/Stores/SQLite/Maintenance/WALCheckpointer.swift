/// Brings what is committed from a store's write-ahead log into its file and keeps the log short, on a connection of its own.
///
/// Not one of Apple's classes. A process that checkpoints for all others lets them open their stores with `wal_autocheckpoint` 0
/// in `NSSQLitePragmasOption`, so that none of their saves pays for it. Use it from one thread at a time.
///
/// SQLite begins the log anew only when a writer finds that all of it is copied and that nobody reads it. While processes write without
/// a pause, a few pages are always still to be copied, so the log would grow without end. The checkpointer therefore goes by the log's
/// length: it copies a long log, then takes the writers' turn and copies the few pages that came meanwhile. The next writer begins anew.
public final class WALCheckpointer {
  /// How long the log may become, in bytes.
  public struct Limits: Sendable {
    /// Less than this waits for a pause. SQLite's own default is about as much.
    public var copied = 4 << 20
    /// From here on the log is begun anew.
    public var length = 8 << 20
    /// A longer file is cut off: its blocks are given back instead of being written over.
    public var file = 16 << 20

    /// Settings with the default values.
    public init() {}
  }

  /// How much a checkpoint may cost others.
  public enum Effort: Sendable {
    /// Processes write: nothing is done about a log that is short, and writers wait ``WALCheckpointer/shortPatience`` at most.
    case whileWriting
    /// Nobody writes: all is copied that can be without waiting for anybody, and a long file is cut off.
    case inPause
    /// Copies the whole log and empties the file, unless a reader stays longer than ``WALCheckpointer/longPatience``.
    case completely
  }

  /// What a checkpoint has found.
  public struct Outcome: Sendable, Equatable {
    /// Pages of the log that readers kept from being copied. What was written since the checkpoint began is not among them.
    public var pagesLeft = 0
    /// Whether the log is longer than it may be because readers, or writers without a turn, did not let go in time.
    public var isTooLong = false
    /// Places of readers that see an older state than the newest: each keeps the pages after its mark in the log.
    public var pins: [Pin] = []
  }

  /// A reader's slot in the log's index, which a process may hold.
  ///
  /// Two looks that find equal pins, and the same process at that place, have seen one reader: a place gets another mark before it serves
  /// another one.
  public struct Pin: Sendable, Hashable {
    /// 0 to 4; its lock is byte 123 + place of the `-shm` file (https://www.sqlite.org/walformat.html, "WAL Locks").
    public let place: Int
    /// How many pages of the log its readers see.
    public let mark: Int
    /// Changes when the log begins anew.
    public let generation: UInt32
  }

  /// Seconds that the writers of the pool wait for others at most, so that the log can begin anew: for each of the few locks it takes.
  public static let shortPatience = 0.01
  /// The same when nobody is waiting for a turn any more.
  public static let longPatience = 0.5
  /// So many bytes are copied in the writers' turn without much harm.
  private static let little = 1 << 20

  private let connection: SQLiteConnection
  private let writeTurn: WriteTurn?
  private let limits: Limits
  /// What the last one found that looked.
  private var outcome = Outcome()
  /// How far the last checkpoint came.
  private var last: (generation: UInt32, copiedFrames: Int)?

  /// - Parameters:
  ///   - url: the store's file, which must exist.
  ///   - writeTurn: the file of `NSPersistentStoreWriteTurnOption`, by which the pool's writers are kept waiting. Without it, a log is
  ///     begun anew only if nobody happens to write.
  public init(url: URL, writeTurn: String? = nil, limits: Limits = Limits()) throws {
    self.limits = limits
    (connection, self.writeTurn) = try CoreDataErrors.translating("Opening \(url.path)") {
      (try SQLiteConnection(path: url.path, access: .readWrite), try writeTurn.map { try WriteTurn(path: $0) })
    }
  }

  /// Copies as much as that effort allows; the default waits for nobody while the log is short. Where there is nothing to do, returns
  /// what the last checkpoint found.
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
    let left = try copy()
    guard let copied = try connection.walIndex() else { return Outcome() }
    defer { last = (copied.generation, copied.copiedFrames) }
    var outcome = Outcome(pagesLeft: left, pins: left > 0 ? pins(copied) : [])
    guard effort == .completely || isTooLong(index) else { return outcome }
    // The writers wait for readers that come and go, not for one that has been there for long.
    if effort != .completely, left > 0, isStuck(copied) {
      outcome.isTooLong = true
    } else if try beginAnew(effort) {
      outcome = Outcome()
    } else {
      outcome.isTooLong = isTooLong(copied)
    }
    return outcome
  }

  // MARK: What the log needs

  /// The file may be longer than the log in it: a log that begins anew writes over the old one.
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

  /// Whether not a page could be copied since the last time.
  private func isStuck(_ index: WALIndex) -> Bool {
    last.map { $0 == (index.generation, index.copiedFrames) } ?? false
  }

  /// A reader at place 0 sees the file alone, and keeps all that is not in it from being copied.
  private func pins(_ index: WALIndex) -> [Pin] {
    index.readMarks.enumerated().compactMap { place, mark in
      guard let mark = place == 0 ? index.copiedFrames : mark, mark < index.frames else { return nil }
      return Pin(place: place, mark: mark, generation: index.generation)
    }
  }

  // MARK: Checkpoints

  /// Copies what can be copied without waiting for anybody; returns the pages that are left of those that were there at its beginning.
  private func copy() throws -> Int {
    try run("PASSIVE").pagesLeft
  }

  /// Copies the whole log, so that the next writer starts it anew; false if a reader or writer stays too long.
  private func beginAnew(_ effort: Effort) throws -> Bool {
    guard let writeTurn else { return try end(effort) }
    // What is done now need not be done in the writers' turn: most of the copying, and bringing the file to the disk.
    for _ in 0..<3 {
      try connection.synchronizeFile()
      guard let index = try connection.walIndex(),
        index.bytes(frames: index.frames - index.copiedFrames) > Self.little
      else { break }
      _ = try copy()
    }
    return try writeTurn.take { try end(effort) }
  }

  private func end(_ effort: Effort) throws -> Bool {
    let patience = effort == .completely ? Self.longPatience : effort == .whileWriting ? Self.shortPatience : 0
    BusyHandler.install(on: connection.handle, timeout: patience)
    defer { BusyHandler.install(on: connection.handle, timeout: SQLiteConnection.standardBusyTimeout) }
    // A file that stays is written over, which costs the next writers less than letting it grow again.
    let isCutOff = effort == .completely || fileBytes > limits.file
    return try !run(isCutOff ? "TRUNCATE" : "RESTART").wasKept
  }

  /// Source: https://www.sqlite.org/pragma.html#pragma_wal_checkpoint.
  private func run(_ mode: String) throws -> (wasKept: Bool, pagesLeft: Int) {
    // One row: whether it was kept from completing, pages in the log, pages copied; -1 outside WAL mode.
    guard let row = try connection.rows("PRAGMA wal_checkpoint(\(mode))").first, row.count == 3,
      case .integer(let wasKept) = row[0], case .integer(let pages) = row[1], case .integer(let copied) = row[2]
    else { return (false, 0) }
    return (wasKept != 0, Int(pages - copied))
  }
}
