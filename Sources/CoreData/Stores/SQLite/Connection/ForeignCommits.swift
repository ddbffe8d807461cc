internal import Synchronization

/// A state of a database file, as its header or that of its log's index tells it: another one after each commit.
///
/// The 48 bytes in WAL mode, as three commits after the creation of a table have left them:
///
/// ```text
/// bytes    0- 3   3007000      version of the format
///          8-11   4            the count of commits: `count`
///         12      1            is initialised
///         14-15   4096         size of a page
///         16-19   5            frames in the log
///         20-23   2            pages of the database
///         24-47                checksums and salts
/// ```
///
/// A commit changes at least the count and the frames; a log that starts over changes the salts. So equal bytes mean
/// that nothing was committed in between.
struct CommitMark: Equatable {
  private var words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0)
  /// Grows by one with each commit, and restarts after its largest value.
  private(set) var count: UInt32 = 0

  init() {}

  /// The first of the two copies of the header in the index of a write-ahead log: 48 bytes, the second four of which
  /// count the commits. All processes share this memory.
  ///
  /// Source: https://www.sqlite.org/walformat.html, "The WAL-Index Header".
  @inline(__always)
  init(walIndex memory: UnsafeRawPointer) {
    words = memory.loadUnaligned(as: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64).self)
    count = UInt32(truncatingIfNeeded: words.1)
  }

  /// The header of a file without a log. It has a number that counts the commits, and another one that a rebuilt file
  /// changes.
  ///
  /// Source: https://www.sqlite.org/fileformat.html, 1.3.7.
  init(fileHeader bytes: UnsafeRawBufferPointer) {
    words.0 = bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
    words.1 = bytes.loadUnaligned(fromByteOffset: 32, as: UInt64.self)
    count = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 24, as: UInt32.self))
  }

  @inline(__always)
  static func == (one: CommitMark, other: CommitMark) -> Bool { one.words == other.words }
}

/// Tells whether another connection than a coordinator's writer has committed. It asks neither the writer, which may be
/// in use for as long as another process keeps it waiting, nor SQLite: with a write-ahead log it compares 48 bytes.
///
///     writer                     | the count of commits      | what is concluded
///     ---------------------------+---------------------------+--------------------------------
///     begins, with the lock      | n                         | foreign, if another state was known
///     is about to commit         | n, or its own: n + 1      | nothing new
///     has committed              | n + 1                     | no other has committed
///                                | n + 2 or more             | foreign
///
/// Where it cannot tell, a commit counts as foreign: rows are read again without need, but none is taken for current
/// that another connection has changed.
final class ForeignCommits: Sendable {
  /// `begin` is the count at the transaction's start. Between BEGIN IMMEDIATE and COMMIT nobody else can commit, so
  /// exactly `begin + 1` afterwards is this writer's own.
  private struct State {
    /// The address of the log's index, which is mapped until `stop()`; 0 for none.
    var index: UInt = 0
    /// The last state that was looked at; nil if that is unknown.
    var lastMark: CommitMark?
    /// The count of commits when the writer's transaction began.
    var begin: UInt32 = 0
    /// Whether the next commit is the writer's.
    var isCommitting = false
    var version: Int64 = 0

    /// Takes over a state in which another connection may have committed.
    mutating func note(_ mark: CommitMark?) -> Int64 {
      if let mark, mark == lastMark { return version }
      let isOwn = isCommitting && lastMark != nil && mark?.count == begin &+ 1
      if !isOwn { version += 1 }
      lastMark = mark
      return version
    }
  }

  private let state = Mutex(State())

  /// Looks at the log's index of the writer from now on, if there is one.
  func follow(_ writer: SQLiteConnection) throws {
    let index = UInt(bitPattern: try writer.walIndexMemory())
    state.withLock { $0.index = index }
  }

  /// Ends the use of the index, before the writer is closed.
  func stop() { state.withLock { ($0.index, $0.lastMark) = (0, nil) } }

  // MARK: The version

  /// Changes with foreign commits. Nil for a database without a log: see `version(at:)`.
  func version() -> Int64? {
    state.withLock { state in
      guard let index = UnsafeRawPointer(bitPattern: state.index) else { return nil }
      return state.note(CommitMark(walIndex: index))
    }
  }

  /// Changes with foreign commits.
  ///
  /// - Parameter mark: the state in the file's header; nil if it does not tell.
  func version(at mark: CommitMark?) -> Int64 { state.withLock { $0.note(mark) } }

  /// The version, without a look at the database.
  var latestVersion: Int64 { state.withLock { $0.version } }

  /// Counts a foreign commit, as which an unknown state counts.
  @discardableResult
  func noteForeign() -> Int64 { state.withLock { $0.note(nil) } }

  // MARK: The writer's transaction

  private static func mark(_ index: UInt, _ writer: SQLiteConnection) -> CommitMark? {
    if let index = UnsafeRawPointer(bitPattern: index) { return CommitMark(walIndex: index) }
    // An error means what an unknown state means.
    return (try? writer.fileMark()) ?? nil
  }

  /// A transaction of the writer has begun: until it ends, no other connection commits.
  func begin(_ writer: SQLiteConnection) {
    state.withLock { state in
      let mark = Self.mark(state.index, writer)
      _ = state.note(mark)
      state.begin = mark?.count ?? 0
    }
  }

  /// The next commit is the writer's, which has written something.
  func willCommit() { state.withLock { $0.isCommitting = true } }

  /// The transaction was committed, and others may have committed since.
  func didCommit(_ writer: SQLiteConnection) {
    state.withLock { state in
      _ = state.note(Self.mark(state.index, writer))
      state.isCommitting = false
    }
  }

  /// The transaction was taken back.
  func didFail() {
    state.withLock { state in
      // Another connection's commit may have been taken for this one.
      if state.isCommitting { _ = state.note(nil) }
      state.isCommitting = false
    }
  }
}
