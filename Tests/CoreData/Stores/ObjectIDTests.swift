import CoreData
import Testing

@Suite struct ObjectIDTests {
  @Test func aPermanentURIHasTheFormOfApplesAndLeadsBack() throws {
    let store = try TemporaryStore()
    let identifier = try #require(store.coordinator.persistentStores[0].identifier)
    try store.read { context in
      let comic = context.make("Comic", ["title": "One"])
      #expect(comic.objectID.isTemporaryID && comic.objectID.persistentStore == nil)
      let temporary = comic.objectID.uriRepresentation().absoluteString
      #expect(temporary.hasPrefix("x-coredata:///Comic/t"))
      #expect(store.coordinator.managedObjectID(forURIRepresentation: try #require(URL(string: temporary))) == nil)
      try context.save()
      let id = comic.objectID
      #expect(!id.isTemporaryID && id.uriRepresentation().absoluteString == "x-coredata://\(identifier)/Comic/p1")
      #expect(id.entity.name == "Comic" && id.persistentStore === store.coordinator.persistentStores[0])
      let back = try #require(store.coordinator.managedObjectID(forURIRepresentation: id.uriRepresentation()))
      #expect(back == id && back.hash == id.hash && Set([back, id]).count == 1)
      #expect(context.object(with: back) === comic)
      // The ID of an object that was fetched through the parent entity has the object's own entity.
      let request = NSFetchRequest<NSManagedObjectID>(entityName: "Book")
      request.resultType = .managedObjectIDResultType
      let ids = try context.fetch(request)
      #expect(ids == [id] && ids[0].entity.name == "Comic")
    }
  }

  @Test func aURIOfAnUnknownStoreEntityOrFormLeadsNowhere() throws {
    let store = try TemporaryStore()
    let identifier = try #require(store.coordinator.persistentStores[0].identifier)
    for text in [
      "x-coredata://\(UUID().uuidString)/Book/p1", "x-coredata://\(identifier)/Nothing/p1",
      "x-coredata://\(identifier)/Book/t1", "x-coredata://\(identifier)/Book/p", "x-coredata://\(identifier)/Book/p-1",
      "x-coredata://\(identifier)/Book/p0", "x-coredata://\(identifier)/Book/1", "x-coredata://\(identifier)/Book",
      "x-coredata://\(identifier)/Book/p1/x", "http://\(identifier)/Book/p1",
      "x-coredata://\(identifier)/Book/p99999999999999999999",
    ] {
      let url = try #require(URL(string: text))
      #expect(store.coordinator.managedObjectID(forURIRepresentation: url) == nil, "\(text)")
    }
    // The existence of the row is not checked.
    let url = try #require(URL(string: "x-coredata://\(identifier)/Book/p77"))
    let id = try #require(store.coordinator.managedObjectID(forURIRepresentation: url))
    try store.read { context in
      #expect(context.object(with: id).isFault)
      #expect { try context.existingObject(with: id) } throws: { ($0 as NSError).code == 133000 }
    }
  }

  @Test func aURIIsTheSameInAnotherProcess() throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Book", ["title": "One"]) }.objectID
    let other = try store.otherCoordinator()
    let theirs = try #require(other.managedObjectID(forURIRepresentation: id.uriRepresentation()))
    #expect(theirs.uriRepresentation() == id.uriRepresentation())
    #expect(theirs.persistentStore === other.persistentStores[0])
  }

  @Test func aTemporaryIDStillFindsItsObjectAfterTheSave() throws {
    let store = try TemporaryStore()
    try store.read { context in
      let book = context.make("Book", ["title": "One"])
      let temporary = book.objectID
      #expect(context.object(with: temporary) === book)
      try context.obtainPermanentIDs(for: [book])
      #expect(!book.objectID.isTemporaryID && book.isInserted && book.objectID != temporary)
      #expect(context.object(with: temporary) === book && context.object(with: book.objectID) === book)
      let id = book.objectID
      try context.save()
      #expect(book.objectID == id && !book.isInserted)
    }
    try #expect(store.sql("SELECT Z_PK FROM ZBOOK") == [["1"]])
  }

  @Test func obtainedIDsHoldInRelationshipsAndAreNotGivenTwice() throws {
    let store = try TemporaryStore()
    try store.read { context in
      let author = context.make("Author", ["name": "Ada"])
      let book = context.make("Book", ["title": "One", "author": author])
      try context.obtainPermanentIDs(for: [author, author])
      #expect(book.object("author") === author && author.members("books") == [book])
      let second = context.make("Author", ["name": "Bob"])
      try context.save()
      #expect(author.objectID.uriRepresentation().lastPathComponent == "p1")
      #expect(second.objectID.uriRepresentation().lastPathComponent == "p2")
    }
    try #expect(store.sql("SELECT ZAUTHOR FROM ZBOOK") == [["1"]])
  }

  @Test func keysAreNeverGivenAgain() throws {
    let store = try TemporaryStore()
    try store.save { context in for title in ["a", "b"] { context.make("Book", ["title": title]) } }
    try store.save { context in for book in try context.all("Book") { context.delete(book) } }
    let id = try store.save { $0.make("Comic", ["title": "c"]) }.objectID
    #expect(id.uriRepresentation().lastPathComponent == "p3")
  }

  @Test func anIDOutlivesItsStore() throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Book", ["title": "One"]) }.objectID
    let uri = id.uriRepresentation()
    try store.coordinator.remove(store.coordinator.persistentStores[0])
    #expect(id.persistentStore == nil && id.uriRepresentation() == uri && id.entity.name == "Book")
    #expect(store.coordinator.managedObjectID(forURIRepresentation: uri) == nil)
    try store.coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.url, options: nil)
    let again = try #require(store.coordinator.managedObjectID(forURIRepresentation: uri))
    try store.read { #expect($0.object(with: again).text("title") == "One") }
  }
}
