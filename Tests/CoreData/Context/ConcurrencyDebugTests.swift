import CoreData
import Testing

/// Each use on a wrong queue ends the process with a sentence that names the used object and its queue.
@Suite struct ConcurrencyDebugTests {
  @Test func usingAPrivateContextOutsideItsQueueTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore()
      let context = store.context()
      context.name = "worker"
      _ = try context.all("Book")
    }
    expectSentence(result, "\"worker\"", "private queue", "perform")
  }

  @Test func readingAnObjectOutsideItsQueueTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore()
      let context = store.context()
      context.name = "worker"
      // `nonisolated(unsafe)`: the compiler refuses the misuse that has to trap.
      nonisolated(unsafe) let book = try context.performAndWait { () throws -> NSManagedObject in
        let book = context.make("Book", ["title": "One"])
        try context.save()
        return book
      }
      _ = book.text("title")
    }
    expectSentence(result, "x-coredata://", "/Book/p1", "\"worker\"", "private queue")
  }

  @Test func writingAnObjectInAnotherContextsBlockTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore()
      let (context, other) = (store.context(), store.context())
      context.name = "first"
      // `nonisolated(unsafe)`: the compiler refuses the misuse that has to trap.
      nonisolated(unsafe) let book = context.performAndWait { context.make("Book", ["title": "One"]) }
      other.performAndWait { book.setValue("Two", forKey: "title") }
    }
    expectSentence(result, "/Book/t", "\"first\"")
  }

  @Test func readingATomanyOutsideItsQueueTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore()
      let context = store.context()
      // `nonisolated(unsafe)`: the compiler refuses the misuse that has to trap.
      nonisolated(unsafe) let book = context.performAndWait { context.make("Book", ["title": "One"]) }
      _ = book.members("tags")
    }
    expectSentence(result, "/Book/t", "private queue")
  }

  @Test func usingTheMainContextElsewhereTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore()
      let context = NSManagedObjectContext(.mainQueue)
      context.persistentStoreCoordinator = store.coordinator
      await Task.detached { _ = context.make("Book") }.value
    }
    expectSentence(result, "main queue")
  }

  @Test(arguments: ContextUse.allCases)
  func everyUseOfAContextOutsideItsQueueTraps(_ use: ContextUse) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [use] in
      let store = try TemporaryStore()
      let context = store.context()
      context.name = "worker"
      try use.run(on: context)
    }
    expectSentence(result, "The context \"worker\"", "the private queue of", "perform(_:)")
  }

  @Test(arguments: ObjectUse.allCases)
  func everyUseOfAnObjectOutsideItsQueueTraps(_ use: ObjectUse) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [use] in
      let store = try TemporaryStore()
      let (context, other) = (store.context(), store.context())
      (context.name, other.name) = ("worker", "intruder")
      // `nonisolated(unsafe)`: the compiler refuses the misuse that has to trap.
      nonisolated(unsafe) let book = try context.performAndWait { () throws -> NSManagedObject in
        let book = context.make("Book", ["title": "One"])
        try context.save()
        context.refresh(book, mergeChanges: false)
        return book
      }
      other.performAndWait { use.run(on: book) }
    }
    expectSentence(
      result, "/Book/p1", "on the private queue of the context \"intruder\"",
      "the private queue of the context \"worker\"")
  }

  @Test func aContextThatIsConfinedToAThreadTrapsOnAnother() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore()
      let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
      context.name = "importer"
      context.persistentStoreCoordinator = store.coordinator
      let ended = DispatchSemaphore(value: 0)
      let thread = Thread {
        _ = context.hasChanges
        ended.signal()
      }
      thread.start()
      ended.wait()
    }
    expectSentence(result, "\"importer\"", "was used on the thread", "but belongs to the thread")
  }

  @Test func aContextThatIsConfinedToAThreadHasNoQueue() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      NSManagedObjectContext(concurrencyType: .confinementConcurrencyType).performAndWait {}
    }
    expectSentence(result, "confined to a thread", "no queue")
  }

  @Test func aContextThatIsConfinedToAThreadIsNoParent() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let child = NSManagedObjectContext(.privateQueue)
      child.parent = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    }
    expectSentence(result, "cannot be a parent")
  }

  @Test func relatingObjectsOfTwoContextsTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore()
      let (context, other) = (store.context(), store.context())
      context.performAndWait {
        other.performAndWait { context.make("Book").setValue(other.make("Author"), forKey: "author") }
      }
    }
    expectSentence(result, "Book.author", "different contexts")
  }

  @Test(arguments: ["deleted", "refreshed", "given a permanent ID", "assigned to a store", "checked for conflicts"])
  func aMethodThatGetsAnotherContextsObjectTraps(action: String) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [action] in
      let store = try TemporaryStore()
      let (context, other) = (store.context(), store.context())
      try context.performAndWait {
        try other.performAndWait {
          let book = other.make("Book")
          switch action {
          case "deleted": context.delete(book)
          case "refreshed": context.refresh(book, mergeChanges: false)
          case "given a permanent ID": try context.obtainPermanentIDs(for: [book])
          case "assigned to a store": context.assign(book, to: store.coordinator.persistentStores[0])
          default: context.detectConflicts(for: book)
          }
        }
      }
    }
    expectSentence(result, "/Book/t", "another context", action)
  }

  @Test func aValueThatAnAttributeCannotHoldTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore()
      store.context().performAndWaitWith { $0.make("Book").setValue("seven", forKey: "pages") }
    }
    expectSentence(result, "Book.pages", "integer", "String")
  }

  @Test func whatNeedsNoQueueTrapsNowhere() throws {
    let store = try TemporaryStore()
    let context = store.context()
    // `nonisolated(unsafe)`: the compiler cannot know that these uses need no queue.
    nonisolated(unsafe) let book = try context.performAndWait { () throws -> NSManagedObject in
      let book = context.make("Book", ["title": "One"])
      try context.save()
      return book
    }
    #expect(!book.objectID.isTemporaryID && book.entity.name == "Book" && !book.isFault)
    #expect(context.concurrencyType == .privateQueueConcurrencyType && context.persistentStoreCoordinator != nil)
  }
}

