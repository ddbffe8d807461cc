internal import CPostgreSQL
internal import Foundation

/// Statements whose rows, parameters or number are large: pipelines, rows one by one, COPY.
///
/// After each of them the connection must be ready for the next statement, no matter how it ended:
///
/// ```text
/// pipeline        all results up to the sync are read, then PQexitPipelineMode; it closes where that fails
/// stream          results are read until NULL; a body that throws sends a cancel request first
/// copyRows        messages are read until -1, then the final result; any other end closes the connection
/// copy            PQputCopyEnd in any case, then results until NULL
/// ```
///
/// A connection that is closed here counts as lost, so its owner opens another one, and the server rolls back what was
/// open.
extension PostgreSQLConnection {
  /// Runs statements one after the other with one round trip.
  ///
  /// ```text
  /// Client                                             Server
  /// PQsendPrepare "s8", PQsendQueryPrepared "s8"  ──┐
  /// PQsendQueryPrepared "s9" (known already)        ├─▶ runs s8, s9, s10; each sees what those before it wrote
  /// PQsendPrepare "s10", PQsendQueryPrepared "s10"  │
  /// PQpipelineSync                                ──┘
  ///                                               ◀──── ParseComplete, rows, rows, ParseComplete, rows, ReadyForQuery
  /// PQgetResult: s8 prepared, NULL, s8's rows, NULL, s9's rows, NULL, s10 prepared, NULL, s10's rows, NULL, the sync
  /// ```
  ///
  /// After an error the server skips everything up to the sync, and libpq gives PGRES_PIPELINE_ABORTED for each of the
  /// skipped statements. The first error is thrown, no result is given, and the transaction has failed. Statements that
  /// were prepared before the error stay so.
  ///
  /// Without BEGIN among them the statements up to the sync are one transaction, which the sync commits. Callers do not
  /// rely on that: all of them are inside of a transaction. A single statement goes the way of `execute`.
  ///
  /// Source: https://www.postgresql.org/docs/15/libpq-pipeline-mode.html. In blocking mode libpq reads what arrives
  /// while it waits to send, so the two sides do not wait for each other.
  func pipeline(_ statements: [(sql: String, parameters: ServerParameters)]) throws -> [any ServerResult] {
    try checkOpen()
    if statements.count == 1 { return [try execute(statements[0].sql, statements[0].parameters)] }
    makeRoom()
    guard pq.PQenterPipelineMode(handle) == 1 else { throw connectionError() }
    var made: [String: String] = [:]
    /// For each result the text that it prepares; nil for those of statements.
    var expected: [String?] = []
    var isSent = true
    for (sql, parameters) in statements where isSent {
      let name = prepared[sql] ?? made[sql] ?? newName()
      if prepared[sql] == nil && made[sql] == nil {
        made[sql] = name
        isSent = parameters.types.withUnsafeBufferPointer {
          pq.PQsendPrepare(handle, name, sql, Int32($0.count), $0.baseAddress) == 1
        }
        expected.append(sql)
      }
      isSent =
        isSent
        && withParameters(parameters) { values, lengths, formats in
          pq.PQsendQueryPrepared(handle, name, Int32(parameters.count), values, lengths, formats, 1) == 1
        }
      expected.append(nil)
    }
    guard isSent, pq.PQpipelineSync(handle) == 1 else {
      let error = connectionError()
      // It is not known which statements the server has got.
      close()
      throw ServerError(message: error.message, isConnectionLost: true)
    }
    return try readPipeline(expected, made)
  }

  /// Reads the results of a pipeline in the order in which they were asked for, to the end, also after an error: the
  /// connection can be used again only then.
  private func readPipeline(_ expected: [String?], _ made: [String: String]) throws -> [any ServerResult] {
    var results: [any ServerResult] = []
    var failure: ServerError?
    for text in expected {
      guard let result = pq.PQgetResult(handle) else {
        failure = failure ?? connectionError()
        break
      }
      let status = pq.PQresultStatus(result)
      switch status {
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
        if let text {
          prepared[text] = made[text]
          pq.PQclear(result)
        } else {
          results.append(PostgreSQLResult(result, library))
        }
      case PGRES_PIPELINE_ABORTED: pq.PQclear(result)
      default:
        failure = failure ?? error(of: result)
        pq.PQclear(result)
      }
      // Each statement's results end with nothing.
      if !isLost { while let more = pq.PQgetResult(handle) { pq.PQclear(more) } }
      if isLost { break }
    }
    if !isLost, let end = pq.PQgetResult(handle) { pq.PQclear(end) }
    if !isLost, pq.PQexitPipelineMode(handle) != 1 {
      failure = failure ?? connectionError()
      close()
    }
    if let failure { throw failure }
    return results
  }

