internal import CPostgreSQL
internal import Foundation

/// Statements: prepared once, then run by name.
extension PostgreSQLConnection {
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

  /// The plan's columns have changed, or a program has deallocated it.
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

  /// The name of the prepared statement with the text.
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

  func newName() -> String {
    preparedCount += 1
    return "s\(preparedCount)"
  }

  func forget(_ sql: String) {
    guard let name = prepared.removeValue(forKey: sql) else { return }
    pq.PQclear(pq.PQexec(handle, "DEALLOCATE \(name)"))
  }

  /// Forgets all statements if there are too many. In a failed transaction that is not possible, and not urgent.
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

  /// Gives the body the parameters as libpq wants them.
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

  /// The result, or its error.
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

  /// Reads results until there are no more, so that the connection can be used again.
  func drain() {
    while let result = pq.PQgetResult(handle) { pq.PQclear(result) }
  }

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
