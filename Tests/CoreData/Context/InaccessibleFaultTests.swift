import CoreData
import Testing

/// A context that continues if a file cannot be read.
// `@unchecked Sendable`: only the context's queue asks and reads.
private final class TolerantContext: NSManagedObjectContext, @unchecked Sendable {
  var questions: [(id: NSManagedObjectID, property: String?, hasError: Bool)] = []

  override func shouldHandleInaccessibleFault(
    _ fault: NSManagedObject, for oid: NSManagedObjectID, triggeredByProperty property: NSPropertyDescription?
  ) -> Bool {
    questions.append((oid, property?.name, inaccessibleFaultError != nil))
    return true
  }
}

@Suite struct InaccessibleFaultTests {
  private func storeWithBook() throws -> (TemporaryStore, NSManagedObjectID) {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Book", ["title": "One", "author": $0.make("Author", ["name": "Ada"])]) }.objectID
    return (store, id)
  }

  private func tolerant(_ coordinator: NSPersistentStoreCoordinator) -> TolerantContext {
    let context = TolerantContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  @Test func aContextMayRefuseMissingRows() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore()
      let id = try store.save { $0.make("Tag") }.objectID
      try store.save { $0.delete($0.object(with: id)) }
      try store.read { context in
        context.shouldDeleteInaccessibleFaults = false
        _ = context.object(with: id).value(forKey: "label")
      }
    }
    expectSentence(result, "could not fulfill a fault", "Tag/p1", "no row")
  }

  @Test func anUnreadableFileEndsTheProcessWithTheReason() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore()
      let id = try store.save { $0.make("Tag") }.objectID
      _ = try store.sql("ALTER TABLE ZTAG RENAME TO HIDDEN")
      try store.read { _ = $0.object(with: id).value(forKey: "label") }
    }
    expectSentence(result, "could not fulfill a fault", "Tag/p1", "ZTAG")
  }

  @Test func aContextOfOnesOwnDecidesAboutEachInaccessibleFault() throws {
    let (store, id) = try storeWithBook()
    try store.save { $0.delete($0.object(with: id)) }
    let context = tolerant(store.coordinator)
    try context.performAndWait {
      context.shouldDeleteInaccessibleFaults = false
      let book = context.object(with: id)
      #expect(book.text("title") == nil && book.isDeleted)
      #expect(context.questions.map(\.id) == [id] && context.questions.map(\.hasError) == [false])
      #expect(context.inaccessibleFaultError == nil)
      try context.save()
    }
  }

  @Test func whatCouldNotBeReadIsNeitherDeletedNorOverwritten() throws {
    let (store, id) = try storeWithBook()
    _ = try store.sql("ALTER TABLE ZBOOK RENAME TO HIDDEN")
    let context = tolerant(store.coordinator)
    try context.performAndWait {
      let book = context.object(with: id)
      #expect(book.text("title") == nil && !book.isDeleted)
      let author = try #require(context.all("Author").first)
      #expect(author.members("books").isEmpty)
      #expect(context.questions.map(\.property) == [nil, "books"])
      #expect(context.questions.map(\.hasError) == [true, true])
      book.setValue("Overwritten", forKey: "title")
      #expect {
        try context.save()
      } throws: { ($0 as NSError).code == CocoaError.Code.sqlite.rawValue }
      _ = try store.sql("ALTER TABLE HIDDEN RENAME TO ZBOOK")
      #expect(throws: (any Error).self) { try context.save() }
      context.reset()
      #expect(context.object(with: id).text("title") == "One")
      context.object(with: id).setValue("Two", forKey: "title")
      try context.save()
    }
    try #expect(store.sql("SELECT ZTITLE FROM ZBOOK") == [["Two"]])
  }
}
