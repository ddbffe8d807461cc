import Testing

@testable import CoreData

@Suite struct StoreTypeTests {
  @Test func aRegisteredClassOpensStoresOfItsTypeUntilItIsTakenAway() throws {
    // Given a class that is registered under a type of the app's own.
    let type = "Mine-\(UUID().uuidString)"
    let store = try TemporaryStore()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    let place = store.folder.appendingPathComponent("mine")
    func add() throws -> NSPersistentStore {
      try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: place, options: nil)
    }
    expectError(134000) { try add() }
    let kind = Swift.type(of: store.coordinator.persistentStores[0])
    NSPersistentStoreCoordinator.registerStoreClass(kind, forStoreType: type)
    #expect(NSPersistentStoreCoordinator.registeredStoreTypes[type] == kind)
    // When a store of that type is added, then it is of the class and says so.
    let added = try add()
    #expect(Swift.type(of: added) == kind && added.type == type)
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: type, at: place)
    #expect(metadata[NSStoreTypeKey] as? String == type)
    // And when the type is taken away, it is unknown again.
    NSPersistentStoreCoordinator.registerStoreClass(nil, forStoreType: type)
    #expect(NSPersistentStoreCoordinator.registeredStoreTypes[type] == nil)
    expectError(134000) { try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: type, at: place) }
  }

  @Test func anotherClassThanOneOfStoresIsAProgrammersError() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      NSPersistentStoreCoordinator.registerStoreClass(NSObject.self, forStoreType: "Mine")
    }
    expectSentence(result, "NSObject", "NSAtomicStore", "Mine")
  }

  @Test func theClassOfAllStoresFindsOutWhoseFileItIs() throws {
    let store = try TemporaryStore()
    let read = try NSPersistentStore.metadataForPersistentStore(with: store.url)
    #expect(read[NSStoreTypeKey] as? String == NSSQLiteStoreType)
    let other = store.folder.appendingPathComponent("other")
    try Data("nothing of ours".utf8).write(to: other)
    expectError(134080) { try NSPersistentStore.metadataForPersistentStore(with: other) }
    expectError(134080) { try NSPersistentStore.setMetadata([:], forPersistentStoreAt: other) }
  }
}