/// The uses of a context that need its queue.
enum ContextUse: String, CaseIterable, Codable, Sendable {
  case fetch, count, save, insert, hasChanges, insertedObjects, updatedObjects, deletedObjects, registeredObjects
  case objectWithID, existingObject, registeredObject, refreshAll, reset, rollback, processPendingChanges

  func run(on context: NSManagedObjectContext) throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    let coordinator = try #require(context.persistentStoreCoordinator)
    let store = try #require(coordinator.persistentStores.first)
    let uri = try #require(URL(string: "x-coredata://\(store.identifier ?? "")/Book/p1"))
    let id = try #require(coordinator.managedObjectID(forURIRepresentation: uri))
    switch self {
    case .fetch: _ = try context.fetch(request)
    case .count: _ = try context.count(for: request)
    case .save: try context.save()
    case .insert: context.make("Book")
    case .hasChanges: _ = context.hasChanges
    case .insertedObjects: _ = context.insertedObjects
    case .updatedObjects: _ = context.updatedObjects
    case .deletedObjects: _ = context.deletedObjects
    case .registeredObjects: _ = context.registeredObjects
    case .objectWithID: _ = context.object(with: id)
    case .existingObject: _ = try context.existingObject(with: id)
    case .registeredObject: _ = context.registeredObject(for: id)
    case .refreshAll: context.refreshAllObjects()
    case .reset: context.reset()
    case .rollback: context.rollback()
    case .processPendingChanges: context.processPendingChanges()
    }
  }
}

/// The uses of an object that need its context's queue.
enum ObjectUse: String, CaseIterable, Codable, Sendable {
  case read, readPrimitive, write, writePrimitive, toMany, mutableSet, description, changedValues, committedValues
  case hasFault, objectIDs, willAccess

  func run(on book: NSManagedObject) {
    switch self {
    case .read: _ = book.value(forKey: "title")
    case .readPrimitive: _ = book.primitiveValue(forKey: "title")
    case .write: book.setValue("Two", forKey: "title")
    case .writePrimitive: book.setPrimitiveValue("Two", forKey: "title")
    case .toMany: _ = book.value(forKey: "tags")
    case .mutableSet: _ = book.mutableSetValue(forKey: "tags").count
    case .description: _ = book.description
    case .changedValues: _ = book.changedValues()
    case .committedValues: _ = book.committedValues(forKeys: nil)
    case .hasFault: _ = book.hasFault(forRelationshipNamed: "tags")
    case .objectIDs: _ = book.objectIDs(forRelationshipNamed: "tags")
    case .willAccess: book.willAccessValue(forKey: "title")
    }
  }
}
