internal import CPostgreSQL
internal import Foundation
internal import Synchronization

/// A connection of libpq in its blocking mode.
///
/// Source: https://www.postgresql.org/docs/15/libpq.html
final class PostgreSQLConnection: ServerConnection {
  let library: LibPQ
  let handle: OpaquePointer
  /// Used under its lock, since any thread may cancel; nil for a closed connection.
  private let cancellation: Mutex<Cancellation>
  private var isClosed = false
  /// The names of prepared statements, by their text.
  var prepared: [String: String] = [:]
  var preparedCount = 0
  /// The number of statements that a session keeps prepared.
  static let mostPrepared = 500

  private struct Cancellation: ~Copyable {
    /// `nonisolated(unsafe)` of its kind: libpq's structure is never changed, and freed under the lock.
    nonisolated(unsafe) var handle: OpaquePointer?
  }

  /// Opens a connection.
  ///
  /// - Parameter connectionString: a URL or a string of libpq. Its parameters come before the defaults here.
  init(_ connectionString: String) throws {
    library = try LibPQ.load()
    let pq = library.functions
    // What is before "dbname" is a default, what is after it holds in any case.
    let parameters =
      [
        ("fallback_application_name", "CoreData"), ("connect_timeout", HostOrder.timeout(connectionString)),
        ("keepalives_idle", "5"), ("keepalives_interval", "2"), ("keepalives_count", "3"),
        ("tcp_user_timeout", "10000"),
        ("dbname", connectionString), ("client_encoding", "UTF8"),
      ] + HostOrder.parameters(connectionString)
    let keys = parameters.map { strdup($0.0) } + [nil]
    let values = parameters.map { strdup($0.1) } + [nil]
    defer { for text in keys + values { free(text) } }
    let made = keys.map { UnsafePointer($0) }.withUnsafeBufferPointer { keys in
      values.map { UnsafePointer($0) }.withUnsafeBufferPointer { values in
        pq.PQconnectdbParams(keys.baseAddress, values.baseAddress, 1)
      }
    }
    guard let made else { throw ServerError(message: "out of memory", isConnectionLost: true) }
    handle = made
    guard pq.PQstatus(made) == CONNECTION_OK else {
      let message = Self.message(pq.PQerrorMessage(made))
      pq.PQfinish(made)
      cancellation = Mutex(Cancellation(handle: nil))
      isClosed = true
      throw ConnectionFailure.error(message)
    }
    HostOrder.note(made, library, connectionString)
    cancellation = Mutex(Cancellation(handle: pq.PQgetCancel(made)))
    _ = pq.PQsetNoticeProcessor(made, { _, _ in }, nil)
    guard version >= Self.leastVersion else {
      let found = "\(version / 10_000).\(version % 10_000)"
      close()
      throw ServerError(
        message:
          "the server is PostgreSQL \(found), which is too old: install version \(Self.leastVersion / 10_000) or "
          + "later", state: "0A000")
    }
    if let encoding = pq.PQparameterStatus(made, "server_encoding").map({ String(cString: $0) }), encoding != "UTF8" {
      close()
      throw ServerError(
        message: "the database has the encoding \(encoding), in which not every text can be stored: make one with "
          + "createdb --encoding UTF8 --template template0", state: "0A000")
    }
  }

  deinit { close() }

  /// `pg_current_xact_id()` came with version 13.
  private static let leastVersion = 130_000

  func close() {
    if isClosed { return }
    isClosed = true
    cancellation.withLock {
      pq.PQfreeCancel($0.handle)
      $0.handle = nil
    }
    pq.PQfinish(handle)
  }

  @inline(__always) var pq: libpq_functions { library.functions }
  var version: Int { Int(pq.PQserverVersion(handle)) }
  var descriptor: Int32 { isClosed ? -1 : pq.PQsocket(handle) }
  var isLost: Bool { isClosed || pq.PQstatus(handle) == CONNECTION_BAD }
  var isInTransaction: Bool {
    if isClosed { return false }
    return switch pq.PQtransactionStatus(handle) {
    case PQTRANS_INTRANS, PQTRANS_INERROR: true
    default: false
    }
  }

