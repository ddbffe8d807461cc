internal import CPostgreSQL
internal import Foundation
internal import Synchronization

/// A connection of libpq in its blocking mode: a call returns when the server's answer is there. One thread at a time
/// uses it; `cancel()` alone may come from another one.
///
/// Which of libpq's ways each method takes, and what that costs in round trips:
///
/// | method | way | round trips |
/// |---|---|---|
/// | `execute` | `PQprepare` once for each text, then `PQexecPrepared` | 2 the first time, then 1 |
/// | `pipeline` | `PQsendPrepare`, `PQsendQueryPrepared`, one `PQpipelineSync` | 1, also the first time |
/// | `run` | `PQexec`: the simple query protocol, several statements in one text | 1 |
/// | `stream` | `PQsendQueryPrepared`, then results of 128 rows, or of one | 1, while the rows arrive |
/// | `copyRows` | `COPY (SELECT …) TO STDOUT`, `PQgetlineAsync` for each row | 1, while the rows arrive |
/// | `copy` | `COPY … FROM STDIN`, `PQputCopyData` for each 64 KiB | 2 |
///
/// The answers are in the binary format except for `run`, whose results are not read. Prepared statements belong to the
/// session: they outlive a transaction and its ROLLBACK, and go with the connection.
///
/// `isLost` is true after an error that ended the session, whichever method met it. Its owner drops the object
/// then.
///
/// Source: https://www.postgresql.org/docs/15/libpq.html
final class PostgreSQLConnection: ServerConnection {
  let library: LibPQ
  let handle: OpaquePointer
  /// What a cancel request needs: the server's address and a secret that the server gave at the beginning. Used under
  /// its lock, since any thread may cancel; nil for a closed connection.
  private let cancellation: Mutex<Cancellation>
  private var isClosed = false
  /// The names of prepared statements, by their text. Only those that the server has confirmed: one whose preparation
  /// failed in a pipeline is not here.
  var prepared: [String: String] = [:]
  var preparedCount = 0
  /// The number of statements that a session keeps prepared. A program with more of them than this forgets all and
  /// begins anew: each costs the server memory for its plan, and no list says which are still of use.
  static let mostPrepared = 500

  private struct Cancellation: ~Copyable {
    /// `nonisolated(unsafe)` of its kind: libpq's structure is never changed, and freed under the lock.
    nonisolated(unsafe) var handle: OpaquePointer?
  }

