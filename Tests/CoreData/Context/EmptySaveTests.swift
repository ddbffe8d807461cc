import CoreData
import Testing

/// Saves without changes, and what a save tells about the history.
@Suite struct EmptySaveTests {
  private let keys = [NSInsertedObjectsKey, NSUpdatedObjectsKey, NSDeletedObjectsKey]

  @Test func aSaveWithoutChangesIsToldWithEmptySets() throws {
    let store = try TemporaryStore()
    try store.read { context in
      let log = NotificationLog(context)
      try context.save()
      #expect(log.names == [.NSManagedObjectContextDidSave])
      let info = try #require(log.last(.NSManagedObjectContextDidSave))
      for key in keys { #expect((info[key] as? Set<NSManagedObject>)?.isEmpty == true) }
      // Merging it has no effect.
      log.clear()
      context.mergeChanges(fromContextDidSave: Notification(name: .NSManagedObjectContextDidSave, userInfo: info))
      #expect(log.names.isEmpty)
    }
  }

  @Test func aChildsSaveWithoutChangesIsToldToo() throws {
    let store = try TemporaryStore()
    let child = store.context().child()
    try child.performAndWait {
      let log = NotificationLog(child)
      try child.save()
      #expect(log.names == [.NSManagedObjectContextDidSave])
    }
  }

  @Test func aSaveWithoutChangesWritesMetadataThatWasSet() throws {
    let store = try TemporaryStore()
    let file = try #require(store.coordinator.persistentStores.first)
    var metadata = store.coordinator.metadata(for: file)
    metadata["app"] = "set"
    store.coordinator.setMetadata(metadata, for: file)
    try store.read { try $0.save() }
    let written = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
    #expect(written["app"] as? String == "set")
  }

  @Test func aSaveWithoutChangesWritesNothingElse() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Book", ["title": "One"]) }
    let before = try store.sql("PRAGMA data_version")
    let log = store.url.path + "-wal"
    let size = try FileManager.default.attributesOfItem(atPath: log)[.size] as? Int
    try store.read { try $0.save() }
    #expect(try FileManager.default.attributesOfItem(atPath: log)[.size] as? Int == size)
    try #expect(store.sql("PRAGMA data_version") == before)
  }

  @Test func aSaveCarriesTheHistorysToken() throws {
    let store = try TemporaryStore(options: [NSPersistentHistoryTrackingKey: true as NSNumber])
    try store.read { context in
      let log = NotificationLog(context)
      context.make("Book", ["title": "One"])
      try context.save()
      let token = log.last(.NSManagedObjectContextDidSave)?["newChangeToken"] as? NSPersistentHistoryToken
      #expect(token != nil && token == store.coordinator.currentPersistentHistoryToken(fromStores: nil))
    }
    let plain = try TemporaryStore()
    try plain.read { context in
      let log = NotificationLog(context)
      context.make("Book", ["title": "One"])
      try context.save()
      #expect(log.last(.NSManagedObjectContextDidSave)?["newChangeToken"] == nil)
    }
  }
}
