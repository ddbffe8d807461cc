@testable import CoreDataPostgreSQL
import TestFiles
import Testing

@testable import CoreData

/// Stores behind PgBouncer.
@Suite(.enabled(if: PostgreSQLServer.isInstalled && PgBouncer.isInstalled, "PostgreSQL or PgBouncer is not installed"))
struct PoolerTests {
  private func open(_ pooler: PgBouncer) throws -> NSPersistentStoreCoordinator {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    try coordinator.addPersistentStore(
      ofType: NSPostgreSQLStoreType, configurationName: nil, at: pooler.url(schema: "pooled"))
    return coordinator
  }

  @Test func aStoreWorksThroughAPoolerThatKeepsSessions() throws {
    let pooler = try PgBouncer(before: .shared, ["pool_mode = session"])
    defer { pooler.stop() }
    let coordinator = try open(pooler)
    let context = coordinator.context()
    try context.performAndWait {
      for object in try context.all("Tag") { context.delete(object) }
      context.make("Tag", ["label": "a"])
      try context.save()
    }
    let other = try open(pooler).context()
    let labels = try other.performAndWait { try other.all("Tag").map { $0.text("label") } }
    #expect(labels == ["a"])
  }

  /// Also when the pooler has no other session to lend, or takes the one that was unused longest.
  @Test(arguments: [
    ["pool_mode = transaction"], ["pool_mode = transaction", "default_pool_size = 1"],
    ["pool_mode = transaction", "server_round_robin = 1"], ["pool_mode = statement"],
  ])
  func aPoolerThatLendsSessionsIsRefused(settings: [String]) throws {
    let pooler = try PgBouncer(before: .shared, settings)
    defer { pooler.stop() }
    for _ in 0..<3 {
      let error = #expect(throws: NSError.self) { try open(pooler) }
      let text = error?.localizedDescription ?? ""
      #expect(text.contains("pool_mode = session") && !text.contains("\n"), "\(text)")
    }
  }

  /// A pooler with too few sessions keeps the second client waiting, and the first one's session for it.
  @Test func aPoolerThatKeepsItsOnlySessionIsNoError() throws {
    let pooler = try PgBouncer(before: .shared, ["pool_mode = session", "default_pool_size = 1"])
    defer { pooler.stop() }
    let address = try ServerAddress(pooler.url(schema: "pooled"), nil)
    let connection = try ServerDriver.open(address.connectionString)
    #expect(try connection.execute("SELECT 1::bigint").integer(0, 0) == 1)
    connection.close()
  }
}
