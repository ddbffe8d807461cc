@testable import CoreDataPostgreSQL
import TestFiles
import Testing

@testable import CoreData

/// Connections that are lost: before, while and after a transaction is committed.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct CommitOutcomeTests {
  /// A connection that is lost at its next COMMIT, before or after the server has carried it out.
  private final class LossyConnection: ServerConnection {
    enum Loss { case before, after }

    let real: any ServerConnection
    let losses: Losses

    final class Losses {
      var next: Loss?
      var count = 0
      /// How often the program has waited for the server's answer.
      var roundTrips = 0
      /// Whether the server has forgotten the transaction's number.
      var forgetsNumbers = false
      /// What happens while the connection is lost.
      var meanwhile: () throws -> Void = {}
    }

    init(_ real: any ServerConnection, _ losses: Losses) {
      self.real = real
      self.losses = losses
    }

    func run(_ script: String) throws {
      losses.roundTrips += 1
      guard script == "COMMIT", let loss = losses.next else { return try real.run(script) }
      losses.next = nil
      losses.count += 1
      if loss == .after { try real.run(script) }
      real.close()
      try losses.meanwhile()
      throw ServerError(message: "the line is cut", isConnectionLost: true)
    }

    func execute(_ sql: String, _ parameters: ServerParameters) throws -> any ServerResult {
      losses.roundTrips += 1
      if losses.forgetsNumbers, sql.contains("pg_xact_status") {
        return try real.execute("SELECT pg_xact_status('9223372036854775807'::xid8)", ServerParameters())
      }
      return try real.execute(sql, parameters)
    }
    func pipeline(_ statements: [(sql: String, parameters: ServerParameters)]) throws -> [any ServerResult] {
      losses.roundTrips += 1
      return try real.pipeline(statements)
    }
    func stream(
      _ sql: String, _ parameters: ServerParameters, isShort: Bool, _ body: (any ServerResult) throws -> Void
    ) throws {
      try real.stream(sql, parameters, isShort: isShort, body)
    }
    func copyRows(_ select: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
      try real.copyRows(select, body)
    }
    func copy(_ sql: String, _ next: (inout [UInt8]) throws -> Bool) throws -> Int { try real.copy(sql, next) }
    func cancel() { real.cancel() }
    func notifications() throws -> [ServerNotification] { try real.notifications() }
    var descriptor: Int32 { real.descriptor }
    var isInTransaction: Bool { real.isInTransaction }
    var isLost: Bool { real.isLost }
    var version: Int { real.version }
    func close() { real.close() }
  }

  private func database(
    _ losses: LossyConnection.Losses, at url: URL = PostgreSQLServer.shared.url(schema: "outcomes")
  ) throws -> ServerDatabase {
    let address = try ServerAddress(url, nil)
    return ServerDatabase(address, maximumReaders: 1) { LossyConnection(try ServerDriver.open($0), losses) }
  }

  private func count(_ database: ServerDatabase, _ table: String) throws -> Int64 {
    try database.read { connection, _ in try connection.execute("SELECT count(*) FROM \(raw: table)").integer(0, 0) }
  }

  @Test func aTransactionWhoseAnswerWasLostIsAskedFor() throws {
    let losses = LossyConnection.Losses()
    let database = try database(losses)
    let table = "public.outcome_of_commits"
    try database.write { try $0.run("DROP TABLE IF EXISTS \(table); CREATE TABLE \(table) (n bigint)") }
    // Given a COMMIT that the server carries out, whose answer is lost, then the write succeeds.
    losses.next = .after
    try database.write { try $0.run("INSERT INTO \(table) VALUES (1)") }
    try #expect(count(database, table) == 1 && losses.count == 1)
    // Given a COMMIT that never arrives, then it fails, and nothing is written.
    losses.next = .before
    let error = #expect(throws: ServerError.self) {
      try database.write { try $0.run("INSERT INTO \(table) VALUES (2)") }
    }
    #expect(error?.isConnectionLost == true)
    try #expect(count(database, table) == 1 && losses.count == 2)
    // Given a server that has crashed, and has given the number to nobody since, then it fails, too.
    (losses.next, losses.forgetsNumbers) = (.before, true)
    let crash = #expect(throws: ServerError.self) {
      try database.write { try $0.run("INSERT INTO \(table) VALUES (2)") }
    }
    #expect(crash?.isConnectionLost == true, "\(String(describing: crash))")
    losses.forgetsNumbers = false
    // And the next write has a new connection.
    try database.write { try $0.run("INSERT INTO \(table) VALUES (3)") }
    try #expect(count(database, table) == 2)
    try database.write { try $0.run("DROP TABLE \(table)") }
    database.close()
  }

  /// A promoted standby uses numbers again that the old server gave to transactions which it has not heard of. So the
  /// number does not tell whether a transaction was committed:
  ///
  ///     program              primary               standby
  ///     INSERT, number 734   734 is open           734 is unknown
  ///     COMMIT               dies
  ///                                                is promoted, gives 734 to others, who commit
  ///     how did 734 end?                           committed
  @Test func aPromotedStandbyIsNotAskedForTransactionsOfThePrimary() throws {
    // The standby hears only of what is committed.
    let pair = PostgreSQLPair(["wal_writer_delay=10s"])
    defer { pair.stop() }
    let losses = LossyConnection.Losses()
    let database = try database(losses, at: #require(URL(string: pair.address)))
    let table = "public.outcome"
    try database.write { try $0.run("CREATE TABLE \(table) (n bigint)") }
    var number: Int64 = 0
    losses.next = .before
    losses.meanwhile = {
      try pair.failOver()
      while try Int64(pair.standby.psql("SELECT pg_current_xact_id()")) ?? 0 <= number {}
    }
    let error = #expect(throws: ServerError.self) {
      try database.write {
        number = try Int64($0.execute("SELECT pg_current_xact_id()::text").text(0, 0) ?? "") ?? 0
        try $0.run("INSERT INTO \(table) VALUES (1)")
      }
    }
    #expect(error?.isConnectionLost == true && error?.message.contains("standby") == true)
    try #expect(count(database, table) == 0)
    // The next write goes to the new primary.
    try database.write { try $0.run("INSERT INTO \(table) VALUES (2)") }
    try #expect(count(database, table) == 1)
    database.close()
  }

  /// BEGIN and the transaction's number go to the server with the first statements. COMMIT follows alone: when it
  /// is sent, the client has the number by which it can find out how the transaction ended.
  @Test func aTransactionTakesTwoRoundTrips() throws {
    let losses = LossyConnection.Losses()
    let database = try database(losses)
    let table = "public.trips"
    try database.write {
      try $0.run("DROP TABLE IF EXISTS \(table); CREATE TABLE \(table) (n bigint, announces boolean)")
    }
    func insert() throws {
      try database.write { connection in
        database.prepare(connection, announcingTo: "trips", of: table)
        _ = try connection.pipeline([
          ("INSERT INTO \(table) VALUES (1)", ServerParameters()),
          ("INSERT INTO \(table) VALUES (2)", ServerParameters()),
        ])
      }
    }
    try insert()
    // After a pause BEGIN is tried alone, and a busy machine may pause this thread.
    var least = Int.max
    for _ in 0..<3 {
      losses.roundTrips = 0
      try insert()
      least = min(least, losses.roundTrips)
    }
    #expect(least == 2)
    try #expect(count(database, table) == 8)
    // Given a COMMIT that the server carries out, whose answer is lost, then it is asked for.
    losses.next = .after
    try insert()
    losses.next = .before
    let error = #expect(throws: ServerError.self) { try insert() }
    #expect(error?.isConnectionLost == true && losses.count == 2)
    try #expect(count(database, table) == 10)
    // Given a statement that fails, then nothing of the transaction stays, and the next one works.
    #expect(throws: ServerError.self) { try database.write { _ = try $0.execute("SELECT 1 / 0") } }
    try insert()
    try #expect(count(database, table) == 12)
    try database.write { try $0.run("DROP TABLE \(table)") }
    database.close()
  }

  @Test func aSaveReconnectsAfterTheServerEndedItsSessions() throws {
    let stack = try StoreStack(.server)
    let store = try #require(stack.store as? ServerStore)
    try stack.perform { context in
      context.make("Tag", ["label": "a"])
      try context.save()
    }
    // Given a server that has ended all sessions of this coordinator.
    let other = try ServerDriver.open(PostgreSQLServer.shared.address())
    let processQuery: SQL = "SELECT pg_backend_pid()::bigint"
    let processes = try [
      store.database.write { try $0.execute(processQuery).integer(0, 0) },
      store.database.read { connection, _ in try connection.execute(processQuery).integer(0, 0) },
    ]
    for process in processes { try other.run("SELECT pg_terminate_backend(\(process)::int, 60000)") }
    // Then fetches and saves go on.
    try stack.perform { context in
      try #expect(context.all("Tag").count == 1)
      context.make("Tag", ["label": "b"])
      try context.save()
      try #expect(context.all("Tag").count == 2)
    }
  }
}
