import CoreData
import StoreTools
import Testing

/// The snapshot of a pinned context. `other` is another coordinator on the file, like that of another process.
@Suite struct QueryGenerationTests {
  private func library() throws -> TemporaryStore {
    let store = try TemporaryStore()
    try store.save { context in
      let author = context.make("Author", ["name": "Ada"])
      for number in 1...3 { context.make("Book", ["title": "b\(number)", "pages": number, "author": author]) }
    }
    return store
  }

  /// Another context, of the same or of another coordinator, changes b1, deletes b2 and adds b4.
  private func interfere(_ store: TemporaryStore, _ coordinator: NSPersistentStoreCoordinator? = nil) throws {
    let context = (coordinator ?? store.coordinator).context()
    try context.performAndWait {
      let books = try context.all("Book", sort: "pages")
      books[0].setValue("changed", forKey: "title")
      context.delete(books[1])
      context.make("Book", ["title": "b4", "pages": 4, "author": try #require(context.all("Author").first)])
      try context.save()
    }
  }

  @Test func aSaveTellsWhatAPinnedContextSeesAfterIt() throws {
    let store = try library()
    let context = store.context()
    try context.performAndWait {
      let log = NotificationLog(context)
      context.make("Tag", ["label": "a"])
      try context.save()
      #expect(log.last(.NSManagedObjectContextDidSave)?[NSManagedObjectContextQueryGenerationKey] == nil)
      try context.setQueryGenerationFrom(.current)
      _ = try titles(context)
      let before = try #require(context.queryGenerationToken)
      context.make("Tag", ["label": "b"])
      try context.save()
      let key = NSManagedObjectContext.NotificationKey.queryGeneration.rawValue
      let told = log.last(.NSManagedObjectContextDidSave)?[key] as? NSQueryGenerationToken
      #expect(told == context.queryGenerationToken && told != nil && told != before)
    }
  }

  private func titles(_ context: NSManagedObjectContext) throws -> [String?] {
    try context.all("Book", sort: "pages").map { $0.text("title") }
  }

  @Test(arguments: [false, true])
  func aPinnedContextSeesAFixedState(inAnotherCoordinator: Bool) throws {
    let store = try library()
    let other = inAnotherCoordinator ? try store.otherCoordinator() : nil
    let context = store.context()
    try context.performAndWait {
      // context                  | another
      // -------------------------+------------------------
      // pins, fetches            |
      //                          | changes, deletes, adds
      // fetches, counts, faults  |
      try context.setQueryGenerationFrom(.current)
      #expect(context.queryGenerationToken == .current)
      try #expect(context.all("Author").count == 1)
      let pinned = try #require(context.queryGenerationToken)
      #expect(pinned != .current)
      try interfere(store, other)
      try #expect(titles(context) == ["b1", "b2", "b3"])
      try #expect(context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Book")) == 3)
      // The same holds for faults, to-many relationships, dictionaries and single objects.
      let author = try context.all("Author")[0]
      #expect(Set(author.members("books").map { $0.text("title") }) == ["b1", "b2", "b3"])
      let rows = NSFetchRequest<NSDictionary>(entityName: "Book")
      rows.resultType = .dictionaryResultType
      try #expect(context.fetch(rows).count == 3)
      context.refreshAllObjects()
      #expect(author.members("books").count == 3)
      let gone = try #require(try context.all("Book", where: "title == 'b2'").first).objectID
      try #expect(context.existingObject(with: gone).text("title") == "b2")
      // Another context without a pin sees the newest rows, and its reads do not change the pinned one's.
      try store.read { unpinned in
        if inAnotherCoordinator { unpinned.reset() }
        try #expect(titles(unpinned) == ["changed", "b3", "b4"])
        #expect(throws: (any Error).self) { try unpinned.existingObject(with: gone) }
      }
      // Without a pin the context reads the current file.
      try context.setQueryGenerationFrom(nil)
      #expect(context.queryGenerationToken == nil)
      context.refreshAllObjects()
      try #expect(titles(context) == ["changed", "b3", "b4"])
    }
  }

  @Test func aPinBeginsWithTheFirstRead() throws {
    let store = try library()
    try store.read { context in
      try context.setQueryGenerationFrom(.current)
      try interfere(store)
      try #expect(titles(context) == ["changed", "b3", "b4"])
    }
  }

  @Test func savingMergingAndResettingAdvanceThePin() throws {
    let store = try library()
    try store.read { context in
      try context.setQueryGenerationFrom(.current)
      try #expect(titles(context).count == 3)
      try interfere(store)
      context.make("Tag", ["label": "t"])
      try context.save()
      #expect(context.queryGenerationToken == .current)
      context.refreshAllObjects()
      try #expect(titles(context) == ["changed", "b3", "b4"])
      // Pin it again, at the current state.
      try store.save { $0.make("Book", ["title": "b5", "pages": 5]) }
      try #expect(titles(context) == ["changed", "b3", "b4"])
      context.reset()
      try #expect(titles(context) == ["changed", "b3", "b4", "b5"])
      let id = try store.save { $0.make("Book", ["title": "b6", "pages": 6]) }.objectID
      try #expect(titles(context).count == 4)
      NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSInsertedObjectIDsKey: [id]], into: [context])
      try #expect(titles(context).count == 5)
    }
  }

