import TestFiles
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL

/// The driver, on a real server.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct ServerConnectionTests {
  private func connect() throws -> any ServerConnection {
    return try ServerDriver.open(PostgreSQLServer.shared.address())
  }

  private func parameters(_ values: SQLiteValue...) -> ServerParameters { ServerStatement.parameters(values) }

  @Test func valuesArriveAsTheyWereSent() throws {
    let connection = try connect()
    let data = Data([0, 1, 255])
    let result = try connection.execute(
      "SELECT $1, $2, $3, $4, $5", parameters(.integer(.min), .real(0.1), .text("é\u{1F600}"), .blob(data), .null))
    let values = (0..<5).map { column in
      result.bytes(0, column).flatMap { ServerValue.plain($0, result.type(column)) }
    }
    #expect(values[0] as? Int64 == .min && values[1] as? Double == 0.1 && values[2] as? String == "é\u{1F600}")
    #expect(values[3] as? Data == data && values[4] == nil)
  }

  @Test(arguments: ["0", "1", "-1", "10000", "0.0001", "-12345678.9012", "99999999999999999999.999999999999", "0.5"])
  func decimalsAreExact(text: String) throws {
    let connection = try connect()
    let decimal = try #require(Decimal(string: text))
    var parameters = ServerParameters()
    parameters.add(ServerNumeric.bytes(decimal), type: ServerType.numeric.rawValue)
    let result = try connection.execute("SELECT $1, $1::text", parameters)
    #expect(try ServerNumeric.decimal(#require(result.bytes(0, 0))) == decimal)
    #expect(result.text(0, 1).flatMap { Decimal(string: $0) } == decimal)
  }

  @Test func arraysKeepTheirOrderAndTheirNulls() throws {
    let connection = try connect()
    var texts = ServerArray(.text)
    texts.append("a")
    texts.append { _ in false }
    texts.append("")
    var parameters = ServerParameters()
    parameters.add(texts)
    parameters.add(ServerArray(.int8))
    let result = try connection.execute("SELECT t, cardinality($2) FROM unnest($1) AS t", parameters)
    #expect((0..<3).map { result.text($0, 0) } == ["a", nil, ""] && result.integer(0, 1) == 0)
  }

  @Test func rowsOutliveTheirConnection() throws {
    let connection = try connect()
    let result = try connection.execute("SELECT 'here'::text, n FROM generate_series(1, 3) AS n")
    connection.close()
    #expect(result.rowCount == 3 && result.text(2, 0) == "here" && result.integer(2, 1) == 3)
    #expect(throws: ServerError.self) { try connection.execute("SELECT 1") }
  }

  // MARK: Pipelines

  @Test func aPipelineAnswersInOrder() throws {
    let connection = try connect()
    for _ in 0..<3 {
      let results = try connection.pipeline((0..<50).map { ("SELECT $1 + 1", parameters(.integer($0))) })
      #expect(results.map { $0.integer(0, 0) } == Array(1...50))
    }
  }

  @Test func theFirstErrorEndsAPipelineAndTheConnectionStaysUsable() throws {
    let connection = try connect()
    try connection.run("CREATE TEMPORARY TABLE t (n bigint)")
    let none = ServerParameters()
    let error = #expect(throws: ServerError.self) {
      try connection.pipeline([
        ("INSERT INTO t VALUES (1)", none), ("SELECT 1 / 0", none), ("INSERT INTO t VALUES (2)", none),
      ])
    }
    #expect(error?.state == "22012" && error?.isConnectionLost == false)
    // A pipeline is one transaction unless it has its own.
    try #expect(connection.execute("SELECT count(*) FROM t").integer(0, 0) == 0)
    try #expect(connection.pipeline([("INSERT INTO t VALUES (2)", none), ("SELECT n FROM t", none)])[1].rowCount == 1)
  }

  // MARK: Streams

  /// One by one, or by the hundred with newer versions of libpq.
  @Test func aStreamGivesFewRowsAtATime() throws {
    let connection = try connect()
    var sum: Int64 = 0
    try connection.stream(
      "SELECT n FROM generate_series(1, $1) AS n", parameters(.integer(1000)), isShort: false
    ) { rows in
      #expect(rows.rowCount <= 200)
      sum += (0..<rows.rowCount).reduce(0) { $0 + rows.integer($1, 0) }
    }
    #expect(sum == 500_500)
  }

  /// Statements that were prepared before their table changed are prepared again, before any row was given.
  @Test func aStreamIsPreparedAnewWhenItsTableHasChanged() throws {
    let connection = try connect()
    try connection.run("CREATE TEMPORARY TABLE t (n bigint); INSERT INTO t VALUES (1), (2)")
    for columns in 1...2 {
      var rows = 0
      try connection.stream("SELECT * FROM t", ServerParameters(), isShort: false) {
        #expect($0.columnCount == columns)
        rows += $0.rowCount
      }
      #expect(rows == 2)
      try connection.run("ALTER TABLE t ADD COLUMN c\(columns) text")
    }
  }

  @Test func aStreamThatIsNotWantedAnyMoreEnds() throws {
    struct Enough: Error {}
    let connection = try connect()
    var count = 0
    #expect(throws: Enough.self) {
      try connection.stream(
        "SELECT n FROM generate_series(1, 10000000) AS n", ServerParameters(), isShort: false
      ) { _ in
        count += 1
        if count == 3 { throw Enough() }
      }
    }
    try #expect(count == 3 && connection.execute("SELECT 7::bigint").integer(0, 0) == 7)
  }

  @Test func aCopyWritesAllRowsOrNone() throws {
    struct Stop: Error {}
    let connection = try connect()
    try connection.run("CREATE TEMPORARY TABLE t (n bigint)")
    var remainingRows = 0
    func next(_ bytes: inout [UInt8]) -> Bool {
      guard remainingRows > 0 else { return false }
      bytes += "\(remainingRows)\n".utf8
      remainingRows -= 1
      return true
    }
    remainingRows = 20_000
    try #expect(connection.copy("COPY t FROM STDIN", next) == 20_000)
    remainingRows = 20_000
    #expect(throws: Stop.self) {
      try connection.copy("COPY t FROM STDIN") { bytes in
        if remainingRows == 5 { throw Stop() }
        return next(&bytes)
      }
    }
    remainingRows = 1
    let error = #expect(throws: ServerError.self) {
      try connection.copy("COPY t FROM STDIN") { bytes in
        guard remainingRows > 0 else { return false }
        remainingRows = 0
        bytes += "no number\n".utf8
        return true
      }
    }
    #expect(error?.state == "22P02")
    try #expect(connection.execute("SELECT count(*) FROM t").integer(0, 0) == 20_000)
  }

  // MARK: Other threads and sessions

  @Test func aCancelledStatementFailsAndLaterOnesDoNot() throws {
    // statement               other thread
    // runs for ever
    //                         waits until the server runs it, then cancels
    // fails
    let (connection, observer) = (try connect(), try connect())
    let process = try connection.execute("SELECT pg_backend_pid()::bigint").integer(0, 0)
    // Only `cancel()` is called on it.
    nonisolated(unsafe) let (cancelled, other) = (connection, observer)
    let thread = Thread {
      let isRunning = "SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND state = 'active' AND query LIKE '%100000%'"
      while (try? other.execute(isRunning, ServerStatement.parameters([.integer(process)])).rowCount) == 0 {}
      cancelled.cancel()
    }
    thread.start()
    let error = #expect(throws: ServerError.self) { try connection.execute("SELECT pg_sleep(100000)") }
    #expect(error?.state == "57014")
    try #expect(connection.execute("SELECT 1::bigint").integer(0, 0) == 1)
  }

  @Test func notificationsArrive() throws {
    let (listener, sender) = (try connect(), try connect())
    try listener.run("LISTEN here")
    try sender.run("NOTIFY here, 'now'; NOTIFY elsewhere")
    var descriptors = [pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)]
    #expect(poll(&descriptors, 1, 10_000) == 1)
    let notifications = try listener.notifications()
    #expect(notifications.map(\.payload) == ["now"] && notifications.map(\.channel) == ["here"])
  }

  @Test func anEndedSessionIsALostConnection() throws {
    let (connection, other) = (try connect(), try connect())
    let process = try connection.execute("SELECT pg_backend_pid()::bigint").integer(0, 0)
    try other.execute("SELECT pg_terminate_backend($1::int)", parameters(.integer(process)))
    let error = #expect(throws: ServerError.self) { try connection.execute("SELECT 1") }
    #expect(error?.isConnectionLost == true && connection.isLost)
    let pipelined = #expect(throws: ServerError.self) {
      try connection.pipeline([("SELECT 1", ServerParameters()), ("SELECT 2", ServerParameters())])
    }
    #expect(pipelined?.isConnectionLost == true)
  }

  // MARK: Errors

  @Test func errorsSayWhatToDo() throws {
    let server = PostgreSQLServer.shared
    for (address, advice) in [
      (server.address(database: "nowhere"), "create it with createdb"),
      (server.address(user: "nobody"), "create the user with createuser"),
      ("postgresql://tests@/postgres?host=/nowhere", "check that the server runs"),
      ("postgresql://tests@127.0.0.1:1/postgres", "check that the server runs"),
    ] {
      let error = #expect(throws: ServerError.self) { try ServerDriver.open(address) }
      #expect(error?.message.contains(advice) == true, "\(error?.message ?? "")")
      #expect(error?.message.contains("\n") == false)
    }
  }

  /// A server that speaks German. Its codes are those of all servers.
  @Test(arguments: [
    ("28P01", "Passwort-Authentifizierung für Benutzer »app« fehlgeschlagen", "check user and password"),
    ("28000", "kein pg_hba.conf-Eintrag für Host »[local]«", "pg_hba.conf"),
    ("3D000", "Datenbank »app« existiert nicht", "createdb"),
    ("57P03", "das Datenbanksystem startet", "when the server has started"),
    ("53300", "tut mir leid, schon zu viele Verbindungen", "max_connections"),
  ])
  func aRefusalIsKnownByItsCodeInAnyLanguage(code: String, words: String, advice: String) throws {
    let server = try RefusingServer(code: code, words: words)
    defer { server.stop() }
    let error = #expect(throws: ServerError.self) {
      try ServerDriver.open("postgresql://app@/app?host=\(server.directory.path)")
    }
    #expect(error?.state == code && error?.isConnectionLost == true, "\(error.map { "\($0)" } ?? "")")
    #expect(error?.message.contains("FATAL:  \(words): ") == true && error?.message.contains(advice) == true)
  }

  /// A pool does not wait for such a server: only a person can mend the URL.
  @Test(arguments: [
    "scheme=x", "sslmode=maybe", "connect_timeout=soon", "target_session_attrs=any-host", "port=70000",
  ])
  func aURLThatLibpqDoesNotUnderstandIsNoLostConnection(parameter: String) throws {
    let address = PostgreSQLServer.shared.address()
    let error = #expect(throws: ServerError.self) {
      try ServerDriver.open(address + (address.contains("?") ? "&" : "?") + parameter)
    }
    #expect(error?.state == "F0000" && error?.message.contains("see the parameters of libpq's URLs") == true)
  }

  @Test func whatLibpqAddsToAnErrorIsLeftOut() {
    let error = ConnectionFailure.error(
      """
      connection to server on socket "s" failed: server closed the connection unexpectedly
      \tThis probably means the server terminated abnormally
      \tbefore or while processing the request.
      """)
    #expect(error.message == "connection to server on socket \"s\" failed: server closed the connection unexpectedly")
    #expect(error.state.isEmpty && error.isConnectionLost)
  }

  @Test func aMissingClientLibraryIsNamedWithItsPackage() {
    let error = #expect(throws: ServerError.self) { try LibPQ("libpq-of-nobody.so.5") }
    #expect(error?.message.contains("install the package libpq5") == true && error?.isConnectionLost == false)
    // A library without libpq's functions.
    let other = #expect(throws: ServerError.self) { try LibPQ("libz.so.1") }
    #expect(other?.message.contains("it has no PQ") == true)
    #expect(error.map { CoreDataErrors.error($0, "Opening").code } == 134080)
  }

  @Test func statementsAreMadeAnewWhenTheirTablesHaveChanged() throws {
    let connection = try connect()
    try connection.run("CREATE TEMPORARY TABLE t (n bigint); INSERT INTO t VALUES (1)")
    try #expect(connection.execute("SELECT * FROM t").integer(0, 0) == 1)
    try connection.run("ALTER TABLE t ADD COLUMN m text DEFAULT 'new'")
    try #expect(connection.execute("SELECT * FROM t").text(0, 1) == "new")
  }

  @Test func aConnectionKeepsABoundedNumberOfStatements() throws {
    let connection = try connect()
    for number in 0..<1200 { try connection.execute("SELECT \(raw: number)") }
    let kept = try connection.execute("SELECT count(*) FROM pg_prepared_statements").integer(0, 0)
    #expect(kept <= 500)
  }

  @Test func questionMarksInNamesAndTextsAreNoParameters() {
    #expect(
      ServerStatement.numbered("a = ? AND \"b?\" = '?' AND c = ?", from: 1) == "a = $1 AND \"b?\" = '?' AND c = $2")
  }

  @Test(arguments: ["LATIN1", "SQL_ASCII"])
  func aDatabaseThatCannotHoldEveryTextIsRefused(encoding: String) throws {
    let server = PostgreSQLServer.shared
    let name = "encoding_\(encoding.lowercased())_\(UInt32.random(in: 0 ... .max))"
    try server.psql("CREATE DATABASE \(name) ENCODING '\(encoding)' LOCALE 'C' TEMPLATE template0")
    defer { _ = try? server.psql("DROP DATABASE \(name)") }
    let error = #expect(throws: ServerError.self) { try ServerDriver.open(server.address(database: name)) }
    #expect(error?.message.contains(encoding) == true && error?.state == "0A000")
  }

  @Test func theHostThatAnsweredIsTriedFirst() throws {
    let directory = PostgreSQLServer.shared.directory
    let address = "postgresql://tests@/postgres?host=/nowhere,\(directory)"
    for _ in 0..<3 {
      try ServerDriver.open(address).close()
      #expect(HostOrder.parameters(address).map { "\($0)=\($1)" } == ["host=\(directory),/nowhere"])
    }
    let lists = ["host": ["a", "b", "b"], "port": ["1", "2", "3"]]
    #expect(HostOrder.orders(lists, host: "b", port: "3") == ["host": "b,a,b", "port": "3,1,2"])
    #expect(HostOrder.orders(lists, host: "a", port: "1") == nil)
    #expect(HostOrder.orders(["host": ["a", "b"], "port": ["1"]], host: "b", port: "1") == ["host": "b,a"])
    let addresses = ["host": ["a", "b"], "hostaddr": ["::1", "::2"]]
    #expect(HostOrder.orders(addresses, host: "b", port: nil)?["hostaddr"] == "::2,::1")
  }

  @Test func settingsOfTheServerDoNotReachStatements() throws {
    let server = PostgreSQLServer.shared
    let database = "settings_\(UInt32.random(in: 0 ... .max))"
    try server.psql("CREATE DATABASE \(database)")
    defer { _ = try? server.psql("DROP DATABASE \(database) WITH (FORCE)") }
    try server.psql("ALTER DATABASE \(database) SET default_transaction_isolation = 'serializable'")
    try server.psql("ALTER DATABASE \(database) SET standard_conforming_strings = off")
    let store = ServerDatabase(try ServerAddress(server.url(schema: "x", database: database), nil), maximumReaders: 1)
    defer { store.close() }
    let settings = try store.write { connection in
      try connection.execute("SELECT current_setting('transaction_isolation') || ' ' || length('\\')").text(0, 0)
    }
    #expect(settings == "read committed 1")
    let date = try #require(store.serverDate)
    #expect(abs(date.timeIntervalSinceNow) < 5)
  }

  /// What is known without asking may be half of a round trip more or less.
  @Test func theServersClockIsReadBetweenCallAndReturn() throws {
    let store = ServerDatabase(try ServerAddress(PostgreSQLServer.shared.url(schema: "x"), nil), maximumReaders: 1)
    defer { store.close() }
    func ask() throws -> Double {
      try store.write {
        let sql: SQL = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
        return Double(try $0.execute(sql).integer(0, 0)) / 1_000_000
      }
    }
    let before = try ask()
    let read = try #require(try store.readClock()).timeIntervalSince1970
    #expect(try before <= read && read <= ask())
  }
}

