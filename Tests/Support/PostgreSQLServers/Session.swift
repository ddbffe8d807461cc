import CPostgreSQL
import Foundation

/// A session of a test's own at a server, by libpq: a process of `psql` for each statement takes 40 ms of the
/// processor.
struct Session {
  /// Loaded once; a test that needs a server finds it installed.
  private static let libpq: libpq_functions = {
    var functions = libpq_functions()
    guard let library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL), libpq_fill(&functions, library) == nil else {
      fatalError("libpq is not installed (package libpq5).")
    }
    return functions
  }()

  private let connection: OpaquePointer?

  /// - Parameter address: as libpq takes it.
  init(_ address: String) {
    let (name, value) = (strdup("dbname"), strdup(address))
    defer {
      free(name)
      free(value)
    }
    var names: [UnsafePointer<CChar>?] = [UnsafePointer(name), nil]
    var values: [UnsafePointer<CChar>?] = [UnsafePointer(value), nil]
    // The last argument: the value is a whole address.
    connection = Self.libpq.PQconnectdbParams(&names, &values, 1)
    // Notices would go to the standard error.
    _ = Self.libpq.PQsetNoticeProcessor(connection, { _, _ in }, nil)
  }

  /// Ends the session.
  func close() { Self.libpq.PQfinish(connection) }

  /// Runs statements as one simple query: one transaction, unless they say otherwise.
  ///
  /// - Returns: the rows of all their results, a line each, the values divided by `|`, as `psql -At` prints them.
  func run(_ script: String) throws -> String {
    let libpq = Self.libpq
    guard libpq.PQstatus(connection) == CONNECTION_OK, libpq.PQsendQuery(connection, script) == 1 else {
      throw failure(script)
    }
    var lines: [String] = []
    var failure: PostgreSQLServer.ScriptFailure?
    while try answers(script), let result = libpq.PQgetResult(connection) {
      defer { libpq.PQclear(result) }
      switch libpq.PQresultStatus(result) {
      case PGRES_TUPLES_OK:
        let columns = 0..<libpq.PQnfields(result)
        lines += (0..<libpq.PQntuples(result)).map { row in
          columns.map { libpq.PQgetvalue(result, row, $0).map { String(cString: $0) } ?? "" }.joined(separator: "|")
        }
      case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: break
      default: failure = self.failure(script)
      }
    }
    if let failure { throw failure }
    return lines.joined(separator: "\n").trimmingCharacters(in: .newlines)
  }

  /// Waits for the next result, so that a server that stands still ends its test and not the run of all tests.
  private func answers(_ script: String) throws -> Bool {
    let libpq = Self.libpq
    while libpq.PQisBusy(connection) == 1 {
      var socket = pollfd(fd: libpq.PQsocket(connection), events: Int16(POLLIN), revents: 0)
      guard poll(&socket, 1, Int32(TestLimit.seconds * 1000)) > 0, libpq.PQconsumeInput(connection) == 1 else {
        throw failure(script)
      }
    }
    return true
  }

  private func failure(_ script: String) -> PostgreSQLServer.ScriptFailure {
    PostgreSQLServer.ScriptFailure(
      script: script, complaint: Self.libpq.PQerrorMessage(connection).map { String(cString: $0) } ?? "")
  }
}
