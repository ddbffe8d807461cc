import TestFiles
import Testing

@testable import CoreData

/// A server's place in a program that does not have the module for it.
@Suite struct ServerPlaceTests {
  @Test(
    arguments: ["postgresql://app@host/app", "postgres://app@host/app?schema=app"], [NSSQLiteStoreType, NSXMLStoreType])
  func placeWithTheTypeOfAFileNamesTheModuleToImport(place: String, type: String) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: NSManagedObjectModel())
    let error = #expect(throws: NSError.self) {
      try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: URL(string: place))
    }
    #expect(error?.code == CocoaError.Code.persistentStoreInvalidType.rawValue)
    #expect(error?.localizedDescription.contains("import CoreDataPostgreSQL") == true)
    #expect(throws: NSError.self) {
      try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: type, at: #require(URL(string: place)))
    }
  }

  /// The path of the URL is that of a file: it is neither created nor changed.
  @Test(arguments: [NSSQLiteStoreType, NSBinaryStoreType], [true, false])
  func operationsOnFilesLeaveTheFileAtAServersPathAlone(type: String, exists: Bool) throws {
    let file = temporaryURL("server")
    defer { try? FileManager.default.removeItem(at: file) }
    if exists { try Data("of another program".utf8).write(to: file) }
    let place = try #require(URL(string: "postgresql://127.0.0.1:1\(file.path)"))
    let store = try TemporaryStore()
    let coordinator = store.coordinator
    expectError(134000) { try coordinator.destroyPersistentStore(at: place, ofType: type) }
    for (to, from) in [(place, store.url), (store.url, place)] {
      expectError(134000) {
        try coordinator.replacePersistentStore(at: to, withPersistentStoreFrom: from, ofType: type)
      }
    }
    expectError(134000) {
      try coordinator.migratePersistentStore(coordinator.persistentStores[0], to: place, withType: type)
    }
    expectError(134000) {
      try NSPersistentStoreCoordinator.inOneTransaction(ofType: type, at: place) { _ in Issue.record("was run") }
    }
    expectError(134000) { try NSPersistentStoreCoordinator.cachedModelForPersistentStore(at: place) }
    expectError(134080) { try NSPersistentStore.setMetadata([:], forPersistentStoreAt: place) }
    #expect(coordinator.persistentStores.count == 1)
    #expect((try? Data(contentsOf: file)) == (exists ? Data("of another program".utf8) : nil))
  }
}
