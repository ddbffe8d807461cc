import Foundation
import Jobs
import Synchronization
import TestFiles
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL
@testable import WorkerPool

/// Copies of stores, beside what others have in the database.
@Suite(.serialized, .ownThreads, .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct StoreTransferTests {
  /// A SQLite store of five items and two jobs, and a schema at the server in which others have a table.
  private final class Transfer {
    let server = PostgreSQLServer.shared
    let directory = temporaryURL("transfer")
    let schema = "transfer_\(UInt32.random(in: 0 ... .max))"
    let model: String
    var file: StorePlace { StorePlace(directory.appendingPathComponent("app.sqlite")) }
    let fault = StatementFault()
    /// The schema, through connections whose statements may fail.
    var schemaPlace: StorePlace {
      StorePlace("\(server.address())&application_name=\(schema)&options=-clock_timeout%3D5s&schema=\(schema)")
    }

    init() throws {
      WatchedConnection.watch(schema) { [fault] connection, sql, _ in try fault.meet(sql, connection) }
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      model = directory.appendingPathComponent("Items.xcdatamodel").path
      try FileManager.default.createDirectory(atPath: model, withIntermediateDirectories: true)
      let contents = """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" sourceLanguage="Swift">
          <entity name="Item" representedClassName="Item" syncable="YES">
            <attribute name="value" attributeType="Integer 64" defaultValueString="0" usesScalarValueType="YES"/>
          </entity>
        </model>
        """
      try contents.write(toFile: model + "/contents", atomically: false, encoding: .utf8)
      try fill(file)
    }

    deinit {
      WatchedConnection.forget(schema)
      _ = try? server.psql("DROP SCHEMA IF EXISTS \(schema), \(schema)_wp CASCADE")
    }

    func fill(_ place: StorePlace) throws {
      let store = try JobStore(url: place.url, model: ModelLoader.load(model))
      let context = store.makeContext(name: "test")
      try context.performAndWait {
        for value in 1...5 {
          NSEntityDescription.insertNewObject(forEntityName: "Item", into: context).setValue(value, forKey: "value")
        }
        for _ in 0..<2 { _ = try PoolJob.insert(JobRequest(kind: "add"), into: context) }
        try context.save()
      }
    }

    /// Drops the stores, and leaves others' table.
    var dropStores: String {
      """
      ALTER TABLE \(schema).others SET SCHEMA public; DROP SCHEMA \(schema), \(schema)_wp CASCADE; \
      CREATE SCHEMA \(schema); ALTER TABLE public.others SET SCHEMA \(schema)
      """
    }

    func copy(_ source: StorePlace, to destination: StorePlace, progress: () -> Void = {}) throws {
      _ = try StoreTransfer.copy(from: source, to: destination, model: model) { _ in progress() }
    }

    /// What is in both schemas: others' table, and the store's tables with their rows.
    var contents: String {
      get throws {
        let tables = try server.psql(
          "SELECT schemaname || '.' || tablename FROM pg_tables WHERE schemaname LIKE '\(schema)%' ORDER BY 1")
        func sum(_ column: String, _ table: String) throws -> String {
          tables.contains("\(schema).\(table)")
            ? try server.psql(#"SELECT sum(\#(column)) FROM \#(schema)."\#(table)""#) : ""
        }
        let (others, store) = (try sum("n", "others"), try sum("value", "Item"))
        return "\(others)|\(store)|\(tables.split(separator: "\n").count)"
      }
    }
  }

  /// Fails each statement of a copy in turn. Others' table is in the copy's schema all the time.
  @Test(arguments: StatementFault.Kind.allCases)
  func aCopyThatFailsLeavesNothingOfItsOwnAndAllOfOthers(fault: StatementFault.Kind) throws {
    let transfer = try Transfer()
    try transfer.server.psql(
      "CREATE SCHEMA \(transfer.schema); CREATE TABLE \(transfer.schema).others AS SELECT 7 AS n")
    let before = try transfer.contents
    #expect(before == "7||1")
    var number = 0
    while try transfer.contents == before {
      number += 1
      try #require(number < 500)
      // A lost connection may be made anew before anything was written: then the copy is complete.
      let copied = Result {
        try transfer.fault.at(number, fault) { try transfer.copy(transfer.file, to: transfer.schemaPlace) }
      }
      let contents = try transfer.contents
      if case .success = copied {
        #expect(contents.hasPrefix("7|15|"), "statement \(number): \(contents)")
        try transfer.server.psql(transfer.dropStores)
        if !transfer.fault.hasFailed { break }
      } else {
        #expect(contents == before, "statement \(number): \(copied) left \(contents)")
      }
    }
    #expect(number > 20)
  }

  /// Fails each statement of a copy to a place where a store is.
  @Test(arguments: StatementFault.Kind.allCases)
  func aCopyThatFailsLeavesTheStoreThatIsThere(fault: StatementFault.Kind) throws {
    let transfer = try Transfer()
    try transfer.fill(transfer.schemaPlace)
    try transfer.server.psql("CREATE TABLE \(transfer.schema).others AS SELECT 7 AS n")
    let before = try transfer.contents
    #expect(before.hasPrefix("7|15|"))
    for number in 1..<100 {
      let error = #expect(throws: StoreTransfer.Failure.self, "statement \(number)") {
        try transfer.fault.at(number, fault) { try transfer.copy(transfer.file, to: transfer.schemaPlace) }
      }
      #expect(try transfer.contents == before, "statement \(number): \(error.map { "\($0)" } ?? "")")
      if !transfer.fault.hasFailed { break }
    }
    #expect(!transfer.fault.hasFailed)
  }

  @Test func ofTwoCopiesToOnePlaceOneIsRefused() throws {
    let transfer = try Transfer()
    let second = StorePlace(transfer.directory.appendingPathComponent("second.sqlite"))
    try FileManager.default.copyItem(at: transfer.file.url, to: second.url)
    var refusals: [String] = []
    try transfer.copy(transfer.file, to: transfer.schemaPlace) {
      // The first has written rows.
      let error = #expect(throws: (any Error).self) { try transfer.copy(second, to: transfer.schemaPlace) }
      refusals.append(error.map { "\($0)" } ?? "")
    }
    #expect(!refusals.isEmpty && refusals.allSatisfy { $0.contains("another copy to") }, "\(refusals)")
    #expect(try transfer.contents.hasPrefix("|15|"))
  }

  @Test func aPoolThatBeginsOnTheOriginalMeanwhileIsNoticed() throws {
    let transfer = try Transfer()
    try transfer.fill(transfer.schemaPlace)
    let destination = StorePlace(transfer.directory.appendingPathComponent("back.sqlite"))
    let error = #expect(throws: StoreTransfer.Failure.self) {
      try transfer.copy(transfer.schemaPlace, to: destination) {
        // It has gone again already.
        _ = try? transfer.server.psql(
          """
          INSERT INTO \(transfer.schema)_wp."PoolMember" (identity, host, pid, queue, "startedAt", "goneAt") \
          SELECT 5, 'h', 1, '/q', now(), now() WHERE NOT EXISTS (SELECT FROM \(transfer.schema)_wp."PoolMember")
          """)
      }
    }
    #expect(error?.description.contains("process 1 of h") == true, "\(error.map { "\($0)" } ?? "")")
    #expect(!FileManager.default.fileExists(atPath: destination.text))
  }
}

