import Testing

@testable import CoreData

/// An app's own stores, used by contexts.
@Suite struct CustomStoreTests {
  static let kinds = [StoreKind.cards, .shelf]

  @Test(arguments: kinds)
  func objectsAreSavedFetchedChangedAndDeleted(kind: StoreKind) throws {
    let stack = try StoreStack(kind)
    try stack.perform { context in
      let author = context.make("Author", ["name": "Ada", "born": Date(timeIntervalSinceReferenceDate: 7)])
      for (title, pages) in [("one", 1), ("two", 2), ("three", 3)] {
        context.make("Book", ["title": title, "pages": pages, "author": author])
      }
      try context.save()
      #expect(!author.objectID.isTemporaryID && author.objectID.persistentStore === stack.store)
    }
    try stack.perform { context in
      let books = try context.all("Book", where: "pages > 1 AND author.name == 'Ada'", sort: "title")
      #expect(books.map { $0.text("title") } == ["three", "two"])
      books[0].setValue("changed", forKey: "title")
      context.delete(books[1])
      try context.save()
    }
    try stack.perform { context in
      try #expect(context.all("Book", sort: "title").map { $0.text("title") } == ["changed", "one"])
      let author = try #require(context.all("Author").first)
      #expect((author.value(forKey: "books") as? NSSet)?.count == 2)
      #expect(author.value(forKey: "born") as? Date == Date(timeIntervalSinceReferenceDate: 7))
      try #expect(context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Book")) == 2)
    }
    // And another coordinator finds all of it by URI.
    let uri = try stack.perform { try $0.all("Book", where: "title == 'changed'")[0].objectID.uriRepresentation() }
    let other = try stack.another()
    let context = stack.context(other)
    try context.performAndWait {
      let id = try #require(other.managedObjectID(forURIRepresentation: uri))
      try #expect(context.existingObject(with: id).text("title") == "changed")
      #expect(id.uriRepresentation() == uri)
    }
  }

