import CoreData
import Testing

/// The notifications of a save have equal sets if they report the same objects, and sets of their own if not.
@Suite struct NotificationSetTests {
  @Test func whatOneEventChangedIsReportedTwice() throws {
    let store = try TemporaryStore()
    let context = store.context()
    try context.performAndWait {
      let log = NotificationLog(context)
      let tags = (0..<30).map { context.make("Tag", ["label": "\($0)"]) }
      try context.save()
      #expect(log.objects(.NSManagedObjectContextObjectsDidChange, NSInsertedObjectsKey) == Set(tags))
      #expect(log.objects(.NSManagedObjectContextDidSave, NSInsertedObjectsKey) == Set(tags))
      let ids = log.last(.NSManagedObjectContextDidSaveObjectIDs)?[NSInsertedObjectIDsKey] as? Set<NSManagedObjectID>
      #expect(ids == Set(tags.map(\.objectID)) && ids?.contains { $0.isTemporaryID } == false)
    }
  }

  @Test func theSaveReportsAllEventsAndTheLastEventOnlyItsOwn() throws {
    let store = try TemporaryStore()
    let context = store.context()
    try context.performAndWait {
      let log = NotificationLog(context)
      let first = context.make("Tag", ["label": "first"])
      let changed = context.make("Tag", ["label": "changed"])
      try context.save()
      changed.setValue("again", forKey: "label")
      context.processPendingChanges()
      let second = context.make("Tag", ["label": "second"])
      first.setValue("new", forKey: "label")
      try context.save()
      #expect(log.objects(.NSManagedObjectContextObjectsDidChange, NSInsertedObjectsKey) == [second])
      #expect(log.objects(.NSManagedObjectContextObjectsDidChange, NSUpdatedObjectsKey) == [first])
      #expect(log.objects(.NSManagedObjectContextDidSave, NSInsertedObjectsKey) == [second])
      #expect(log.objects(.NSManagedObjectContextDidSave, NSUpdatedObjectsKey) == [first, changed])
    }
  }
}
