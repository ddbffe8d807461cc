import CoreData
import Testing

/// Merges that happen by themselves, and what a context holds right after a merge.
@Suite struct AutomaticMergeTests {
  private func library() throws -> (TemporaryStore, [NSManagedObjectID]) {
    let store = try TemporaryStore()
    let ids = try store.save { context in
      (0..<3).map { context.make("Book", ["title": "\($0)", "pages": $0]) }
    }.map(\.objectID)
    return (store, ids)
  }

  // main queue                         child's queue
  // saves: queues the child's merge
  //                                    merges: asks the parent, which belongs to the main queue
  // child.performAndWait: waits
  @Test(.timeLimit(.minutes(20))) @MainActor func aChildMergesWhileTheMainQueueWaitsForIt() throws {
    let (store, ids) = try library()
    let parent = NSManagedObjectContext(.mainQueue)
    parent.persistentStoreCoordinator = store.coordinator
    let child = parent.child()
    child.automaticallyMergesChangesFromParent = true
    // `nonisolated(unsafe)`: used inside `child.performAndWait` only.
    nonisolated(unsafe) let book = try child.performAndWait { try child.existingObject(with: ids[0]) }
    for title in ["first", "second", "third"] {
      parent.object(with: ids[0]).setValue(title, forKey: "title")
      try parent.save()
      let merged = child.performAndWait { book.text("title") }
      #expect(merged == title)
    }
  }

  @Test(.timeLimit(.minutes(20))) @MainActor func aGrandchildMergesWhileTheMainQueueWaitsForIt() throws {
    let (store, ids) = try library()
    let parent = NSManagedObjectContext(.mainQueue)
    parent.persistentStoreCoordinator = store.coordinator
    let (child, grandchild) = (NSManagedObjectContext(.privateQueue), NSManagedObjectContext(.privateQueue))
    (child.parent, grandchild.parent) = (parent, child)
    child.automaticallyMergesChangesFromParent = true
    // `nonisolated(unsafe)`: used inside the `performAndWait` of their contexts only.
    nonisolated(unsafe) let book = try child.performAndWait { try child.existingObject(with: ids[0]) }
    nonisolated(unsafe) let same = try grandchild.performAndWait { try grandchild.existingObject(with: ids[0]) }
    parent.object(with: ids[0]).setValue("theirs", forKey: "title")
    try parent.save()
    grandchild.performAndWait {
      grandchild.refresh(same, mergeChanges: false)
      #expect(same.text("title") == "theirs")
    }
    let merged = child.performAndWait { book.text("title") }
    #expect(merged == "theirs")
  }

  /// A save of three kinds of changes by another context, as its notification.
  private func otherSave(
    _ store: TemporaryStore, _ ids: [NSManagedObjectID]
  ) throws -> (Notification, inserted: NSManagedObjectID) {
    let writer = store.context()
    // `nonisolated(unsafe)`: posted inside `performAndWait`, while this thread waits.
    nonisolated(unsafe) var posted: Notification?
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSaveObjectIDs, object: writer, queue: nil
    ) { posted = $0 }
    defer { NotificationCenter.default.removeObserver(token) }
    let inserted = try writer.performAndWait {
      let new = writer.make("Book", ["title": "new"])
      writer.object(with: ids[0]).setValue("theirs", forKey: "title")
      writer.delete(writer.object(with: ids[1]))
      try writer.save()
      return new.objectID
    }
    return (try #require(posted), inserted)
  }

  @Test func aMergedInsertionIsRegisteredRightAfterwards() throws {
    let (store, ids) = try library()
    try store.read { context in
      let (notification, inserted) = try otherSave(store, ids)
      #expect(context.registeredObject(for: inserted) == nil)
      context.mergeChanges(fromContextDidSave: notification)
      #expect(context.registeredObject(for: inserted)?.isFault == true)
      #expect(context.insertedObjects.isEmpty && !context.hasChanges)
      // Nobody holds it, so it leaves with the end of the next event.
      context.processPendingChanges()
      #expect(context.registeredObject(for: inserted) == nil)
    }
  }

  @Test func aMergedDeletionLeavesTheObjectDeletedUntilTheNextSave() throws {
    let (store, ids) = try library()
    try store.read { context in
      let held = try context.existingObject(with: ids[1])
      held.setValue("mine", forKey: "title")
      let (notification, _) = try otherSave(store, ids)
      context.mergeChanges(fromContextDidSave: notification)
      #expect(held.isDeleted && context.deletedObjects == [held] && held.managedObjectContext === context)
      #expect(context.registeredObject(for: ids[1]) === held && context.registeredObjects.contains(held))
      #expect(!held.isUpdated && context.updatedObjects.isEmpty && held.text("title") == "mine")
      try #expect(context.all("Book").count == 3)
      // There is no row to delete, and this is no conflict.
      try context.save()
      #expect(!held.isDeleted && held.managedObjectContext == nil && !context.hasChanges)
    }
    try #expect(store.sql("SELECT ZTITLE FROM ZBOOK ORDER BY 1") == [["2"], ["new"], ["theirs"]])
  }

  @Test func aMergedDeletionOfAnObjectThatNobodyHoldsLeavesNothing() throws {
    let (store, ids) = try library()
    try store.read { context in
      try #expect(context.all("Book").count == 3)
      let (notification, _) = try otherSave(store, ids)
      context.mergeChanges(fromContextDidSave: notification)
      #expect(context.deletedObjects.isEmpty && !context.hasChanges)
      #expect(context.registeredObject(for: ids[1]) == nil)
    }
  }

  @Test func observersTellAMergeFromOwnChanges() throws {
    let (store, ids) = try library()
    let (save, _) = try otherSave(store, ids)
    try store.read { context in
      let book = try context.existingObject(with: ids[0])
      let log = NotificationLog(context)
      func isMarked() -> Bool {
        log.last(.NSManagedObjectContextObjectsDidChange)?["NSObjectsChangedByMergeChangesKey"] != nil
      }
      context.mergeChanges(fromContextDidSave: save)
      #expect(isMarked())
      #expect(log.objects(.NSManagedObjectContextObjectsDidChange, "NSObjectsChangedByMergeChangesKey") == [])
      #expect(log.last(.NSManagedObjectContextDidMergeChangesObjectIDs)?["NSObjectsChangedByMergeChangesKey"] == nil)
      book.setValue("mine", forKey: "title")
      context.processPendingChanges()
      #expect(!isMarked())
    }
  }

  @Test func theMergeIsToldWithTheRefreshedObjectsBesideTheUpdatedOnes() throws {
    let (store, ids) = try library()
    try store.read { context in
      let held = try context.existingObject(with: ids[0])
      let (notification, inserted) = try otherSave(store, ids)
      let log = NotificationLog(context)
      context.mergeChanges(fromContextDidSave: notification)
      let info = try #require(log.last(.NSManagedObjectContextDidMergeChangesObjectIDs))
      #expect(info[NSInsertedObjectIDsKey] as? Set<NSManagedObjectID> == [inserted])
      #expect(info[NSUpdatedObjectIDsKey] as? Set<NSManagedObjectID> == [held.objectID])
      #expect(info[NSRefreshedObjectIDsKey] as? Set<NSManagedObjectID> == [held.objectID])
      #expect(info[NSDeletedObjectIDsKey] as? Set<NSManagedObjectID> == [ids[1]])
    }
  }
}