  func cancel() {
    cancellation.withLock {
      guard let handle = $0.handle else { return }
      var message = [CChar](repeating: 0, count: 256)
      // An error means that the server is gone, which the statement itself finds out.
      _ = pq.PQcancel(handle, &message, Int32(message.count))
    }
  }

  // MARK: Errors

  private static func message(_ text: UnsafePointer<CChar>?) -> String {
    text.map { String(cString: $0).trimmingCharacters(in: .whitespacesAndNewlines) } ?? ""
  }

  /// The error of the connection itself.
  func connectionError() -> ServerError {
    if isClosed { return ServerError(message: "the connection is closed", isConnectionLost: true) }
    return ServerError(message: Self.message(pq.PQerrorMessage(handle)), isConnectionLost: isLost)
  }

  /// The error of a result.
  func error(of result: OpaquePointer) -> ServerError {
    func field(_ code: Character) -> String? {
      pq.PQresultErrorField(result, Int32(code.asciiValue ?? 0)).map { String(cString: $0) }
    }
    return ServerError(
      message: field("M") ?? Self.message(pq.PQresultErrorMessage(result)), state: field("C") ?? "",
      constraint: field("n"), isConnectionLost: isLost)
  }

  func checkOpen() throws { if isClosed { throw connectionError() } }
}

/// The sentences for connections that cannot be opened. libpq gives no codes here, only the server's text.
enum ConnectionFailure {
  static func error(_ message: String) -> ServerError {
    // libpq adds hints and details below what happened, and tries one host after the other.
    let lines = message.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    let line = lines.last { line in !additions.contains { line.hasPrefix($0) } } ?? message
    return ServerError(
      message: advice(message).map { "\(line): \($0)" } ?? line, state: state(message), isConnectionLost: true)
  }

  /// How libpq's own additions to what happened begin.
  private static let additions = [
    "Is the server running", "DETAIL:", "This probably means the server terminated", "before or while processing",
  ]

  /// The server's code for what only a person can mend; empty for what may be over soon.
  private static func state(_ message: String) -> String {
    if message.contains("password authentication failed") || message.contains("no password supplied") { return "28P01" }
    if isMistyped(message) { return "F0000" }
    if message.contains("no pg_hba.conf entry") || message.contains("Peer authentication failed") { return "28000" }
    guard message.contains("does not exist") else { return "" }
    return message.contains("database \"") ? "3D000" : message.contains("role \"") ? "28000" : ""
  }

  /// Whether libpq does not understand the URL: a parameter that it does not know, or a value that it cannot have.
  private static func isMistyped(_ message: String) -> Bool {
    ["invalid URI", "invalid connection option", "invalid port number", "invalid integer value"].contains {
      message.contains($0)
    } || (message.hasPrefix("invalid ") && message.contains(" value: \""))
  }

  private static func advice(_ message: String) -> String? {
    func has(_ text: String) -> Bool { message.contains(text) }
    if isMistyped(message) { return "see the parameters of libpq's URLs, and ?schema=NAME of this store" }
    if has("password authentication failed") || has("no password supplied") {
      return "check user and password in the store's URL, PGPASSWORD or ~/.pgpass"
    }
    if has("role \"") && has("does not exist") { return "create the user with createuser, or name another in the URL" }
    if has("database \"") && has("does not exist") { return "create it with createdb, or name another in the URL" }
    if has("no pg_hba.conf entry") { return "let this user and host in by a line in the server's pg_hba.conf" }
    if has("Peer authentication failed") { return "name the user of this process, or another way in pg_hba.conf" }
    if has("too many clients") || has("remaining connection slots") {
      return "raise max_connections at the server, or lower NSPersistentStoreConnectionPoolMaxSizeKey"
    }
    if has("starting up") || has("shutting down") { return "try again when the server has started" }
    if has("Connection refused") || has("No such file or directory") || has("timeout expired") {
      return "check that the server runs and that host and port in the store's URL are its own"
    }
    if has("could not translate host name") { return "check the host in the store's URL" }
    return nil
  }
}
