import CoreData
import Testing

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
}
