import CoreData
import Testing

/// The methods of contexts and containers that subclasses override on Apple's platforms.
@Suite struct OverriddenContextTests {
  @Test func aContextsOverridesAreCalled() throws {
    let store = try TemporaryStore()
    let context = LoggingContext(.privateQueue)
    context.persistentStoreCoordinator = store.coordinator
    try context.performAndWait {
      let book = context.make("Book", ["title": "One"])
      try context.save()
      context.refresh(book, mergeChanges: false)
      context.delete(book)
      context.rollback()
      let typed: [NSManagedObject] = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Book"))
      #expect(typed == [book])
      let any: [Any] = try context.fetch(NSFetchRequest<any NSFetchRequestResult>(entityName: "Book"))
      #expect(any.count == 1)
      let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Book")
      ids.resultType = .managedObjectIDResultType
      try #expect(context.fetch(ids) == [book.objectID])
      _ = try context.execute(NSBatchDeleteRequest(fetchRequest: NSFetchRequest<NSManagedObject>(entityName: "Book")))
      context.processPendingChanges()
      context.reset()
    }
    #expect(
      context.calls == [
        "insert", "refresh", "delete", "rollback", "fetch", "fetch", "fetch", "execute",
        "processPendingChanges", "reset",
      ])
  }

  @Test func anOverriddenFetchDecidesWhatIsFound() throws {
    let store = try TemporaryStore()
    try store.save { context in for title in ["a", "b", "c"] { context.make("Book", ["title": title]) } }
    let context = LoggingContext(.privateQueue)
    context.persistentStoreCoordinator = store.coordinator
    context.limit = 2
    try context.performAndWait { try #expect(context.all("Book").count == 2) }
  }

  @Test func aContainersViewContextIsOverridden() {
    let container = OwnContainer(name: "Own", managedObjectModel: LibraryModel.make())
    #expect(container.viewContext.name == "own")
    #expect(container.viewContext.persistentStoreCoordinator === container.persistentStoreCoordinator)
  }
}

/// `@unchecked Sendable`: used on its own queue, as every context.
private final class LoggingContext: NSManagedObjectContext, @unchecked Sendable {
  var calls: [String] = []
  var limit = 0

  override func insert(_ object: NSManagedObject) {
    calls.append("insert")
    super.insert(object)
  }
  override func delete(_ object: NSManagedObject) {
    calls.append("delete")
    super.delete(object)
  }
  override func refresh(_ object: NSManagedObject, mergeChanges flag: Bool) {
    calls.append("refresh")
    super.refresh(object, mergeChanges: flag)
  }
  override func rollback() {
    calls.append("rollback")
    super.rollback()
  }
  override func reset() {
    calls.append("reset")
    super.reset()
  }
  override func fetch(_ request: NSFetchRequest<NSFetchRequestResult>) throws -> [Any] {
    calls.append("fetch")
    request.fetchLimit = limit
    return try super.fetch(request)
  }
  override func processPendingChanges() {
    calls.append("processPendingChanges")
    super.processPendingChanges()
  }
  override func execute(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult {
    calls.append("execute")
    return try super.execute(request)
  }
}

/// `@unchecked Sendable`: its context is set once.
private final class OwnContainer: NSPersistentContainer, @unchecked Sendable {
  override var viewContext: NSManagedObjectContext {
    super.viewContext.name = "own"
    return super.viewContext
  }
}
