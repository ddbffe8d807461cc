import CoreData
import Testing

@Suite struct NotificationTests {
  private let changed = Notification.Name.NSManagedObjectContextObjectsDidChange
  private let saved = Notification.Name.NSManagedObjectContextDidSave
  private let savedIDs = Notification.Name.NSManagedObjectContextDidSaveObjectIDs
  private let willSave = Notification.Name.NSManagedObjectContextWillSave

  @Test func theNamesAreApples() {
    #expect(changed.rawValue == "NSObjectsChangedInManagingContextNotification")
    #expect(willSave.rawValue == "NSManagingContextWillSaveChangesNotification")
    #expect(saved.rawValue == "NSManagingContextDidSaveChangesNotification")
    #expect(savedIDs.rawValue == "_NSManagedObjectContextDidSaveObjectIDsNotification")
    #expect(NSManagedObjectContext.didSaveObjectsNotification == saved)
    #expect(NSManagedObjectContext.NotificationKey.insertedObjects.rawValue == NSInsertedObjectsKey)
  }

  @Test func anEventsChangesComeOnceAndInOneSetEach() throws {
    let store = try TemporaryStore()
    let id = try store.save { context in
      context.make("Book", ["title": "gone"])
      return context.make("Book", ["title": "One"])
    }.objectID
    try store.read { context in
      let log = NotificationLog(context)
      let book = context.object(with: id)
      let gone = try context.all("Book", where: "title == 'gone'")[0]
      let new = context.make("Book", ["title": "new"])
      new.setValue(3, forKey: "pages")
      book.setValue("Two", forKey: "title")
      book.setValue("Three", forKey: "title")
      gone.setValue("changed", forKey: "title")
      context.delete(gone)
      let never = context.make("Book", ["title": "never"])
      context.delete(never)
      context.processPendingChanges()
      context.processPendingChanges()
      #expect(log.names == [changed])
      #expect(log.objects(changed, NSInsertedObjectsKey) == [new])
      #expect(log.objects(changed, NSUpdatedObjectsKey) == [book])
      #expect(log.objects(changed, NSDeletedObjectsKey) == [gone])
      #expect(log.last(changed)?.count == 3)
      // In the next event the new object counts as updated.
      log.clear()
      new.setValue(4, forKey: "pages")
      context.processPendingChanges()
      #expect(log.objects(changed, NSUpdatedObjectsKey) == [new] && log.last(changed)?.count == 1)
    }
  }

  @Test func aSavePostsInOrderWithSetsOfObjectsAndOfIDs() throws {
    let store = try TemporaryStore()
    let ids = try store.save { context in ["gone", "One"].map { context.make("Book", ["title": $0]) } }.map(\.objectID)
    try store.read { context in
      let log = NotificationLog(context)
      let new = context.make("Book", ["title": "new"])
      let book = context.object(with: ids[1])
      book.setValue("Two", forKey: "title")
      let gone = context.object(with: ids[0])
      context.delete(gone)
      try context.save()
      #expect(log.names == [changed, willSave, saved, savedIDs])
      #expect(log.objects(saved, NSInsertedObjectsKey) == [new])
      #expect(log.objects(saved, NSUpdatedObjectsKey) == [book])
      #expect(log.objects(saved, NSDeletedObjectsKey) == [gone])
      #expect(log.last(savedIDs)?[NSInsertedObjectIDsKey] as? Set<NSManagedObjectID> == [new.objectID])
      #expect(log.last(savedIDs)?[NSUpdatedObjectIDsKey] as? Set<NSManagedObjectID> == [ids[1]])
      #expect(log.last(savedIDs)?[NSDeletedObjectIDsKey] as? Set<NSManagedObjectID> == [ids[0]])
      #expect(!new.objectID.isTemporaryID)
    }
  }

  @Test func aMergePostsWhatItChangedAndThenWhatWasMerged() throws {
    let store = try TemporaryStore()
    let ids = try store.save { context in ["gone", "known", "unknown"].map { context.make("Book", ["title": $0]) } }
      .map(\.objectID)
    let context = store.context()
    let other = store.context()
    try context.performAndWait {
      let registered = try context.existingObject(with: ids[1])
      let gone = try context.existingObject(with: ids[0])
      let log = NotificationLog(context)
      // `nonisolated(unsafe)`: posted inside `performAndWait`, while this thread waits.
      nonisolated(unsafe) var notification = Notification(name: saved)
      let token = NotificationCenter.default.addObserver(forName: saved, object: other, queue: nil) {
        notification = $0
      }
      defer { NotificationCenter.default.removeObserver(token) }
      let new = try other.performAndWait { () throws -> NSManagedObjectID in
        other.delete(other.object(with: ids[0]))
        for id in ids[1...] { other.object(with: id).setValue("changed", forKey: "title") }
        let new = other.make("Book", ["title": "new"])
        try other.save()
        return new.objectID
      }
      context.mergeChanges(fromContextDidSave: notification)
      let merged = NSManagedObjectContext.didMergeChangesObjectIDsNotification
      #expect(log.names == [changed, merged])
      #expect(log.objects(changed, NSRefreshedObjectsKey) == [registered])
      #expect(log.objects(changed, NSDeletedObjectsKey) == [gone])
      #expect(log.objects(changed, NSInsertedObjectsKey).map(\.objectID) == [new])
      #expect(log.last(merged)?[NSInsertedObjectIDsKey] as? Set<NSManagedObjectID> == [new])
      #expect(log.last(merged)?[NSUpdatedObjectIDsKey] as? Set<NSManagedObjectID> == [ids[1], ids[2]])
      #expect(log.last(merged)?[NSDeletedObjectIDsKey] as? Set<NSManagedObjectID> == [ids[0]])
    }
  }

