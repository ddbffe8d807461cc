internal import CPostgreSQL
internal import Foundation

/// Statements: prepared once, then run by name.
extension PostgreSQLConnection {
  /// Runs a statement, which it prepares at its first use.
  ///
  /// ```text
  /// Client                                              Server
  /// Parse "s9" SELECT count(*) … WHERE … > $1      ───▶ (the first time only)
  ///                                                ◀─── ParseComplete
  /// Bind "s9" with $1, Execute                     ───▶
  ///                                                ◀─── rows in the binary format
  /// ```
  ///
  /// Where the tables have changed since, the server refuses the plan: 0A000, "cached plan must not change result
  /// type". Outside of a transaction the statement is prepared anew and run once more, which the caller does not
  /// notice. Inside of one it fails with its transaction, as it would after a migration by another program anyway.
  ///
  /// The server plans a prepared statement for its parameters five times, and then takes a generic plan if its cost is
  /// not higher (page "PREPARE"). So statements about one row soon need no planning; those with arrays are planned each
  /// time as long as that looks cheaper.
  func execute(_ sql: String, _ parameters: ServerParameters) throws -> any ServerResult {
    try checkOpen()
    do {
      return try run(prepare(sql, parameters), parameters)
    } catch let error as ServerError where isOutdated(error) && !isInTransaction {
      // Tables have changed since the statement was prepared.
      forget(sql)
      return try run(prepare(sql, parameters), parameters)
    }
  }

  /// The plan's columns have changed (0A000), or a program has deallocated the statement (26000,
  /// `invalid_sql_statement_name`).
  func isOutdated(_ error: ServerError) -> Bool { error.state == "0A000" || error.state == "26000" }

  private func run(_ name: String, _ parameters: ServerParameters) throws -> any ServerResult {
    let result = withParameters(parameters) { values, lengths, formats in
      pq.PQexecPrepared(handle, name, Int32(parameters.count), values, lengths, formats, 1)
    }
    return try checked(result)
  }

  func run(_ script: String) throws {
    try checkOpen()
    _ = try checked(pq.PQexec(handle, script))
  }

  // MARK: Preparing

  /// The name of the prepared statement with the text. The types of the parameters are sent along, so the server
  /// guesses none; a text that is used with other types at another time would need another name, and no text here is.
  func prepare(_ sql: String, _ parameters: ServerParameters) throws -> String {
    if let name = prepared[sql] { return name }
    makeRoom()
    let name = newName()
    let result = parameters.types.withUnsafeBufferPointer { types in
      pq.PQprepare(handle, name, sql, Int32(types.count), types.baseAddress)
    }
    _ = try checked(result)
    prepared[sql] = name
    return name
  }

  /// Names are never used again in a session: in a pipeline the old statement may still be there.
  func newName() -> String {
    preparedCount += 1
    return "s\(preparedCount)"
  }

  /// Forgets one statement. An error of DEALLOCATE means that the server has it no longer, which is the aim.
  func forget(_ sql: String) {
    guard let name = prepared.removeValue(forKey: sql) else { return }
    pq.PQclear(pq.PQexec(handle, "DEALLOCATE \(name)"))
  }

  /// Forgets all statements if there are too many. In a failed transaction that is not possible (25P02), and not
  /// urgent.
  func makeRoom() {
    guard prepared.count >= Self.mostPrepared, pq.PQtransactionStatus(handle) != PQTRANS_INERROR else { return }
    pq.PQclear(pq.PQexec(handle, "DEALLOCATE ALL"))
    prepared = [:]
  }

  /// The place of values without bytes. Never read.
  ///
  /// `nonisolated(unsafe)`: a constant of the program.
  nonisolated(unsafe) private static let nothing = UnsafeRawPointer(StaticString("").utf8Start)
    .assumingMemoryBound(to: CChar.self)

  /// Gives the body the parameters as libpq wants them: an array of pointers, one of lengths and one of formats, 1 for
  /// binary. The pointers lead into one buffer with the bytes of all values, so a row's values are not allocated one by
  /// one.
  func withParameters<T>(
    _ parameters: ServerParameters,
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> T
  ) -> T {
    if parameters.count == 0 { return body(nil, nil, nil) }
    return parameters.bytes.withUnsafeBytes { bytes in
      // An empty value needs a pointer too, or it would be NULL.
      let start = bytes.bindMemory(to: CChar.self).baseAddress ?? Self.nothing
      return withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: parameters.count) { values in
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: parameters.count) { formats in
          formats.initialize(repeating: 1)
          for index in 0..<parameters.count {
            let value = parameters.lengths[index] < 0 ? nil : start + parameters.starts[index]
            values.initializeElement(at: index, to: value)
          }
          return parameters.lengths.withUnsafeBufferPointer { lengths in
            body(values.baseAddress, lengths.baseAddress, formats.baseAddress)
          }
        }
      }
    }
  }

  // MARK: Results

  /// The result, or its error. A statement that ended in COPY is an error here: its rows would stay unread.
  func checked(_ result: OpaquePointer?) throws -> PostgreSQLResult {
    guard let result else { throw connectionError() }
    switch pq.PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_SINGLE_TUPLE, PGRES_EMPTY_QUERY, LIBPQ_TUPLES_CHUNK:
      return PostgreSQLResult(result, library)
    case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
      pq.PQclear(result)
      throw ServerError(message: "COPY is run by copy(_:_:)")
    default:
      let error = error(of: result)
      pq.PQclear(result)
      throw error
    }
  }

  /// Reads results until there are no more, so that the connection can be used again: libpq takes no new statement
  /// before it has given NULL for the last one (page "Asynchronous Command Processing").
  func drain() {
    while let result = pq.PQgetResult(handle) { pq.PQclear(result) }
  }

  /// What has arrived by NOTIFY. `PQconsumeInput` reads what the socket has without waiting, and fails at the end of
  /// the stream. Notifications also arrive with the answers of other statements, and wait in libpq's memory.
  func notifications() throws -> [ServerNotification] {
    try checkOpen()
    guard pq.PQconsumeInput(handle) == 1 else { throw connectionError() }
    var notifications: [ServerNotification] = []
    while let notification = pq.PQnotifies(handle) {
      notifications.append(
        ServerNotification(
          channel: String(cString: notification.pointee.relname), payload: String(cString: notification.pointee.extra),
          sender: notification.pointee.be_pid))
      pq.PQfreemem(notification)
    }
    return notifications
  }
}
