internal import CSQLite

/// A read transaction of a reader that look-ups by key share, so that each of many need not begin and end its own: that
/// takes two calls of the kernel and 2,000 of SQLite's 7,100 instructions for a look-up.
///
/// Every look-up sees the newest state nevertheless. Each commit changes the header of the log's index, which is memory
/// that all processes share; once it has changed, the transaction ends. Outside of WAL mode there is none, because it
/// would keep writers waiting.
///
/// The log cannot start over while a reader has a transaction. So this one begins after several look-ups only, and ends
/// soon after the last one.
///
/// Source: https://www.sqlite.org/walformat.html, "The WAL-Index Header".
///
/// ```text
/// Look-ups of this reader                       Writer (any process)
/// --------------------------------------------  ------------------------------------
/// header = 48 bytes of the index
/// BEGIN
/// SELECT … WHERE t.Z_PK = 1
/// compares the header: the same
/// SELECT … WHERE t.Z_PK = 2
///                                               COMMIT: the header changes
/// compares the header: it differs; COMMIT
/// SELECT … WHERE t.Z_PK = 3: sees the commit
/// … after 16 look-ups a new header and BEGIN
/// ```
///
/// The header is taken before BEGIN. In the other order a commit between the two would go unnoticed: the transaction
/// would be older than the header.
struct SharedRead {
  /// The time after which an unused transaction ends; twice that at most.
  static let timeout = 0.005
  /// The look-ups without a commit before one begins.
  private static let fewestLookUps = 16

  private(set) var isOpen = false
  /// Whether a look-up used the transaction since this was cleared.
  fileprivate var isUsed = false
  /// Look-ups since the last transaction ended.
  private var lookUps = 0
  private var isSearched = false
  private var memory: UnsafeRawPointer?
  /// The header before the transaction began.
  private var header = CommitMark()

  /// Whether nobody has committed since the transaction began.
  @inline(__always)
  private var isCurrent: Bool { memory.map { CommitMark(walIndex: $0) == header } ?? false }

  /// Prepares a look-up. True if a transaction begins with it.
  @inline(__always)
  fileprivate mutating func prepare(_ connection: SQLiteConnection) throws -> Bool {
    if isOpen && isCurrent {
      isUsed = true
      return false
    }
    return try prepareAnew(connection)
  }

  /// Ends a transaction that is out of date, and begins one if look-ups follow each other.
  ///
  /// ```text
  /// isOpen, header differs     ends the transaction, counts from 1
  /// 16 look-ups or fewer       none begins: a single fault should not hold the log
  /// the 17th                   finds the index, notes the header, BEGIN
  /// no index (not WAL)         none ever begins
  /// ```
  @inline(never)
  private mutating func prepareAnew(_ connection: SQLiteConnection) throws -> Bool {
    if isOpen { end(connection) }
    lookUps += 1
    guard lookUps > Self.fewestLookUps else { return false }
    if !isSearched {
      isSearched = true
      memory = try connection.walIndexMemory()
    }
    guard let memory else { return false }
    // Before the transaction: it may see a later state than this header's, but never an earlier one.
    header = CommitMark(walIndex: memory)
    try connection.execute("BEGIN")
    (isOpen, isUsed) = (true, true)
    return true
  }

  fileprivate mutating func end(_ connection: SQLiteConnection) {
    (isOpen, lookUps) = (false, 0)
    // An error may have ended it. A transaction that only reads has nothing that its end could lose.
    if connection.isInTransaction { try? connection.execute("COMMIT") }
  }
}

extension SQLiteConnection {
  /// Prepares a look-up by key. True if a transaction begins that others can share.
  @inline(__always)
  func shareRead() throws -> Bool { try sharedRead.prepare(self) }

  /// Ends the shared transaction, for reads that need one of their own.
  @inline(__always)
  func endSharedRead() {
    if sharedRead.isOpen { sharedRead.end(self) }
  }

  func endSharedReadUnlessUsed() {
    if !sharedRead.isUsed { endSharedRead() }
    sharedRead.isUsed = false
  }
}
