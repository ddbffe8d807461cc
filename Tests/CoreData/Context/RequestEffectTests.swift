import CoreData
import Testing

/// What requests do to their context and to themselves.
@Suite struct RequestEffectTests {
  private let books = NSFetchRequest<NSManagedObject>(entityName: "Book")

  @Test func countingEndsTheEvent() throws {
    let store = try TemporaryStore()
    try store.read { context in
      let author = context.make("Author", ["name": "Ada"])
      context.make("Book", ["title": "One", "author": author])
      try context.save()
      context.delete(author)
      let log = NotificationLog(context)
      // The book follows its author.
      try #expect(context.count(for: books) == 0)
      #expect(log.objects(.NSManagedObjectContextObjectsDidChange, NSDeletedObjectsKey).count == 2)
    }
  }

  @Test(arguments: [NSSQLiteStoreType, NSInMemoryStoreType])
  func aFetchFindsNothingThatFollowsADeletedObject(type: String) throws {
    let context = try libraryContext(type)
    try context.performAndWait {
      let authors = ["Ada", "Bob"].map { context.make("Author", ["name": $0]) }
      for (title, author) in zip(["One", "Two"], authors) { context.make("Book", ["title": title, "author": author]) }
      let passport = context.make("Passport", ["number": "7", "holder": authors[0]])
      try context.save()
      let log = NotificationLog(context)
      // When an author is deleted, then a fetch in the same event finds what a count does.
      context.delete(authors[0])
      try #expect(context.fetch(books).map { $0.text("title") } == ["Two"])
      try #expect(context.all("Passport", where: "holder == nil") == [passport])
      let number = NSFetchRequest<NSNumber>(entityName: "Book")
      number.resultType = .countResultType
      try #expect(context.fetch(number) == [1])
      // The event has not ended by it.
      #expect(log.names.isEmpty)
      try #expect(context.count(for: books) == 1)
      #expect(log.objects(.NSManagedObjectContextObjectsDidChange, NSDeletedObjectsKey).count == 2)
      // A child sees its parent so.
      let child = context.child()
      context.delete(authors[1])
      try child.performAndWait { try #expect(child.fetch(books).isEmpty && child.count(for: books) == 0) }
      #expect(context.deletedObjects.count == 4)
    }
  }

  @Test func aFetchLeavesTheRulesThatWaitForTheSave() throws {
    let context = try libraryContext(NSSQLiteStoreType)
    try context.performAndWait {
      context.propagatesDeletesAtEndOfEvent = false
      let author = context.make("Author", ["name": "Ada"])
      context.make("Book", ["title": "One", "author": author])
      try context.save()
      context.delete(author)
      try #expect(context.fetch(books).count == 1 && context.count(for: books) == 1)
      try context.save()
      try #expect(context.fetch(books).isEmpty)
    }
  }

  @Test func aSecondDeletionPreparesTheObjectAgain() throws {
    let store = try TemporaryStore(LibraryModel.makeWithClasses())
    try store.read { context in
      let book = try #require(context.make("Book", ["title": "One"]) as? RecordingBook)
      try context.save()
      book.calls = []
      context.delete(book)
      context.delete(book)
      #expect(book.calls == ["prepareForDeletion", "prepareForDeletion"])
      #expect(context.deletedObjects == [book])
      try context.save()
    }
  }

  @Test func aRequestByNameHasItsEntityOnceItHasRun() throws {
    let store = try TemporaryStore()
    let other = try TemporaryStore()
    try store.read { context in
      _ = try context.fetch(books)
      #expect(books.entity === store.model.entitiesByName["Book"] && books.entityName == "Book")
      let counted = NSFetchRequest<NSManagedObject>(entityName: "Tag")
      _ = try context.count(for: counted)
      #expect(counted.entity?.name == "Tag")
    }
    // It still runs in a context of another model.
    try other.read { context in
      context.make("Book", ["title": "One"])
      try #expect(context.fetch(books).count == 1)
      #expect(books.entity === other.model.entitiesByName["Book"])
    }
  }

  @Test func aRefreshAfterABatchUpdateHeedsTheStalenessInterval() throws {
    let store = try TemporaryStore()
    try store.read { context in
      let book = context.make("Book", ["title": "One"])
      try context.save()
      let update = NSBatchUpdateRequest(entityName: "Book")
      update.propertiesToUpdate = ["title": "Two"]
      update.resultType = .updatedObjectIDsResultType
      let result = try #require(try context.execute(update) as? NSBatchUpdateResult)
      context.refresh(book, mergeChanges: true)
      #expect(book.text("title") == "One")
      context.refreshAllObjects()
      #expect(book.text("title") == "One")
      context.refresh(book, mergeChanges: false)
      #expect(book.text("title") == "One")
      context.stalenessInterval = 0
      context.refresh(book, mergeChanges: true)
      #expect(book.text("title") == "Two")
      context.stalenessInterval = -1
      // Others, who did not have the row before, read it anew.
      try store.read { try #expect($0.all("Book")[0].text("title") == "Two") }
      update.propertiesToUpdate = ["title": "Three"]
      try context.execute(update)
      context.refresh(book, mergeChanges: false)
      #expect(book.text("title") == "Two")
      let ids = try #require(result.result as? [NSManagedObjectID])
      NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSUpdatedObjectIDsKey: ids], into: [context])
      #expect(book.text("title") == "Three")
    }
  }

  @Test func anAsynchronousFetchMayBeStartedOnAnyThread() async throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Book", ["title": "One"]) }
    let context = store.context()
    let counts = AsyncStream<Int?>.makeStream()
    let request = NSAsynchronousFetchRequest(fetchRequest: books) { result in
      counts.continuation.yield(result.finalResult?.count)
    }
    let started = try context.execute(request) as? NSAsynchronousFetchResult<NSManagedObject>
    #expect(started?.managedObjectContext === context)
    var received = counts.stream.makeAsyncIterator()
    #expect(await received.next() == 1)
    let wrong = NSAsynchronousFetchRequest(fetchRequest: NSFetchRequest<NSManagedObject>(entityName: "Nothing")) {
      counts.continuation.yield($0.operationError == nil ? 0 : nil)
    }
    try context.execute(wrong)
    #expect(await received.next() == .some(nil))
  }
}