  /// Runs one statement and gives the body its rows as they arrive.
  ///
  /// ```text
  /// isShort                  all rows in one result, in libpq's memory: the cheapest for each row, bounded by callers
  /// libpq 17 and later       results of 128 rows
  /// libpq 14 to 16           a result for each row
  /// ```
  ///
  /// Rows that the body has had cannot be taken back, so a plan that is outdated is only renewed before the first one.
  /// An error of the server in the middle (a cancelled statement, a division by zero in row 1,000) comes after the rows
  /// before it.
  ///
  /// Source: https://www.postgresql.org/docs/17/libpq-single-row-mode.html. libpq gives many rows at a time from
  /// version 17 on. Before that it makes a result with all names and types for each row, which costs more than the row.
  func stream(
    _ sql: String, _ parameters: ServerParameters, isShort: Bool, _ body: (any ServerResult) throws -> Void
  ) throws {
    if isShort { return try body(execute(sql, parameters)) }
    try checkOpen()
    var hasRows = false
    do {
      try streamOnce(prepare(sql, parameters), parameters) {
        hasRows = true
        try body($0)
      }
    } catch let error as ServerError where isOutdated(error) && !isInTransaction && !hasRows {
      forget(sql)
      try streamOnce(prepare(sql, parameters), parameters, body)
    }
  }

  /// The number of rows in a chunk. More rows would not make a fetch faster.
  private static let chunk: Int32 = 128

  /// One attempt. When the body throws, the server is asked to stop, and what it has sent by then is read and
  /// dropped: otherwise it would send the rest of a table, which nothing needs.
  private func streamOnce(
    _ name: String, _ parameters: ServerParameters, _ body: (any ServerResult) throws -> Void
  ) throws {
    let isSent = withParameters(parameters) { values, lengths, formats in
      pq.PQsendQueryPrepared(handle, name, Int32(parameters.count), values, lengths, formats, 1) == 1
    }
    guard isSent, (pq.PQsetChunkedRowsMode?(handle, Self.chunk) ?? pq.PQsetSingleRowMode(handle)) == 1 else {
      let error = connectionError()
      drain()
      throw error
    }
    var rows: PostgreSQLResult?
    while let result = pq.PQgetResult(handle) {
      do {
        let status = pq.PQresultStatus(result)
        // Whether the session ends with this error is known only when all results are read.
        if status == PGRES_FATAL_ERROR { drain() }
        if let rows, status == PGRES_SINGLE_TUPLE {
          rows.replace(result)
        } else {
          rows = try checked(result)
        }
        if let rows, rows.rowCount > 0 { try body(rows) }
      } catch {
        // The rest is not wanted: it need not be sent.
        if !(error is ServerError) { cancel() }
        drain()
        throw error
      }
    }
    if isLost { throw connectionError() }
  }

