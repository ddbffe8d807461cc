import Foundation
import TestFiles
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL

/// Migrations to a place at a server that has no store yet.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct ServerMigrationManagerTests {
  private let stack: StoreStack
  private let schema = "migration_\(UInt32.random(in: 0 ... .max))"

  init() throws {
    stack = try StoreStack(.file)
    try stack.perform { context in
      context.make("Author", ["name": "Ada"])
      try context.save()
    }
    // A table of another program.
    try PostgreSQLServer.shared.psql("CREATE SCHEMA \(schema); CREATE TABLE \(schema).other AS SELECT 1 AS n")
  }

  private func migrate(_ prepare: (NSMappingModel) -> Void = { _ in }) throws {
    let model = stack.coordinator.managedObjectModel
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: model, destinationModel: model)
    prepare(mapping)
    try NSMigrationManager(sourceModel: model, destinationModel: model).migrateStore(
      from: stack.url, sourceType: stack.kind.type, with: mapping,
      toDestinationURL: PostgreSQLServer.shared.url(schema: schema), destinationType: NSPostgreSQLStoreType)
  }

  private func tables() throws -> [Substring] {
    try PostgreSQLServer.shared.psql("SELECT tablename FROM pg_tables WHERE schemaname = '\(schema)' ORDER BY 1")
      .split(separator: "\n")
  }

  private func drop() throws { try PostgreSQLServer.shared.psql("DROP SCHEMA \(schema) CASCADE") }

  /// A policy throws when the store is made already.
  @Test func aMigrationThatFailsLeavesNothingAndDropsNothingOfOthers() throws {
    let error = #expect(throws: (any Error).self) {
      try migrate { mapping in
        for entity in mapping.entityMappings { entity.entityMigrationPolicyClassName = "ThrowingPolicy" }
      }
    }
    #expect((error as? NSError)?.domain == "ThrowingPolicy", "\(String(describing: error))")
    try #expect(tables() == ["other"])
    try migrate()
    try #expect(tables().contains("Author") && PostgreSQLServer.shared.psql("SELECT n FROM \(schema).other") == "1")
    try drop()
  }

  /// A migration object by object computes for long between two statements.
  @Test func noTimeoutForIdleTransactionsEndsTheTransactionOfAPlace() throws {
    let url = "\(PostgreSQLServer.shared.url(schema: schema))&options=-cidle_in_transaction_session_timeout%3D60000"
    try ServerStore.inOneTransaction(at: #require(URL(string: url))) { options in
      let database = try #require(options[NSPersistentStoreConnectionsOption] as? ServerDatabase)
      let timeout = try database.read { connection, _ in
        try connection.execute("SELECT current_setting('idle_in_transaction_session_timeout')").text(0, 0)
      }
      #expect(timeout == "0")
    }
    try drop()
  }

  /// Two migrations to one place would make one store of both, or drop each other's:
  ///
  ///     migration 1           | migration 2
  ///     ----------------------+------------------------
  ///     finds no store        |
  ///     the lock of the place |
  ///                           | finds no store
  ///                           | the lock is taken: 134160
  @Test func oneMigrationAtATimeMakesTheStoreOfAPlace() throws {
    let other = try ServerDriver.open(PostgreSQLServer.shared.address())
    defer { other.close() }
    try other.run("BEGIN; SELECT pg_advisory_xact_lock(17221, hashtext('\(schema)'))")
    let error = #expect(throws: NSError.self) { try migrate() }
    #expect(error?.code == NSMigrationManagerDestinationStoreError, "\(String(describing: error))")
    try #expect(tables() == ["other"])
    try other.run("COMMIT")
    try migrate()
    try #expect(PostgreSQLServer.shared.psql("SELECT count(*) FROM \(schema).\"Author\"") == "1")
    try drop()
  }
}

/// Throws in the third pass.
final class ThrowingPolicy: NSEntityMigrationPolicy {
  override func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    throw NSError(domain: "ThrowingPolicy", code: 1)
  }
}
