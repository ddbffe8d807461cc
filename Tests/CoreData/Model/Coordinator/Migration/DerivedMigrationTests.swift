import TestFiles
import Testing

@testable import CoreData

/// Models with derived attributes other than counts, whose hashes by Apple are unknown.
@Suite struct DerivedMigrationTests {
  private func model(hometown: Bool = false) -> NSManagedObjectModel {
    let model = LibraryModel.makeWithDerivedAttributes(["upper"])
    if hometown { model.entitiesByName["Author"]?.properties.append(Build.attribute("hometown")) }
    return model
  }

  @Test func anAttributeBesideADerivedOneIsAdded() throws {
    let old = model()
    let store = try TemporaryStore(old)
    try store.save { $0.make("Author", ["name": "Ada"]) }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model(hometown: true))
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.url, options: LibraryMigration.options())
    let context = coordinator.context()
    try context.performAndWait {
      let author = try context.all("Author")[0]
      author.setValue("London", forKey: "hometown")
      try context.save()
      context.refreshAllObjects()
      #expect(author.text("hometown") == "London" && author.text("d_upper") == "ADA")
    }
    withExtendedLifetime(old) {}
  }

  @Test func onlyHashesOfAnotherFrameworkAreTakenOnTrust() throws {
    let store = try TemporaryStore(model())
    var metadata = store.coordinator.metadata(for: store.coordinator.persistentStores[0])
    #expect(model().isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
    #expect(!model(hometown: true).isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
    #expect(NSManagedObjectModel(byMerging: [model(hometown: true)], forStoreMetadata: metadata) == nil)

    // A Mac has migrated the store: the entry of ours is still there, and no longer fits.
    var hashes = try #require(metadata[NSStoreModelVersionHashesKey] as? [String: Data])
    hashes["Author"] = Data(repeating: 7, count: 32)
    metadata[NSStoreModelVersionHashesKey] = hashes
    #expect(model().isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
    hashes["Book"] = Data(repeating: 7, count: 32)
    metadata[NSStoreModelVersionHashesKey] = hashes
    #expect(!model().isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
  }
}