  /// Runs a SELECT as `COPY (SELECT …) TO STDOUT (FORMAT binary)`.
  ///
  /// ```text
  /// Client                                                    Server
  /// COPY (SELECT t0._key::bigint, … FROM "app"."Book" t0)
  ///      TO STDOUT (FORMAT binary)                       ───▶ plans it, each time
  ///                                                      ◀─── CopyOutResponse, CopyData (header), CopyData (row) …
  ///                                                      ◀─── CopyData (-1), CopyDone, CommandComplete
  /// ```
  ///
  /// libpq hands the messages over as they came, without results around them; `CopiedRows` finds the values in them. A
  /// COPY takes no parameters and cannot be prepared.
  ///
  /// `PQgetlineAsync` takes the rows that have arrived: it copies each into memory of ours. `PQgetCopyData`, which
  /// allocates memory for each, only waits for the next one. The body gets about a hundred rows at a time.
  ///
  /// ```text
  /// PQgetlineAsync, until it gives nothing   the rows in libpq's memory
  /// PQconsumeInput                           what the socket has meanwhile, at most 16 KiB; does not wait
  /// … both again, until nothing comes
  /// a pause, in a long COPY                  the rows gather in the socket
  /// PQgetCopyData                            waits
  /// ```
  ///
  /// A server sends 8 KiB at a time. Without the pause each of them wakes this thread up, if it is faster than the
  /// server, and that takes time on both sides. The page "What work costs" has the figures.
  ///
  /// Source: https://www.postgresql.org/docs/15/libpq-copy.html, with "Obsolete Functions for COPY". All versions of
  /// libpq have the obsolete one. It ends as `PQgetCopyData` does, so `PQgetResult` may follow either.
  func copyRows(_ select: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try checkOpen()
    let start = pq.PQexec(handle, "COPY (\(select)) TO STDOUT (FORMAT binary)")
    guard pq.PQresultStatus(start) == PGRES_COPY_OUT else {
      _ = try checked(start)
      throw ServerError(message: "the statement gives no rows to copy")
    }
    pq.PQclear(start)
    var failure: (any Error)?
    func give(_ messages: UnsafeRawBufferPointer) {
      do {
        if failure == nil { try body(messages) }
      } catch {
        failure = error
        // The rest is not wanted: it need not be sent.
        cancel()
      }
    }
    var messages = GrowingBytes(capacity: 2 * Self.messagesAtOnce)
    var byteCount = 0
    var isAtEnd = false
    while !isAtEnd {
      isAtEnd = takeMessages(&messages)
      if messages.count > 0 {
        byteCount += messages.count
        messages.withBytes(give)
        messages.clear()
        // Of an error `PQgetCopyData` says it again.
        if !isAtEnd { _ = pq.PQconsumeInput(handle) }
      } else if !isAtEnd {
        if byteCount >= Self.longCopy { Thread.sleep(forTimeInterval: Self.pause) }
        var message: UnsafeMutablePointer<CChar>?
        let count = pq.PQgetCopyData(handle, &message, 0)
        guard count >= -1 else {
          // It is not known how many rows are still on their way.
          let error = connectionError()
          close()
          throw failure ?? ServerError(message: error.message, isConnectionLost: true)
        }
        isAtEnd = count == -1
        if !isAtEnd { give(UnsafeRawBufferPointer(start: message, count: Int(count))) }
        pq.PQfreemem(message)
      }
    }
    let end = pq.PQgetResult(handle)
    // Whether the session ends with an error is known only when all results are read.
    drain()
    if let failure {
      pq.PQclear(end)
      throw failure
    }
    _ = try checked(end)
  }

  /// The number of bytes from which messages are handed over.
  private static let messagesAtOnce = 16_384
  /// The number of bytes from which a COPY counts as long: a pause at its end is then a small part of its time.
  private static let longCopy = 65_536
  /// In seconds. A server sends less in that time than the socket holds.
  private static let pause = 0.000_1

  /// Takes the messages that libpq has read from the socket, up to some number of bytes, without waiting for more.
  ///
  /// The messages are whole: one for which there was no room is taken in parts, and the memory grows for it.
  ///
  /// - Returns: whether the COPY has ended.
  private func takeMessages(_ messages: inout GrowingBytes) -> Bool {
    var isPart = false
    while isPart || messages.count < Self.messagesAtOnce {
      var count: Int32 = 0
      messages.fill { start, room in
        count = pq.PQgetlineAsync(handle, start.assumingMemoryBound(to: CChar.self), Int32(clamping: room))
        // Where the room is used up, the rest of the message may follow.
        isPart = count == room
        return Int(max(0, count))
      }
      if count <= 0 { return count < 0 }
    }
    return false
  }

  /// Runs a `COPY … FROM STDIN`.
  ///
  /// An error of `next` ends the COPY by PQputCopyEnd with a message: the server answers 57014 and takes the rows back,
  /// the transaction has failed, and `next`'s own error is thrown, which says more than the server's. A unique value
  /// that another row has is known at the end only (23505).
  ///
  /// Source: https://www.postgresql.org/docs/15/libpq-copy.html
  func copy(_ sql: String, _ next: (inout [UInt8]) throws -> Bool) throws -> Int {
    try checkOpen()
    guard let start = pq.PQexec(handle, sql) else { throw connectionError() }
    guard pq.PQresultStatus(start) == PGRES_COPY_IN else {
      _ = try checked(start)
      throw ServerError(message: "the statement is no COPY … FROM STDIN")
    }
    pq.PQclear(start)
    var bytes: [UInt8] = []
    do {
      while try next(&bytes) {
        if bytes.count >= 65_536 { try send(&bytes) }
      }
      try send(&bytes)
    } catch {
      _ = pq.PQputCopyEnd(handle, "the rows could not be made")
      drain()
      throw error
    }
    guard pq.PQputCopyEnd(handle, nil) == 1 else { throw connectionError() }
    let end = pq.PQgetResult(handle)
    defer { drain() }
    return try checked(end).affectedRows
  }

  private func send(_ bytes: inout [UInt8]) throws {
    if bytes.isEmpty { return }
    let isSent = bytes.withUnsafeBytes {
      pq.PQputCopyData(handle, $0.bindMemory(to: CChar.self).baseAddress, Int32($0.count)) == 1
    }
    bytes.removeAll(keepingCapacity: true)
    if !isSent { throw connectionError() }
  }
}