/// Lets one statement of all that it meets fail.
final class StatementFault: Sendable {
  enum Kind: CaseIterable {
    /// The server refuses the statement.
    case refused
    /// The connection is lost before the server has the statement.
    case lost
  }

  private struct Plan {
    var kind = Kind.refused
    /// How many statements succeed before; nil for no fault.
    var statementsLeft: Int?
    var hasFailed = false
  }

  private let plan = Mutex(Plan())

  /// Lets the statement of this number fail while the body runs.
  func at(_ number: Int, _ kind: Kind, _ body: () throws -> Void) throws {
    plan.withLock { $0 = Plan(kind: kind, statementsLeft: number - 1) }
    defer { plan.withLock { $0.statementsLeft = nil } }
    try body()
  }

  /// Whether the statement was reached.
  var hasFailed: Bool { plan.withLock { $0.hasFailed } }

  func meet(_ sql: String, _ connection: any ServerConnection) throws {
    // ROLLBACK follows an error, and its own is not told.
    if sql == "ROLLBACK" { return }
    let kind = plan.withLock { plan -> Kind? in
      guard let statementsLeft = plan.statementsLeft else { return nil }
      plan.statementsLeft = statementsLeft > 0 ? statementsLeft - 1 : nil
      plan.hasFailed = statementsLeft == 0
      return statementsLeft > 0 ? nil : plan.kind
    }
    guard let kind else { return }
    if kind == .lost { connection.close() }
    throw ServerError(message: "injected", state: kind == .lost ? "" : "55P03", isConnectionLost: kind == .lost)
  }
}
