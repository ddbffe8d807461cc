import CoreData
import Testing

@Suite struct MergeTests {
  private func save(
    _ store: TemporaryStore, _ body: (NSManagedObjectContext) throws -> Void
  ) throws -> Notification {
    let context = store.context()
    // `nonisolated(unsafe)`: posted inside `performAndWait`, while this thread waits.
    nonisolated(unsafe) var posted: Notification?
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: context, queue: nil
    ) { posted = $0 }
    defer { NotificationCenter.default.removeObserver(token) }
    try context.performAndWait {
      try body(context)
      try context.save()
    }
    return try #require(posted)
  }

  private func library() throws -> (TemporaryStore, [NSManagedObjectID]) {
    let store = try TemporaryStore()
    let ids = try store.save { context in
      (0..<4).map { context.make("Book", ["title": "\($0)", "pages": $0]) }
    }.map(\.objectID)
    return (store, ids)
  }

  private let changed = Notification.Name.NSManagedObjectContextObjectsDidChange

  @Test func mergingRefreshesWhatIsRealisedAndLeavesFaultsFaults() throws {
    let (store, ids) = try library()
    try store.read { context in
      let realised = try context.existingObject(with: ids[0])
      let fault = context.object(with: ids[1])
      let edited = try context.existingObject(with: ids[2])
      edited.setValue("mine", forKey: "title")
      context.processPendingChanges()
      let log = NotificationLog(context)
      // `nonisolated(unsafe)`: set inside `performAndWait`, while this thread waits.
      nonisolated(unsafe) var newID: NSManagedObjectID?
      let notification = try save(store) { context in
        for id in ids { context.object(with: id).setValue("theirs", forKey: "title") }
        for id in ids { context.object(with: id).setValue(70, forKey: "pages") }
        let new = context.make("Book", ["title": "new"])
        try context.obtainPermanentIDs(for: [new])
        newID = new.objectID
      }
      context.mergeChanges(fromContextDidSave: notification)
      #expect(log.names == [changed, NSManagedObjectContext.didMergeChangesObjectIDsNotification])
      #expect(!realised.isFault && realised.text("title") == "theirs")
      #expect(fault.isFault && fault.text("title") == "theirs")
      #expect(edited.text("title") == "mine" && edited.value(forKey: "pages") as? Int == 70 && edited.isUpdated)
      // Objects that the context does not have cause nothing; it registers new ones as faults.
      #expect(log.objects(changed, NSRefreshedObjectsKey) == [realised, fault, edited])
      let new = context.object(with: try #require(newID))
      #expect(log.objects(changed, NSInsertedObjectsKey) == [new] && new.isFault)
      #expect(!realised.hasChanges && !new.hasChanges)
      try context.save()
    }
    try #expect(store.sql("SELECT ZTITLE, ZPAGES, Z_OPT FROM ZBOOK WHERE Z_PK = 3") == [["mine", "70", "3"]])
  }

  @Test func mergingADeletionDeletesTheObjectsThatAreHeld() throws {
    let (store, ids) = try library()
    try store.read { context in
      let realised = try context.existingObject(with: ids[0])
      let edited = try context.existingObject(with: ids[1])
      let fault = context.object(with: ids[2])
      edited.setValue("mine", forKey: "title")
      let notification = try save(store) { context in for id in ids[0...2] { context.delete(context.object(with: id)) }
      }
      context.processPendingChanges()
      let log = NotificationLog(context)
      context.mergeChanges(fromContextDidSave: notification)
      #expect(log.objects(changed, NSDeletedObjectsKey) == [realised, edited, fault])
      #expect(context.deletedObjects == [realised, edited, fault] && context.updatedObjects.isEmpty)
      #expect(realised.text("title") == "0" && fault.text("title") == nil)
      try #expect(context.all("Book").count == 1)
      try context.save()
      #expect(!context.hasChanges && realised.managedObjectContext == nil && realised.text("title") == "0")
    }
  }

  @Test func mergingRelationshipsReadsThemAnew() throws {
    let store = try TemporaryStore()
    let ids = try store.save { context in
      [context.make("Author", ["name": "Ada"]), context.make("Book", ["title": "One"])]
    }.map(\.objectID)
    try store.read { context in
      let author = try context.existingObject(with: ids[0])
      let mine = context.make("Book", ["title": "mine", "author": author])
      #expect(author.members("books") == [mine])
      let notification = try save(store) { context in
        context.object(with: ids[1]).setValue(context.object(with: ids[0]), forKey: "author")
      }
      context.mergeChanges(fromContextDidSave: notification)
      #expect(author.members("books") == [mine, context.object(with: ids[1])])
      try context.save()
    }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK WHERE ZAUTHOR = 1") == [["2"]])
  }

  @Test(arguments: [true, false])
  func aRemoteSaveIsMergedByIDOrURI(asURIs: Bool) throws {
    let (store, ids) = try library()
    let other = try store.otherCoordinator()
    let writer = other.context()
    let context = store.context()
    let objects = try context.performAndWait { try ids.map { try context.existingObject(with: $0) } }
    let newURI: URL = try writer.performAndWait {
      let mine = try ids.map { try #require(other.managedObjectID(forURIRepresentation: $0.uriRepresentation())) }
      writer.object(with: mine[0]).setValue("theirs", forKey: "title")
      writer.delete(writer.object(with: mine[1]))
      let new = writer.make("Book", ["title": "new"])
      try writer.save()
      return new.objectID.uriRepresentation()
    }
    func form(_ ids: [NSManagedObjectID]) -> Any {
      asURIs ? ids.map { $0.uriRepresentation() } as Any : Set(ids) as Any
    }
    let newID = try #require(store.coordinator.managedObjectID(forURIRepresentation: newURI))
    NSManagedObjectContext.mergeChanges(
      fromRemoteContextSave: [
        NSUpdatedObjectIDsKey: form([ids[0]]), NSDeletedObjectIDsKey: form([ids[1]]),
        NSInsertedObjectIDsKey: form([newID]),
      ], into: [context])
    try context.performAndWait {
      #expect(objects[0].text("title") == "theirs" && !objects[0].isFault)
      #expect(objects[1].isDeleted)
      #expect(objects[2].text("title") == "2")
      #expect(context.object(with: newID).text("title") == "new")
      try #expect(context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Book")) == 4)
    }
  }

  @Test func theNotificationOfAnotherCoordinatorIsMergedToo() throws {
    let (store, ids) = try library()
    let other = try store.otherCoordinator()
    let writer = other.context()
    // `nonisolated(unsafe)`: posted inside `performAndWait`, while this thread waits.
    nonisolated(unsafe) var posted: Notification?
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: writer, queue: nil
    ) { posted = $0 }
    defer { NotificationCenter.default.removeObserver(token) }
    try store.read { context in
      let book = try context.existingObject(with: ids[0])
      try writer.performAndWait {
        try writer.all("Book", where: "title == '0'")[0].setValue("theirs", forKey: "title")
        try writer.save()
      }
      context.mergeChanges(fromContextDidSave: try #require(posted))
      #expect(book.text("title") == "theirs")
    }
  }

  @Test func aContextThatFollowsItsCoordinatorHasSiblingsSaves() async throws {
    let (store, ids) = try library()
    let context = store.context()
    let title = { @Sendable in context.object(with: ids[0]).value(forKey: "title") as? String }
    try await context.perform {
      #expect(!context.automaticallyMergesChangesFromParent)
      context.automaticallyMergesChangesFromParent = true
      context.retainsRegisteredObjects = true
      try context.existingObject(with: ids[1]).setValue("mine", forKey: "title")
      #expect(title() == "0")
    }
    try store.save { context in for id in ids { context.object(with: id).setValue("theirs", forKey: "title") } }
    // The save queued the merge, so this block runs after it.
    await context.perform {
      #expect(title() == "theirs")
      #expect(context.object(with: ids[1]).text("title") == "mine")
      context.automaticallyMergesChangesFromParent = false
    }
    try store.save { $0.object(with: ids[0]).setValue("not followed", forKey: "title") }
    await context.perform { #expect(title() == "theirs") }
  }

  @Test func aChildThatFollowsItsParentHasTheParentsSaves() async throws {
    let (store, ids) = try library()
    let parent = store.context()
    let child = parent.child()
    child.automaticallyMergesChangesFromParent = true
    await child.perform {
      child.retainsRegisteredObjects = true
      #expect(child.object(with: ids[0]).text("title") == "0")
    }
    try await parent.perform {
      parent.object(with: ids[0]).setValue("parent's", forKey: "title")
      try parent.save()
    }
    await child.perform { #expect(child.object(with: ids[0]).text("title") == "parent's") }
  }
}