  /// Opens a connection, in the time that the round trips of TLS and authentication take.
  ///
  /// ```text
  /// before "dbname"                                    defaults, which the URL overrides
  ///     fallback_application_name=CoreData             what pg_stat_activity shows
  ///     connect_timeout=10                             for each host; 3 where there are several
  ///     keepalives_idle=5, _interval=2, _count=3       a server that is gone is noticed after eleven seconds
  ///     tcp_user_timeout=10000                         and after ten where data is on its way to it
  /// dbname=postgresql://…                              the store's URL, which libpq takes apart
  /// after "dbname"                                     hold in any case
  ///     client_encoding=UTF8
  ///     host=…, port=…, hostaddr=…                     the order of the hosts: `HostOrder`
  /// ```
  ///
  /// The rule is libpq's: of two values for one parameter the later one counts, and a URL in `dbname` stands at its
  /// place (page "Database Connection Control Functions", `expand_dbname`).
  ///
  /// Servers before 13 are refused, and databases in another encoding: their texts could not be compared with those in
  /// memory.
  ///
  /// - Parameter connectionString: a URL or a string of libpq. Its parameters override the defaults above.
  /// - Throws: `ServerError` with `isConnectionLost` where no connection was made, and what to do about it in its
  ///   message; with 0A000 for a server or a database that cannot hold a store.
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
    if let message = Self.failure(to: made, pq) {
      pq.PQfinish(made)
      cancellation = Mutex(Cancellation(handle: nil))
      isClosed = true
      throw ConnectionFailure.error(message)
    }
    HostOrder.note(made, library, connectionString)
    cancellation = Mutex(Cancellation(handle: pq.PQgetCancel(made)))
    _ = pq.PQsetNoticeProcessor(made, { _, _ in }, nil)
    guard version >= Self.leastVersion else {
      let release = "\(version / 10_000).\(version % 10_000)"
      close()
      throw ServerError(
        message:
          "the server is PostgreSQL \(release), which is too old: install version \(Self.leastVersion / 10_000) or "
          + "later", state: "0A000")
    }
    if let encoding = pq.PQparameterStatus(made, "server_encoding").map({ String(cString: $0) }), encoding != "UTF8" {
      close()
      throw ServerError(
        message: "the database has the encoding \(encoding), in which not every text can be stored: make one with "
          + "createdb --encoding UTF8 --template template0", state: "0A000")
    }
  }

  /// Why a connection is not open, with the server's code if the server has refused it; nil if it is open.
  ///
  /// libpq gives no code for a connection, only the server's words, in the server's language. The same connection is
  /// opened once more with words that begin with the code:
  ///
  /// ```text
  /// PQERRORS_DEFAULT    FATAL:  Datenbank »shop« existiert nicht
  /// PQERRORS_VERBOSE    FATAL:  3D000: Datenbank »shop« existiert nicht
  /// ```
  ///
  /// So a refusal costs a second attempt. That one may succeed, where the server has finished starting meanwhile: then
  /// it is the connection.
  private static func failure(to connection: OpaquePointer, _ pq: libpq_functions) -> String? {
    guard pq.PQstatus(connection) != CONNECTION_OK else { return nil }
    let first = message(pq.PQerrorMessage(connection))
    guard ConnectionFailure.isOfServer(first) else { return first }
    _ = pq.PQsetErrorVerbosity(connection, PQERRORS_VERBOSE)
    pq.PQreset(connection)
    defer { _ = pq.PQsetErrorVerbosity(connection, PQERRORS_DEFAULT) }
    return pq.PQstatus(connection) == CONNECTION_OK ? nil : message(pq.PQerrorMessage(connection))
  }

  deinit { close() }

  /// 13, with which `pg_current_xact_id()` and `normalize()` came: the number of a transaction, and the functions of
  /// texts.
  private static let leastVersion = 130_000

  /// Ends the session: libpq sends Terminate, and the server rolls an open transaction back. Further uses are errors,
  /// and a further call does nothing.
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
  /// Whether BEGIN was run and neither COMMIT nor ROLLBACK after it, also in a failed transaction. libpq knows it from
  /// each ReadyForQuery of the server, so this costs no round trip.
  var isInTransaction: Bool {
    if isClosed { return false }
    return switch pq.PQtransactionStatus(handle) {
    case PQTRANS_INTRANS, PQTRANS_INERROR: true
    default: false
    }
  }

  /// Makes the running statement fail with 57014 (`query_canceled`). `PQcancel` opens a connection for the request, and
  /// returns when the server has taken it, which is not when the statement has ended. A connection that runs nothing is
  /// not affected.
  ///
  /// Source: the page "Canceling Queries in Progress".
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

  /// The error of a result, by the fields of the server's message: C is the SQLSTATE, M the sentence, n the constraint
  /// or index. The message may be in any language, so decisions are made by the code only.
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