/// A Unix socket on which each connection is refused, as a server refuses it.
private final class RefusingServer: Sendable {
  let directory = temporaryURL("refusing")
  private let listener: Int32

  init(code: String, words: String) throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) {
      $0.copyBytes(from: directory.appendingPathComponent(".s.PGSQL.5432").path.utf8)
    }
    let isBound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { [listener] in
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    guard isBound, listen(listener, 8) == 0 else { throw CocoaError(.fileWriteUnknown) }
    // An ErrorResponse: https://www.postgresql.org/docs/15/protocol-message-formats.html
    let fields = ["SFATAL", "VFATAL", "C\(code)", "M\(words)", "Fauth.c", "L1", "Rauth"].map { Array($0.utf8) + [0] }
    let body = fields.flatMap(\.self) + [0]
    let length = withUnsafeBytes(of: UInt32(body.count + 4).bigEndian) { Array($0) }
    let answer = Array("E".utf8) + length + body
    Thread { [listener] in
      while true {
        let client = accept(listener, nil, nil)
        if client < 0 { break }
        // The startup message is shorter, and comes at once.
        var message = [UInt8](repeating: 0, count: 4096)
        if read(client, &message, message.count) > 0 { _ = write(client, answer, answer.count) }
        close(client)
      }
      close(listener)
    }.start()
  }

  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    try? FileManager.default.removeItem(at: directory)
  }
}
