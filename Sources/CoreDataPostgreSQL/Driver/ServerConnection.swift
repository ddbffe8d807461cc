/// A session with a PostgreSQL server. One thread at a time uses it, except for `cancel()`.
///
/// `PostgreSQLConnection` is the only implementation; tests put others around it.
///
/// All methods throw `ServerError`. Statements have parameters `$1`, `$2`, …; they are prepared at their first use and
/// known by their text. Parameters and results are in the server's binary format.
package protocol ServerConnection: AnyObject {
  /// Runs one statement.
  @discardableResult
  func execute(_ sql: String, _ parameters: ServerParameters) throws -> any ServerResult

  /// Runs statements one after the other with one round trip. The first error ends all.
  func pipeline(_ statements: [(sql: String, parameters: ServerParameters)]) throws -> [any ServerResult]

  /// Runs a text of one or more statements without parameters and forgets their results.
  func run(_ script: String) throws

  /// Runs one statement and gives the body its rows as they arrive, one or some at a time. A result is valid during the
  /// call only.
  ///
  /// - Parameter isShort: the rows may be in memory all at once. That costs less for each.
  func stream(
    _ sql: String, _ parameters: ServerParameters, isShort: Bool, _ body: (any ServerResult) throws -> Void
  ) throws

  /// Runs a SELECT without parameters and gives the body messages of `COPY … TO STDOUT (FORMAT binary)` while the
  /// server sends them: each row is one. This costs the least for each row, but the server plans the statement each
  /// time.
  ///
  /// A message is valid during the call only. An error of the closure ends the statement.
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

  /// The descriptor that is readable when the server has sent something; -1 for a closed connection.
  var descriptor: Int32 { get }

  var isInTransaction: Bool { get }

  /// Whether the session has ended, so that the connection is of no more use.
  var isLost: Bool { get }

  /// The server's version, such as 150006.
  var version: Int { get }

  func close()
}

/// The rows of a statement. They live as long as the result.
package protocol ServerResult: AnyObject {
  var rowCount: Int { get }
  var columnCount: Int { get }

  /// The number of rows that the statement wrote or returned.
  var affectedRows: Int { get }

  /// The type of a column, by its number in the server's catalogue.
  func type(_ column: Int) -> UInt32

  /// The value's bytes, valid as long as the result lives; nil for NULL.
  func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer?

  /// The values for loops over many rows. The caller keeps the result.
  var cells: ServerCells { get }
}

/// A message that a session sent with NOTIFY.
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

/// An error of the server, or of the way to it.
package struct ServerError: Error, CustomStringConvertible {
  /// What happened, without a newline at its end.
  package let message: String
  /// The five characters of the error (https://www.postgresql.org/docs/15/errcodes-appendix.html); empty if the error
  /// is not the server's.
  package let state: String
  /// The constraint that was violated.
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
  /// - Throws: `ServerError`, also for a session that has ended.
  func notifications(within milliseconds: Int32) throws -> [ServerNotification] {
    var descriptors = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
    guard poll(&descriptors, 1, milliseconds) > 0 else { return [] }
    let notifications = try notifications()
    if isLost { throw ServerError(message: "the server has ended the session", isConnectionLost: true) }
    return notifications
  }
}
