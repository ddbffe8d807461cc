import CoreData
import Foundation
import Testing

/// What jobs changed, from the persistent history of the app's store.
@Suite(.serialized) struct JobHistoryListTests {
  @Test(.timeLimit(.minutes(20)))
  func theHistoryTellsWhichObjectsAJobChanged() throws {
    // Given a store with a history
    let items = try ItemPool(items: 2)
    let coordinator = NSPersistentStoreCoordinator(
      managedObjectModel: try #require(NSManagedObjectModel(contentsOf: URL(fileURLWithPath: items.model))))
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: URL(fileURLWithPath: items.store),
      options: [NSPersistentHistoryTrackingKey: true])
    try coordinator.remove(store)
    // When jobs change items
    let pool = try items.start()
    try items.submit("add", items: [items.items[1]])
    try pool.waitForJobs(1)
    try items.submit("named", items: [items.items[0]])
    try pool.waitForJobs(2)
    // Then each is listed with what it changed, and undo says that values are missing
    let shown = try run(Built.path("workerpool"), ["jobs", "show", "p1", "--changes", "--queue", pool.queue])
    #expect(shown.output.contains("attempt 1, saved at "), "\(shown)")
    #expect(shown.output.contains("updated \(items.items[1]): value\n"), "\(shown)")
    let other = try run(Built.path("workerpool"), ["jobs", "show", "p2", "--changes", "--queue", pool.queue])
    #expect(other.output.contains("inserted x-coredata://") && !other.output.contains("updated x-"), "\(other)")
    let undone = try pool.command("undo", "p1")
    #expect(undone.code == 1 && undone.errors.contains("--keep-changes add"), "\(undone)")
    // The names of jobs go with their transactions.
    #expect(try sqlite(items.store, "SELECT count(*) FROM ATRANSACTIONSTRING WHERE ZNAME LIKE '%p1/%'") == "0")
    #expect(
      try sqlite(items.store, "SELECT ZAUTHOR FROM ATRANSACTION ORDER BY 1") == "workerpool p1/1\nworkerpool p2/1")
    try pool.stop()
  }
}
