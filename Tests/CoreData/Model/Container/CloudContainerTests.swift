import CoreData
import TestFiles
import Testing

/// A container for iCloud is a local one.
@Suite struct CloudContainerTests {
  @Test func itLoadsItsStoresWithAHistoryAndTakesEveryChange() throws {
    let folder = temporaryURL("cloud")
    defer { try? FileManager.default.removeItem(at: folder) }
    let container = NSPersistentCloudKitContainer(name: "Library", managedObjectModel: LibraryModel.make())
    let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("Library.sqlite"))
    description.cloudKitContainerOptions = NSPersistentCloudKitContainerOptions(containerIdentifier: "iCloud.example")
    container.persistentStoreDescriptions = [description]
    var failures = 0
    container.loadPersistentStores { if $1 != nil { failures += 1 } }
    #expect(failures == 0 && container.persistentStoreCoordinator.persistentStores.count == 1)
    try container.initializeCloudKitSchema(options: [.dryRun])
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let tag = context.make("Tag", ["label": "a"])
      try context.save()
      #expect(container.canUpdateRecord(forManagedObjectWith: tag.objectID))
      #expect(container.canDeleteRecord(forManagedObjectWith: tag.objectID))
    }
    #expect(container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil) != nil)
    #expect(container.canModifyManagedObjects(in: container.persistentStoreCoordinator.persistentStores[0]))
  }

  @Test func itSaysOnceThatNothingIsMirrored() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      for _ in 0..<3 {
        let container = NSPersistentCloudKitContainer(name: "Library", managedObjectModel: LibraryModel.make())
        container.persistentStoreDescriptions = [NSPersistentStoreDescription()]
        container.loadPersistentStores { _, _ in }
      }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.components(separatedBy: "no CloudKit on Linux").count == 2, "\(text)")
  }
}
