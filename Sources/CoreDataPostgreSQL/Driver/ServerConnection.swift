/// A session with a PostgreSQL server. One thread at a time uses it, except for `cancel()`.
///
/// `PostgreSQLConnection` is the only implementation that talks to a server. `ServerWriter` puts itself around one for
/// a transaction, and tests put others around it, which count, record or fail.
///
/// All methods throw `ServerError`. Statements have parameters `$1`, `$2`, …; they are prepared at their first use and
/// known by their text. Parameters and results are in the server's binary format.
///
/// A caller that gets an error looks at `isConnectionLost` first: then the session is gone with its transaction, locks
/// and prepared statements, and another connection is needed. Any other error leaves the session usable; an open
/// transaction has failed and needs a ROLLBACK.
package protocol ServerConnection: AnyObject {
  /// Runs one statement: a SELECT, INSERT, UPDATE or DELETE, or one that gives nothing. All rows are in memory
  /// afterwards.
  @discardableResult
  func execute(_ sql: String, _ parameters: ServerParameters) throws -> any ServerResult

  /// Runs statements one after the other with one round trip. The first error ends all: those behind it are not run.
  ///
  /// - Returns: a result for each statement, in their order.
  func pipeline(_ statements: [(sql: String, parameters: ServerParameters)]) throws -> [any ServerResult]

  /// Runs a text of one or more statements without parameters and forgets their results. For BEGIN, COMMIT, settings
  /// and DDL: several statements in one text are one transaction if none is open.
  func run(_ script: String) throws

  /// Runs one statement and gives the body its rows as they arrive, one or some at a time. A result is valid during the
  /// call only.
  ///
  /// - Parameter isShort: the rows may be in memory all at once. That costs less for each.
  func stream(
    _ sql: String, _ parameters: ServerParameters, isShort: Bool, _ body: (any ServerResult) throws -> Void
  ) throws

  /// Runs a SELECT without parameters and gives the body messages of `COPY … TO STDOUT (FORMAT binary)` while the
  /// server sends them: each row is one, and the body gets one or several at a time, whole and without anything between
  /// them. This costs the least for each row, but the server plans the statement each time.
  ///
  /// The messages are valid during the call only. An error of the closure ends the statement.
  func copyRows(_ select: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws

  /// Runs a `COPY … FROM STDIN`, and sends what the closure appends until it returns false. An error of the closure
  /// ends the statement without effect.
  ///
  /// - Returns: the number of rows.
  @discardableResult
  func copy(_ sql: String, _ next: (inout [UInt8]) throws -> Bool) throws -> Int

  /// Makes the running statement fail, if there is one. Any thread.
  func cancel()

  /// The notifications that have arrived since the last call.
  func notifications() throws -> [ServerNotification]

  /// The descriptor that is readable when the server has sent something; -1 for a closed connection. For poll(2) only.
  var descriptor: Int32 { get }

  var isInTransaction: Bool { get }

  /// Whether the session has ended, so that the connection is of no more use.
  var isLost: Bool { get }

  /// The server's version, such as 150006.
  var version: Int { get }

  func close()
}

/// The rows of a statement. They live as long as the result, and so do the bytes that it gives.
package protocol ServerResult: AnyObject {
  var rowCount: Int { get }
  var columnCount: Int { get }

  /// The number of rows that the statement wrote or returned.
  var affectedRows: Int { get }

  /// The type of a column, by its number in the server's catalogue (`pg_type.oid`): what an expression gives is the
  /// server's decision, so a reader of dictionaries has to look.
  func type(_ column: Int) -> UInt32

  /// The value's bytes, valid as long as the result lives; nil for NULL.
  func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer?

  /// The values for loops over many rows. The caller keeps the result.
  var cells: ServerCells { get }
}

/// A message that a session sent with NOTIFY. It arrives after the sender's COMMIT, at sessions that have run LISTEN
/// for the channel, and only while they are connected: nothing is kept for those that come later.
package struct ServerNotification: Sendable, Equatable {
  package let channel: String
  package let payload: String
  /// The process number of the session at the server.
  package let sender: Int32

  package init(channel: String, payload: String, sender: Int32) {
    self.channel = channel
    self.payload = payload
    self.sender = sender
  }
}

/// An error of the server, or of the way to it. `CoreDataErrors.fromServer` makes Core Data's errors of them.
///
/// The codes on which decisions depend here:
///
/// ```text
/// class 08, and no code   the connection, by isConnectionLost
/// 0A000, 26000            a prepared statement is outdated: prepared anew
/// 23503, 23505            a foreign key or a unique value
/// 25006                   a standby, or a user who may only read
/// 25P02                   an earlier statement of the transaction has failed
/// 40001, 40P01, 55P03     transactions that waited for each other
/// 42501                   a missing right
/// 42P07, 42710, 42723     a table, type or function of that name exists
/// 53100                   the disk is full
/// 54000                   a row is too large for an index
/// 57014                   cancelled
/// ```
package struct ServerError: Error, CustomStringConvertible {
  /// What happened, without a newline at its end.
  package let message: String
  /// The five characters of the error (https://www.postgresql.org/docs/15/errcodes-appendix.html); empty if the error
  /// is not the server's.
  package let state: String
  /// The constraint that was violated, or the index that is too small for a value. The server names it for the class 23
  /// and, where a B-tree refuses a row, for 54000.
  package let constraint: String?
  /// Whether the connection is gone.
  package let isConnectionLost: Bool

  /// - Parameter message: the lines of libpq and the server become one.
  package init(message: String, state: String = "", constraint: String? = nil, isConnectionLost: Bool = false) {
    let lines = message.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
    self.message = lines.joined(separator: " ")
    self.state = state
    self.constraint = constraint
    self.isConnectionLost = isConnectionLost
  }

  package var description: String { state.isEmpty ? message : "\(message) (SQLSTATE \(state))" }
}

extension ServerConnection {
  /// The notifications that arrive within some milliseconds, or have arrived already.
  ///
  /// The thread sleeps in poll(2) meanwhile. The end of the session makes the descriptor readable, too, so those who
  /// wait learn of it at once, unless the host is gone: then keepalives notice it after eleven seconds.
  ///
  /// - Throws: `ServerError`, also for a session that has ended.
  func notifications(within milliseconds: Int32) throws -> [ServerNotification] {
    var descriptors = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
    guard poll(&descriptors, 1, milliseconds) > 0 else { return [] }
    let notifications = try notifications()
    if isLost { throw ServerError(message: "the server has ended the session", isConnectionLost: true) }
    return notifications
  }
}