  /// Changes of objects that are not here: nothing to show, but the merge is posted.
  @Test func aMergeOfWhatTheContextDoesNotHaveChangesNothing() throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Book", ["title": "One"]) }.objectID
    try store.read { context in
      let log = NotificationLog(context)
      NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSUpdatedObjectIDsKey: [id]], into: [context])
      #expect(log.names == [NSManagedObjectContext.didMergeChangesObjectIDsNotification])
      log.clear()
      NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [:], into: [context])
      #expect(log.names.isEmpty)
    }
  }

  @Test func aSaveWithoutChangesTouchesNoFile() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Book", ["title": "One"]) }
    func dates() throws -> [Date?] {
      try ["", "-wal"].map {
        try FileManager.default.attributesOfItem(atPath: store.url.path + $0)[.modificationDate] as? Date
      }
    }
    let before = try dates()
    try store.read { context in
      for book in try context.all("Book") { _ = book.text("title") }
      try context.save()
    }
    try #expect(dates() == before)
  }

  @Test func notificationsAreAnAsynchronousSequence() async throws {
    let store = try TemporaryStore()
    let (context, other) = (store.context(), store.context())
    let saves = NotificationCenter.default.notifications(named: .NSManagedObjectContextDidSave, object: context)
    var iterator = saves.makeAsyncIterator()
    for saved in [other, context, other, context] {
      try await saved.perform {
        saved.make("Book", ["title": "new"])
        try saved.save()
      }
    }
    for _ in 0..<2 {
      let notification = await iterator.next()
      #expect(notification?.object as? NSManagedObjectContext === context)
    }
    let task = Task {
      var count = 0
      for await _ in saves { count += 1 }
      return count
    }
    task.cancel()
    #expect(await task.value == 0)
  }

  @Test func resetPostsThatEverythingIsInvalid() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Book", ["title": "One"]) }
    try store.read { context in
      let books = try context.all("Book")
      let log = NotificationLog(context)
      context.reset()
      #expect(log.names == [changed])
      #expect(log.last(changed)?[NSInvalidatedAllObjectsKey] as? [NSManagedObjectID] == books.map(\.objectID))
    }
  }

  @Test func rollbackPostsWhatItRestored() throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Book", ["title": "One"]) }.objectID
    try store.read { context in
      let book = context.object(with: id)
      book.setValue("Two", forKey: "title")
      let new = context.make("Tag")
      context.processPendingChanges()
      let log = NotificationLog(context)
      context.rollback()
      #expect(log.names == [changed])
      #expect(log.objects(changed, NSRefreshedObjectsKey) == [book])
      #expect(log.objects(changed, NSDeletedObjectsKey) == [new])
    }
  }

  /// The changes of an observer are posted in the next event, and saved.
  @Test func changesOfAnObserverAreANewEvent() throws {
    let store = try TemporaryStore()
    try store.read { context in
      let book = context.make("Book", ["title": "One"])
      final class Once { var isDone = false }
      let once = Once()
      // `nonisolated(unsafe)`: posted and observed on the context's queue.
      nonisolated(unsafe) let observed = (book, once)
      let token = NotificationCenter.default.addObserver(forName: changed, object: context, queue: nil) { _ in
        guard !observed.1.isDone else { return }
        observed.1.isDone = true
        observed.0.setValue("by observer", forKey: "title")
      }
      defer { NotificationCenter.default.removeObserver(token) }
      try context.save()
      #expect(book.text("title") == "by observer")
      #expect(!context.hasChanges)
    }
    try #expect(store.sql("SELECT ZTITLE FROM ZBOOK") == [["by observer"]])
  }

  @Test func performPostsAtItsEndAndPerformAndWaitWaits() async throws {
    let store = try TemporaryStore()
    let context = store.context()
    let (stream, continuation) = AsyncStream<Int>.makeStream()
    let token = NotificationCenter.default.addObserver(forName: changed, object: context, queue: nil) {
      continuation.yield(($0.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject>)?.count ?? 0)
    }
    defer { NotificationCenter.default.removeObserver(token) }
    context.performAndWait { _ = context.make("Book", ["title": "waits"]) }
    enqueueBook(context)
    await context.perform {}
    continuation.finish()
    var counts: [Int] = []
    for await count in stream { counts.append(count) }
    #expect(counts == [2])
  }

  private func enqueueBook(_ context: NSManagedObjectContext) {
    context.perform { context.make("Book", ["title": "told"]) }
  }
}