  @Test func contextsMayShareAGeneration() throws {
    let store = try library()
    let first = store.context()
    let second = store.context()
    let token = try first.performAndWait { () throws -> NSQueryGenerationToken? in
      try first.setQueryGenerationFrom(.current)
      _ = try titles(first)
      return first.queryGenerationToken
    }
    try interfere(store)
    try second.performAndWait {
      try second.setQueryGenerationFrom(token?.copy() as? NSQueryGenerationToken)
      try #expect(titles(second) == ["b1", "b2", "b3"])
    }
    // The pin lasts as long as a token of it exists.
    try first.performAndWait { try first.setQueryGenerationFrom(nil) }
    try second.performAndWait { try #expect(titles(second) == ["b1", "b2", "b3"]) }
  }

  @Test func savingOverWhatAnotherChangedSinceThePinIsAConflict() throws {
    let store = try library()
    try store.read { context in
      try context.setQueryGenerationFrom(.current)
      let book = try context.all("Book", where: "title == 'b1'")[0]
      try interfere(store)
      book.setValue("mine", forKey: "title")
      #expect { try context.save() } throws: { ($0 as NSError).code == 133020 }
      #expect(book.text("title") == "mine")
      context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      try context.save()
    }
    try #expect(store.sql("SELECT ZTITLE FROM ZBOOK WHERE ZPAGES = 1") == [["mine"]])
  }

  @Test func aChildReadsWhatItsParentReadsAndCannotBePinned() throws {
    let store = try library()
    let parent = store.context()
    let child = parent.child()
    try parent.performAndWait {
      try parent.setQueryGenerationFrom(.current)
      _ = try titles(parent)
    }
    try interfere(store)
    try child.performAndWait {
      #expect(throws: (any Error).self) { try child.setQueryGenerationFrom(.current) }
      #expect(child.queryGenerationToken != nil && child.queryGenerationToken != .current)
      try #expect(titles(child) == ["b1", "b2", "b3"])
    }
  }

  @Test func anAsynchronousFetchReadsWhatItsContextReads() async throws {
    let store = try library()
    let context = store.context()
    try context.performAndWait {
      try context.setQueryGenerationFrom(.current)
      _ = try titles(context)
    }
    try interfere(store)
    let readTitles: [String] = await withCheckedContinuation { continuation in
      context.perform {
        let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
        request.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: true)]
        let asynchronous = NSAsynchronousFetchRequest(fetchRequest: request) { result in
          continuation.resume(returning: (result.finalResult ?? []).compactMap { $0.text("title") })
        }
        #expect(throws: Never.self) { _ = try context.execute(asynchronous) }
      }
    }
    #expect(readTitles == ["b1", "b2", "b3"])
  }

  @Test func aTokenIsOfItsCoordinatorAndOnlyCurrentIsArchived() throws {
    let store = try library()
    let other = try store.otherCoordinator().context()
    let token = try store.read { context -> NSQueryGenerationToken? in
      try context.setQueryGenerationFrom(.current)
      _ = try titles(context)
      return context.queryGenerationToken
    }
    let pinned = try #require(token)
    other.performAndWait {
      _ = #expect(throws: (any Error).self) { try other.setQueryGenerationFrom(pinned) }
    }
    func copied(_ token: NSQueryGenerationToken) throws -> NSQueryGenerationToken? {
      let data = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
      return try? NSKeyedUnarchiver.unarchivedObject(ofClass: NSQueryGenerationToken.self, from: data)
    }
    try #expect(copied(.current) == .current)
    try #expect(copied(pinned) == nil)
  }

  /// Apple's stores in memory ignore generations. A SQLite database in memory has one connection, which sees all that
  /// is written.
  @Test(arguments: [NSInMemoryStoreType, NSSQLiteStoreType])
  func storesInMemoryAreNotPinned(type: String) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: URL(fileURLWithPath: "/dev/null"))
    let context = coordinator.context()
    try context.performAndWait {
      try context.setQueryGenerationFrom(.current)
      try #expect(titles(context).isEmpty)
      let other = coordinator.context()
      try other.performAndWait {
        other.make("Book", ["title": "b"])
        try other.save()
      }
      try #expect(titles(context) == ["b"])
    }
  }

  /// The cost of a pin: the log cannot start over while the pin reads it. Afterwards it is as short as before.
  @Test func aPinStopsNoWriterAndTheLogIsEndedAfterIt() throws {
    let store = try library()
    let checkpointer = try WALCheckpointer(url: store.url)
    let context = store.context()
    try context.performAndWait {
      try context.setQueryGenerationFrom(.current)
      try #expect(titles(context).count == 3)
      for round in 0..<5 {
        try store.save { context in for number in 0..<50 { context.make("Tag", ["label": "\(round) \(number)"]) } }
      }
      try #expect(checkpointer.checkpoint().pagesLeft > 0)
      try #expect(context.all("Tag").isEmpty)
      try context.setQueryGenerationFrom(nil)
      try #expect(context.all("Tag").count == 250)
    }
    try #expect(checkpointer.checkpoint().pagesLeft == 0)
  }
}
