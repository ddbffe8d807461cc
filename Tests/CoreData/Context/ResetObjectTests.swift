import CoreData
import Testing

/// What is left of objects after a reset, and of new ones after a refresh.
@Suite struct ResetObjectTests {
  private func library() throws -> (TemporaryStore, NSManagedObjectID) {
    let store = try TemporaryStore()
    let book = try store.save { context in
      let author = context.make("Author", ["name": "Ada"])
      let tags = Set(["a", "b"].map { context.make("Tag", ["label": $0]) })
      return context.make("Book", ["title": "One", "pages": 7, "author": author, "tags": tags])
    }
    return (store, book.objectID)
  }

  @Test func aResetIsToldWithTheIDsOfAllObjects() throws {
    let (store, bookID) = try library()
    try store.read { context in
      let book = try context.existingObject(with: bookID)
      let log = NotificationLog(context)
      context.reset()
      let all = log.last(.NSManagedObjectContextObjectsDidChange)?[NSInvalidatedAllObjectsKey]
      #expect(all as? [NSManagedObjectID] == [bookID])
      withExtendedLifetime(book) {}
    }
  }

  @Test func aResetIsToldEvenIfNothingIsHeld() throws {
    let (store, _) = try library()
    try store.read { context in
      let log = NotificationLog(context)
      context.reset()
      #expect(log.names == [.NSManagedObjectContextObjectsDidChange])
      let all = log.last(.NSManagedObjectContextObjectsDidChange)?[NSInvalidatedAllObjectsKey]
      #expect((all as? [NSManagedObjectID])?.isEmpty == true)
    }
  }

  @Test func anObjectCanBeTouchedAfterAReset() throws {
    let (store, bookID) = try library()
    try store.read { context in
      let book = try context.existingObject(with: bookID)
      let fault = try context.all("Author")[0]
      #expect(book.members("tags").count == 2)
      context.reset()
      #expect(book.managedObjectContext == nil && book.isFault && !book.hasChanges)
      book.willAccessValue(forKey: nil)
      #expect(!book.isFault)
      #expect(book.text("title") == nil && book.value(forKey: "pages") as? Int ?? 0 == 0)
      #expect(book.object("author") == nil && book.members("tags").isEmpty)
      #expect(fault.text("name") == nil && fault.members("books").isEmpty)
      book.setValue("changed", forKey: "title")
      #expect(book.text("title") == "changed" && !context.hasChanges)
      // The next fetch has new objects with the row's values.
      let again = context.object(with: bookID)
      #expect(again !== book && again.text("title") == "One")
      try context.save()
    }
  }

  @Test func aNewObjectIsAFaultAfterARefreshThatDropsItsChanges() throws {
    let store = try TemporaryStore()
    try store.read { context in
      let book = context.make("Book", ["title": "new", "pages": 7])
      context.refresh(book, mergeChanges: true)
      #expect(!book.isFault && book.text("title") == "new")
      context.refresh(book, mergeChanges: false)
      #expect(book.isFault && book.isInserted && context.insertedObjects == [book])
      // There is no row to read: it has the default values again.
      #expect(book.text("title") == nil && book.value(forKey: "pages") as? Int == 0 && !book.isFault)
      book.setValue("again", forKey: "title")
      try context.save()
    }
    try #expect(store.sql("SELECT ZTITLE, ZPAGES FROM ZBOOK") == [["again", "0"]])
  }
}
