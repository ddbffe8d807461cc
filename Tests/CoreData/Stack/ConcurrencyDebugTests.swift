import CoreData
import Testing

/// Each wrong use ends the process with a sentence that names what was used and where it belongs.
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
      nonisolated(unsafe) let book = context.performAndWait { context.make("Book", ["title": "One"]) }
      other.performAndWait { book.setValue("Two", forKey: "title") }
    }
    expectSentence(result, "/Book/t", "\"first\"")
  }

  @Test func readingATomanyOutsideItsQueueTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore()
      let context = store.context()
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

  @Test func deletingAnotherContextsObjectTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore()
      let (context, other) = (store.context(), store.context())
      context.performAndWait { other.performAndWait { context.delete(other.make("Book")) } }
    }
    expectSentence(result, "/Book/t", "another context")
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
    nonisolated(unsafe) let book = try context.performAndWait { () throws -> NSManagedObject in
      let book = context.make("Book", ["title": "One"])
      try context.save()
      return book
    }
    #expect(!book.objectID.isTemporaryID && book.entity.name == "Book" && !book.isFault)
    #expect(context.concurrencyType == .privateQueueConcurrencyType && context.persistentStoreCoordinator != nil)
  }
}