/// The sentences for connections that cannot be opened: by the server's code, or else by libpq's own words, which are
/// English.
///
/// ```text
/// connection to server at "db" (10.0.0.7), port 5432 failed: FATAL:  3D000: database "shop" does not exist
/// ─▶ connection to server at "db" (10.0.0.7), port 5432 failed: FATAL:  database "shop" does not exist: create
///    it with createdb, or name another in the URL                                              (state 3D000)
///
/// connection to server on socket "/run/postgresql/.s.PGSQL.5432" failed: No such file or directory
/// 	Is the server running locally and accepting connections on that socket?
/// ─▶ connection to server on socket "…" failed: No such file or directory: check that the server runs and
///    that host and port in the store's URL are its own                                         (no state)
/// ```
///
/// An error without a code may be over soon; so may 57P03, of a server that is starting. For the others a person has to
/// act.
enum ConnectionFailure {
  /// The error for libpq's text. Of several hosts, the last one that the server itself refused is told, or else the
  /// last one.
  static func error(_ message: String) -> ServerError {
    // libpq adds hints and details below what happened, and tries one host after the other.
    let lines = message.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    let last = lines.last { line in !additions.contains { line.hasPrefix($0) } } ?? message
    let (line, code) = lines.reversed().lazy.map(coded).first { $0.code != nil } ?? (last, nil)
    let state = code ?? ownState(message)
    return ServerError(
      message: (advice(state) ?? advice(words: message)).map { "\(line): \($0)" } ?? line, state: state,
      isConnectionLost: true)
  }

  /// Whether the words are a server's: behind the severity of its errors are two spaces.
  ///
  /// Source: https://www.postgresql.org/docs/15/libpq-control.html, PQsetErrorVerbosity
  static func isOfServer(_ message: String) -> Bool { message.contains(":  ") }

  /// A line without the server's code, and the code.
  private static func coded(_ line: String) -> (line: String, code: String?) {
    guard let gap = line.range(of: ":  ") else { return (line, nil) }
    let afterGap = line[gap.upperBound...]
    let code = afterGap.prefix(5)
    guard code.utf8.count == 5, afterGap.dropFirst(5).hasPrefix(": "),
      code.allSatisfy({ $0.isASCII && ($0.isNumber || $0.isUppercase) })
    else { return (line, nil) }
    return (String(line[..<gap.upperBound] + afterGap.dropFirst(7)), String(code))
  }

  /// How additions to what happened begin. A server's HINT in another language is not known by these, and is then taken
  /// for what happened.
  private static let additions = [
    "Is the server running", "DETAIL:", "HINT:", "LOCATION:", "This probably means the server terminated",
    "before or while processing", "password retrieved from file",
  ]

  /// The code for what only a person can mend, in libpq's own words; empty for what may be over soon.
  private static func ownState(_ message: String) -> String {
    if message.contains("no password supplied") { return "28P01" }
    return isMistyped(message) ? "F0000" : ""
  }

  /// Whether libpq does not understand the URL: a parameter that it does not know, or a value that it cannot have.
  private static func isMistyped(_ message: String) -> Bool {
    ["invalid URI", "invalid connection option", "invalid port number", "invalid integer value"].contains {
      message.contains($0)
    } || (message.hasPrefix("invalid ") && message.contains(" value: \""))
  }

  /// What to do about a server's code, or one of our own.
  ///
  /// Source: https://www.postgresql.org/docs/15/errcodes-appendix.html
  private static func advice(_ state: String) -> String? {
    switch state {
    case "F0000": "see the parameters of libpq's URLs, and ?schema=NAME of this store"
    case "28P01": "check user and password in the store's URL, PGPASSWORD or ~/.pgpass"
    case "28000":
      "create the user with createuser, name another in the URL, or let this user and host in by a line in the "
        + "server's pg_hba.conf"
    case "3D000": "create it with createdb, or name another in the URL"
    case "53300": "raise max_connections at the server, or lower NSPersistentStoreConnectionPoolMaxSizeKey"
    case "57P03": "try again when the server has started"
    default: nil
    }
  }

  private static func advice(words message: String) -> String? {
    func has(_ text: String) -> Bool { message.contains(text) }
    if has("Connection refused") || has("No such file or directory") || has("timeout expired") {
      return "check that the server runs and that host and port in the store's URL are its own"
    }
    return has("could not translate host name") ? "check the host in the store's URL" : nil
  }
}
