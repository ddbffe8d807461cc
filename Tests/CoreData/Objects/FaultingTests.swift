import CoreData
import Testing

@Suite struct FaultingTests {
  private func storeWithBook() throws -> (TemporaryStore, NSManagedObjectID) {
    let store = try TemporaryStore(LibraryModel.makeWithClasses())
    let id = try store.save { context in
      let book = context.make("Book", ["title": "One", "pages": 7])
      book.setValue(context.make("Author", ["name": "Ada"]), forKey: "author")
      return book
    }.objectID
    return (store, id)
  }

  @Test func identityAndStateDoNotFireAFaultAndReadingDoes() throws {
    let (store, id) = try storeWithBook()
    try store.read { context in
      let book = context.object(with: id)
      _ = (book.objectID, book.entity, book.managedObjectContext, book.hash, book.description, book.hasChanges)
      #expect(book == context.object(with: id))
      #expect(book.isFault)
      #expect(book.hasFault(forRelationshipNamed: "author") && book.hasFault(forRelationshipNamed: "tags"))
      #expect(book.isFault)
      #expect(book.text("title") == "One")
      #expect(!book.isFault)
      #expect(book.hasFault(forRelationshipNamed: "author"))
      let author = try #require(book.object("author"))
      #expect(author.isFault)
      #expect(author.text("name") == "Ada")
      #expect(!book.hasFault(forRelationshipNamed: "author"))
    }
  }

  @Test func aFetchedObjectIsAFaultWhoseFiringNeedsNoMoreIO() throws {
    let (store, _) = try storeWithBook()
    try store.read { context in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      let book = try #require(context.fetch(request).first as? RecordingBook)
      #expect(book.isFault)
      #expect(book.calls.isEmpty)
      // The fetch cached the row, so later writes of others are not seen.
      try store.save { try $0.all("Book")[0].setValue("Two", forKey: "title") }
      #expect(book.text("title") == "One")
      #expect(book.calls == ["awakeFromFetch"])
    }
    try store.read { context in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.returnsObjectsAsFaults = false
      let book = try #require(context.fetch(request).first as? RecordingBook)
      #expect(!book.isFault)
      #expect(book.calls == ["awakeFromFetch"])
    }
  }

  @Test func awakeFromFetchRunsOncePerRealisationAndDirtiesNothing() throws {
    let (store, id) = try storeWithBook()
    try store.read { context in
      let book = try #require(context.object(with: id) as? RecordingBook)
      #expect(book.calls.isEmpty)
      #expect(book.text("note") == "set when fetched")
      #expect(book.text("title") == "One")
      #expect(!book.hasChanges && !context.hasChanges)
      context.refresh(book, mergeChanges: false)
      #expect(book.isFault)
      #expect(book.text("title") == "One")
      #expect(
        book.calls == ["awakeFromFetch", "willTurnIntoFault", "didTurnIntoFault", "awakeFromFetch"])
    }
  }

  @Test func aChangeAfterAwakeFromFetchIsSaved() throws {
    let (store, id) = try storeWithBook()
    try store.save { $0.object(with: id).setValue("Two", forKey: "title") }
    try #expect(store.sql("SELECT ZTITLE, Z_OPT FROM ZBOOK") == [["Two", "2"]])
  }

  @Test func aPrimitiveChangeIsSavedWithTheNextChangeAndNotAlone() throws {
    let (store, id) = try storeWithBook()
    try store.read { context in
      let book = context.object(with: id)
      book.setPrimitiveValue("Silent", forKey: "title")
      #expect(!book.hasChanges && book.changedValues().isEmpty)
      book.setValue(8, forKey: "pages")
      try context.save()
    }
    try #expect(store.sql("SELECT ZTITLE, ZPAGES FROM ZBOOK") == [["Silent", "8"]])
  }

  @Test func anObjectWhoseRowIsMissingReadsAsNilAndBecomesDeleted() throws {
    let (store, id) = try storeWithBook()
    try store.save { $0.delete($0.object(with: id)) }
    try store.read { context in
      let book = context.object(with: id)
      #expect(book.isFault)
      #expect(book.text("title") == nil)
      #expect(book.isDeleted)
      #expect(context.deletedObjects == [book])
      #expect {
        try context.existingObject(with: id)
      } throws: { ($0 as NSError).code == 133000 }
      try context.save()
      #expect(!context.hasChanges)
    }
  }

  @Test func existingObjectRealisesOrThrows() throws {
    let (store, id) = try storeWithBook()
    try store.read { context in
      #expect(context.registeredObject(for: id) == nil)
      let book = try context.existingObject(with: id)
      #expect(!book.isFault)
      #expect(context.registeredObject(for: id) === book)
    }
    try store.save { $0.delete($0.object(with: id)) }
    try store.read { context in
      #expect {
        try context.existingObject(with: id)
      } throws: { ($0 as NSError).domain == NSCocoaErrorDomain && ($0 as NSError).code == 133000 }
    }
  }

  @Test func initialisersOfSubclassesRunAndFetchedValuesWin() throws {
    let store = try TemporaryStore(LibraryModel.makeWithClasses())
    let id = try store.save { context in
      let author = NamedAuthor(context: context)
      #expect(author.text("name") == "named at birth")
      return author
    }.objectID
    try store.read { context in
      let author = context.object(with: id)
      #expect(author.text("name") == "named at birth")
      #expect(!author.hasChanges)
      author.setValue("renamed", forKey: "name")
      #expect(author.committedValues(forKeys: ["name"])["name"] as? String == "named at birth")
      try context.save()
    }
    try #expect(store.sql("SELECT ZNAME FROM ZAUTHOR") == [["renamed"]])
  }

  @Test func defaultsAreThereAtOnceAndAwakeFromInsertRunsOnce() throws {
    let store = try TemporaryStore(LibraryModel.makeWithClasses())
    try store.read { context in
      let book = RecordingBook(context: context)
      #expect(book.value(forKey: "pages") as? Int == 0)
      #expect(book.value(forKey: "isRead") as? Bool == false)
      #expect(book.text("note") == "set when inserted")
      book.setValue("T", forKey: "title")
      try context.save()
      #expect(book.calls == ["awakeFromInsert", "willSave", "validateForInsert", "didSave"])
      #expect(book.text("note") == "set when inserted")
    }
  }

  @Test func anObjectMadeWithoutContextKeepsItsValuesWhenInserted() throws {
    let store = try TemporaryStore()
    try store.read { context in
      let entity = try #require(NSEntityDescription.entity(forEntityName: "Book", in: context))
      let book = NSManagedObject(entity: entity, insertInto: nil)
      #expect(book.managedObjectContext == nil)
      book.setValue("Loose", forKey: "title")
      context.insert(book)
      #expect(book.isInserted)
      try context.save()
      #expect(!book.objectID.isTemporaryID)
    }
    try #expect(store.sql("SELECT ZTITLE, ZPAGES FROM ZBOOK") == [["Loose", "0"]])
  }
}
