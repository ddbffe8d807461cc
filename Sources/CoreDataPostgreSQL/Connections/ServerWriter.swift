/// The connection of a transaction. Statements that only open it wait for the next one, and go to the server with it:
/// BEGIN costs no round trip of its own.
///
/// ```text
/// Client                                          Server
/// BEGIN, its number, the rows' statements    ───▶ runs all
///                                            ◀─── the number, and which rows were written
/// COMMIT                                     ───▶
///                                            ◀─── done
/// ```
///
/// COMMIT is never sent with the others: where its answer is lost, only the transaction's number tells how it ended, so
/// the program must have the number before.
///
/// The order of the calls: `ServerDatabase.write` calls `begin`, the store calls `wait` by `ServerDatabase.prepare`,
/// the save runs its statements, the database runs COMMIT or ROLLBACK, and calls `end`. In a transaction in which
/// nothing was asked, what waits goes with the question for its number before COMMIT.
///
/// An error in the pipeline skips the statements behind it, the waiting ones' closures are not called, and the
/// transaction is aborted. What waits is gone then: nothing is sent twice.
///
/// Used by the thread that writes.
final class ServerWriter: ServerConnection {
  /// A statement that waits, and what to do with its answer. An error of `finish` ends the transaction as an error of
  /// the server does.
  private struct Waiting {
    let sql: String
    let parameters: ServerParameters
    let finish: (any ServerResult) throws -> Void
  }

  private let connection: any ServerConnection
  private var waiting: [Waiting] = []
  /// When a transaction ended here last, in seconds since the system's start.
  private var lastUse = ProcessInfo.processInfo.systemUptime

  /// Seconds without a transaction after which the connection is tried before it is used.
  private static let mostSecondsUntried = 1.0

  init(_ connection: any ServerConnection) { self.connection = connection }

  /// Begins a transaction, or lets it begin with the next statement.
  ///
  /// ```text
  ///                                         noticed by
  /// the server has ended the session        poll(2): its farewell or the end of the stream is readable at once
  /// the host is gone, used < 1 s ago        the first statement, after tcp_user_timeout: the save fails
  /// the host is gone, used longer ago       BEGIN, which is sent by itself then: another connection is opened
  /// ```
  ///
  /// A save after a pause so costs one round trip more than one of a busy program, and never fails for a session that
  /// ended in the pause. Messages that are readable, such as notices and changed parameters, are taken in.
  ///
  /// - Throws: `ServerError` where the connection is found lost. Nothing was asked of it yet, so another one will do.
  func begin() throws {
    waiting = []
    // The server may have ended the session, which is at hand without asking it. Whether a cable was cut meanwhile
    // only an answer tells.
    var descriptors = [pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)]
    while poll(&descriptors, 1, 0) > 0 { _ = try connection.notifications() }
    if ProcessInfo.processInfo.systemUptime - lastUse > Self.mostSecondsUntried || connection.isLost {
      return try connection.run("BEGIN")
    }
    wait("BEGIN")
  }

  /// Notes that a transaction has ended.
  func end() {
    waiting = []
    lastUse = ProcessInfo.processInfo.systemUptime
  }

  /// Lets a statement go to the server with the next one. Its text is prepared like any other, so the second time only
  /// its name and parameters are sent.
  func wait(
    _ sql: String, _ parameters: ServerParameters = ServerParameters(),
    _ finish: @escaping (any ServerResult) throws -> Void = { _ in }
  ) {
    waiting.append(Waiting(sql: sql, parameters: parameters, finish: finish))
  }

  /// Runs the statements that wait, before one that cannot go with them: a script, a COPY, or rows one by one. libpq
  /// has no pipeline for these: the page "Pipeline Mode" excludes COPY and the simple query protocol.
  func flush() throws {
    if !waiting.isEmpty { _ = try pipeline([]) }
  }

  /// Sends what waits and the statements in one round trip, and gives back the results of the latter.
  func pipeline(_ statements: [(sql: String, parameters: ServerParameters)]) throws -> [any ServerResult] {
    if waiting.isEmpty { return try connection.pipeline(statements) }
    let first = waiting
    waiting = []
    let results = try connection.pipeline(first.map { ($0.sql, $0.parameters) } + statements)
    for (statement, result) in zip(first, results) { try statement.finish(result) }
    return Array(results.dropFirst(first.count))
  }

  @discardableResult
  func execute(_ sql: String, _ parameters: ServerParameters) throws -> any ServerResult {
    if waiting.isEmpty { return try connection.execute(sql, parameters) }
    let results = try pipeline([(sql, parameters)])
    guard let result = results.first else {
      throw ServerError(message: "the server has not answered a statement", isConnectionLost: true)
    }
    return result
  }

  func run(_ script: String) throws {
    try flush()
    try connection.run(script)
  }

  func stream(
    _ sql: String, _ parameters: ServerParameters, isShort: Bool, _ body: (any ServerResult) throws -> Void
  ) throws {
    try flush()
    try connection.stream(sql, parameters, isShort: isShort, body)
  }

  func copyRows(_ select: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try flush()
    try connection.copyRows(select, body)
  }

  @discardableResult
  func copy(_ sql: String, _ next: (inout [UInt8]) throws -> Bool) throws -> Int {
    try flush()
    return try connection.copy(sql, next)
  }

  func notifications() throws -> [ServerNotification] { try connection.notifications() }
  func cancel() { connection.cancel() }
  func close() { connection.close() }
  var descriptor: Int32 { connection.descriptor }
  var isInTransaction: Bool { connection.isInTransaction }
  var isLost: Bool { connection.isLost }
  var version: Int { connection.version }
}