  @Test(arguments: kinds)
  func twoContextsThatChangeOneObjectAreInConflict(kind: StoreKind) throws {
    // first                    second
    // reads                    reads
    // saves "mine"
    //                          saves "theirs": 133020
    let stack = try StoreStack(kind)
    try stack.perform { context in
      context.make("Tag", ["label": "old"])
      try context.save()
    }
    let (first, second) = (stack.context(), stack.context())
    let mine = try first.performAndWait { try first.all("Tag")[0] }
    let theirs = try second.performAndWait { try second.all("Tag")[0] }
    _ = (first.performAndWait { mine.text("label") }, second.performAndWait { theirs.text("label") })
    try first.performAndWait {
      mine.setValue("mine", forKey: "label")
      try first.save()
      mine.setValue("mine again", forKey: "label")
      try first.save()
    }
    try second.performAndWait {
      theirs.setValue("theirs", forKey: "label")
      expectError(133020) { try second.save() }
      second.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      try second.save()
    }
    try stack.perform { try #expect($0.all("Tag").map { $0.text("label") } == ["theirs"]) }
  }

  @Test(arguments: kinds)
  func aStoreSeesTheRelationshipsThatNewObjectsHave(kind: StoreKind) throws {
    let stack = try StoreStack(kind)
    try stack.perform { context in
      let tags = ["a", "b", "c"].map { context.make("Tag", ["label": $0]) }
      tags[0].setValue(NSOrderedSet(array: [tags[2], tags[1]]), forKey: "ordered")
      context.make("Book", ["title": "one", "tags": Set(tags)])
      try context.save()
      tags[0].mutableOrderedSetValue(forKey: "ordered").remove(tags[2])
      tags[0].mutableOrderedSetValue(forKey: "ordered").add(tags[0])
      try context.save()
    }
    try stack.perform { context in
      let tags = try context.all("Tag", sort: "label")
      let ordered = (tags[0].value(forKey: "ordered") as? NSOrderedSet)?.array
      #expect(ordered?.compactMap { ($0 as? NSManagedObject)?.text("label") } == ["b", "a"])
      try #expect((context.all("Book")[0].value(forKey: "tags") as? NSSet)?.count == 3)
    }
  }

  @Test(arguments: kinds)
  func permanentIDsAreGivenBeforeTheSave(kind: StoreKind) throws {
    let stack = try StoreStack(kind)
    try stack.perform { context in
      let (tag, other) = (context.make("Tag", ["label": "a"]), context.make("Tag", ["label": "b"]))
      other.setValue(NSOrderedSet(array: [tag]), forKey: "ordered")
      try context.obtainPermanentIDs(for: [tag])
      let id = tag.objectID
      #expect(!id.isTemporaryID)
      try context.save()
      #expect(tag.objectID == id)
    }
    try stack.perform { context in
      let other = try #require(context.all("Tag", where: "label == 'b'").first)
      #expect((other.value(forKey: "ordered") as? NSOrderedSet)?.count == 1)
    }
  }

  // MARK: Atomic stores

  @Test func aSaveThatAnAtomicStoreRefusesLeavesRowsAndNodes() throws {
    let stack = try StoreStack(.cards)
    let store = try #require(stack.store as? FillableCardStore)
    try stack.perform { context in
      let tag = context.make("Tag", ["label": "kept"])
      try context.save()
      store.isFull = true
      tag.setValue("changed", forKey: "label")
      context.make("Tag", ["label": "new"])
      expectError(CocoaError.fileWriteOutOfSpace.rawValue) { try context.save() }
      #expect(store.cacheNodes().map { $0.value(forKey: "label") as? String } == ["kept"])
      try stack.perform { try #expect($0.all("Tag").map { $0.text("label") } == ["kept"]) }
      store.isFull = false
      try context.save()
    }
    let other = try stack.context(stack.another())
    try other.performAndWait {
      try #expect(other.all("Tag", sort: "label").map { $0.text("label") } == ["changed", "new"])
    }
  }

  @Test func nodesKnowTheirObjectsAndReferences() throws {
    let stack = try StoreStack(.cards)
    let store = try #require(stack.store as? FillableCardStore)
    let tag = try #require(stack.coordinator.managedObjectModel.entitiesByName["Tag"])
    let id = store.objectID(for: tag, withReferenceObject: "card 1/2")
    #expect(store.objectID(for: tag, withReferenceObject: "card 1/2") == id)
    #expect(store.referenceObject(for: id) as? String == "card 1/2" && id.uriString.hasSuffix("/Tag/pcard%201%2F2"))
    #expect(stack.coordinator.objectID(forURI: id.uriString) == id)
    #expect(store.cacheNode(for: id) == nil)
    for reference in ["17", "0", "p"] {
      let id = store.objectID(for: tag, withReferenceObject: reference)
      #expect(stack.coordinator.objectID(forURI: id.uriString) == id)
      #expect(store.objectID(for: tag, withReferenceObject: 17) != id)
    }
    let node = NSAtomicStoreCacheNode(objectID: id)
    #expect(node.value(forKey: "label") == nil && node.propertyCache == nil)
    node.setValue("a", forKey: "label")
    #expect(node.value(forKey: "label") as? String == "a" && node.propertyCache?["label"] as? String == "a")
    node.setValue(nil, forKey: "label")
    #expect(node.value(forKey: "label") == nil)
  }

  // MARK: What a class has to do

  // `@unchecked Sendable`: neither adds state to its superclass.
  final class Forgetful: NSIncrementalStore, @unchecked Sendable {
    override func loadMetadata() throws { metadata = [:] }
  }

  final class Bare: NSAtomicStore, @unchecked Sendable {}

  @Test func aStoreWithoutAUUIDIsNotOpened() throws {
    NSPersistentStoreCoordinator.registerStoreClass(Forgetful.self, forStoreType: "Forgetful")
    NSPersistentStoreCoordinator.registerStoreClass(Bare.self, forStoreType: "Bare")
    defer {
      for type in ["Forgetful", "Bare"] { NSPersistentStoreCoordinator.registerStoreClass(nil, forStoreType: type) }
    }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    for type in ["Forgetful", "Bare"] {
      let error = #expect(throws: NSError.self) {
        try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: nil)
      }
      #expect(error?.code == 134080 && error?.localizedDescription.contains(NSStoreUUIDKey) == true)
      #expect(error?.localizedDescription.contains(type) == true)
      expectError(134070) {
        try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: type, at: URL(fileURLWithPath: "/dev/null"))
      }
    }
    #expect(coordinator.persistentStores.isEmpty)
  }
}
