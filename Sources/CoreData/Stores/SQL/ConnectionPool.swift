internal import Synchronization

/// What a pool of connections needs of each.
package protocol PooledConnection: AnyObject {
  /// Makes the running statement fail, if there is one. Any thread, also after `close()`.
  func interrupt()

  func close()

  /// Whether another user can have the connection: it is not lost, and in no transaction.
  var isReusable: Bool { get }
}

/// A coordinator's connections to one database: readers, each used by one user at a time, and those that have one
/// owner, such as the writer and the connections of pinned contexts.
///
/// `@unchecked Sendable`: the lists and counts are used under `condition`; the handy reader and the number of waiting
/// users are atomic.
///
/// ```text
/// who                    connection                          lives
/// ---------------------  ----------------------------------  ------------------------------------
/// a fetch                a reader, by take and giveBack      until the pool closes it
/// a save                 the writer, adopted by its database with the database
/// a pinned context       an OwnedConnection                  with the generation
/// ```
///
/// Readers are opened when they are first needed, up to `maximumReaders`. A further fetch waits under `condition` for
/// one that is given back.
///
/// The fast path takes and gives back `handyReader` with one atomic exchange. What could go wrong, and what keeps it
/// from that:
///
/// ```text
/// Thread A gives back                          Thread B wants a reader
/// -------------------------------------------  ------------------------------------------------
///                                              takes the lock, counts itself as a seeker
/// stores the reader as the handy one           looks at idleReaders and the handy one
/// sees that there is a seeker                  either finds it, or waits
/// takes the handy one back, if it is there
/// gives it back under the lock, and signals    wakes and finds it
/// ```
///
/// Both sides write first and read then, in sequentially consistent order: at least one of them sees the other, and no
/// reader lies idle while a thread waits.
package final class ConnectionPool<Connection: PooledConnection>: @unchecked Sendable {
  /// The database's place, for errors.
  private let place: String
  private let maximumReaders: Int
  private let open: @Sendable () throws -> Connection
  private let condition = NSCondition()
  /// The readers that nobody uses, apart from the handy one. The last one given back is taken first: its page cache is
  /// warm.
  private var idleReaders: [Connection] = []
  /// Readers in use, idle, handy and being opened. Never more than `maximumReaders`.
  private var readerCount = 0
  /// All open connections, to be interrupted.
  private var connections: [Connection] = []
  /// Never false again: a store that was removed is added anew with a pool of its own.
  private var wasClosed = false
  /// The reader that was given back last, to be taken without the lock: an owned reference, or 0. Taking and giving
  /// back takes 75 instructions so, and 580 under the lock, where SQLite needs 5,100 for a look-up.
  private let handyReader = Atomic<UInt>(0)
  /// The users who look for a reader under the lock, and may wait for one. One more for a closed pool: readers that are
  /// given back come to the lock, and are closed there.
  private let seekers = Atomic<Int>(0)

  /// - Parameters:
  ///   - maximumReaders: at least one is made, whatever the number.
  ///   - open: opens a reader.
  package init(place: String, maximumReaders: Int, open: @escaping @Sendable () throws -> Connection) {
    self.place = place
    self.maximumReaders = max(1, maximumReaders)
    self.open = open
  }

  deinit {
    _ = takeHandyReader()
    for connection in connections { connection.close() }
  }

  // MARK: Readers

  /// A reader that belongs to the caller until it is given back. Waits if all are busy.
  ///
  /// - Throws: the errors of opening one; 134070 once the pool is closed.
  @inline(__always)
  package func take() throws -> Connection {
    if let reader = takeHandyReader() { return reader }
    return try takeIdleReader() ?? makeReader()
  }

  /// A connection that is lost or in a transaction goes to the lock, and is closed there; its place becomes free for a
  /// new one.
  @inline(__always)
  package func giveBack(_ reader: Connection) {
    guard reader.isReusable else { return giveBackLocked(reader) }
    var reader = reader
    let bits = UInt(bitPattern: Unmanaged.passRetained(reader).toOpaque())
    if handyReader.compareExchange(expected: 0, desired: bits, ordering: .sequentiallyConsistent).exchanged {
      guard seekers.load(ordering: .sequentiallyConsistent) > 0, let taken = takeHandyReader() else { return }
      reader = taken
    } else {
      Unmanaged.passUnretained(reader).release()
    }
    giveBackLocked(reader)
  }

  /// Signals one waiting user in either case: a reader that is closed makes room for a new one.
  private func giveBackLocked(_ reader: Connection) {
    condition.withLock {
      if wasClosed || !reader.isReusable {
        readerCount -= 1
        discard(reader)
      } else {
        idleReaders.append(reader)
      }
      condition.signal()
    }
  }

  /// Waits until a reader is idle or may be made; nil in the second case.
  private func takeIdleReader() throws -> Connection? {
    condition.lock()
    defer { condition.unlock() }
    // A thread that returns a reader now sees this count, or stores the reader where the search below finds it.
    seekers.add(1, ordering: .sequentiallyConsistent)
    defer { seekers.subtract(1, ordering: .sequentiallyConsistent) }
    while true {
      if wasClosed { throw removed }
      if let reader = idleReaders.popLast() ?? takeHandyReader() { return reader }
      if readerCount < maximumReaders { break }
      condition.wait()
    }
    readerCount += 1
    return nil
  }

  /// Opened outside of the lock, since it reads the file. The place was counted before, so that not more than
  /// `maximumReaders` are opened at once.
  private func makeReader() throws -> Connection {
    do {
      let reader = try open()
      try adopt(reader)
      return reader
    } catch {
      condition.withLock {
        readerCount -= 1
        condition.signal()
      }
      throw error
    }
  }

  @inline(__always)
  private func takeHandyReader() -> Connection? {
    let bits = handyReader.exchange(0, ordering: .sequentiallyConsistent)
    return UnsafeRawPointer(bitPattern: bits).map { Unmanaged<Connection>.fromOpaque($0).takeRetainedValue() }
  }

  /// Runs the body for each reader that nobody uses now. Returns whether others are in use.
  @discardableResult
  func forEachIdleReader(_ body: (Connection) -> Void) -> Bool {
    condition.withLock {
      collectHandyReader()
      for reader in idleReaders { body(reader) }
      return readerCount > idleReaders.count
    }
  }

  /// Closes the readers that nobody uses now.
  package func closeIdleReaders() { condition.withLock { closeIdleReadersLocked() } }

  private func closeIdleReadersLocked() {
    collectHandyReader()
    for reader in idleReaders { discard(reader) }
    readerCount -= idleReaders.count
    idleReaders = []
  }

  private func collectHandyReader() {
    if let reader = takeHandyReader() { idleReaders.append(reader) }
  }

  // MARK: Connections with one owner

  /// Adds a connection that its owner uses and releases. It is interrupted with the others.
  ///
  /// - Throws: 134070 once the pool is closed, and closes the connection.
  package func adopt(_ connection: Connection) throws {
    try condition.withLock {
      guard !wasClosed else {
        connection.close()
        throw removed
      }
      connections.append(connection)
    }
  }

  /// Closes a connection that its owner uses no longer.
  package func release(_ connection: Connection) { condition.withLock { discard(connection) } }

  /// Closes all connections but the owner's. False, with nothing closed, if another one is in use.
  ///
  /// For `SQLiteDatabase.writeAnew`, which has to reopen the file: all connections of a process share one mapping of
  /// the log's index, and that may be read-only.
  func closeAll(except owned: Connection) -> Bool {
    condition.withLock {
      collectHandyReader()
      guard !wasClosed, idleReaders.count == readerCount, connections.count == readerCount + 1 else { return false }
      closeIdleReadersLocked()
      return connections.first === owned
    }
  }

  private func discard(_ connection: Connection) {
    connections.removeAll { $0 === connection }
    connection.close()
  }

  // MARK: All

  /// Makes the running statements fail, from any thread. Later statements are not affected.
  package func interrupt() {
    let openConnections = condition.withLock { connections }
    for connection in openConnections { connection.interrupt() }
  }

  /// Closes the readers: those in use when they are given back. From now on taking one is an error, and those who wait
  /// for one get it. Owners release theirs. Further calls do nothing.
  package func close() {
    condition.withLock {
      guard !wasClosed else { return }
      wasClosed = true
      seekers.add(1, ordering: .sequentiallyConsistent)
      closeIdleReadersLocked()
      condition.broadcast()
    }
  }

  /// Asked by owners before each use of their connection.
  package var isClosed: Bool { condition.withLock { wasClosed } }

  /// Throws 134070 once the pool is closed.
  package func checkOpen() throws { if isClosed { throw removed } }

  private var removed: NSError {
    CoreDataErrors.error(
      .persistentStoreOperation,
      "The store at \(place) was removed from its coordinator, so it can be read and saved no more: add it again, and "
        + "fetch its objects anew.")
  }
}
