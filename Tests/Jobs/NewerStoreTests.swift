import CoreData
import Foundation
import Jobs
import Testing

/// Stores that a newer version of workerpool has written.
@Suite struct NewerStoreTests {
  @Test(arguments: JobStoreKind.allCases)
  func aStoreThatANewerVersionHasWrittenIsRefusedWithASentence(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let place = StorePlace(store.url).description
      try store.check(in: context)
      // Given: what the next version notes.
      let request = NSFetchRequest<NSManagedObject>(entityName: "PoolSetting")
      request.predicate = NSPredicate(format: "name == %@", "version")
      let setting = try #require(try context.fetch(request).first)
      setting.setValue("5", forKey: "value")
      try context.save()
      // Then:
      #expect(throws: JobModelError.storeIsNewer(place)) { try store.check(in: context) }
      let sentence = "a newer version of workerpool has worked on the jobs in \(place): update this program"
      #expect(JobModelError.storeIsNewer(place).description == sentence)
    }
  }

  @Test(arguments: JobStoreKind.allCases)
  func aStoreWithAttributesOfANewerVersionIsRefusedAndStaysAsItIs(kind: JobStoreKind) throws {
    let place = try JobStorePlace(kind)
    // Given: the pool's store of a version with one more attribute.
    let model = JobModel.make()
    let attribute = NSAttributeDescription()
    attribute.name = "colour"
    attribute.attributeType = .stringAttributeType
    attribute.isOptional = true
    model.entitiesByName["PoolJob"]?.properties.append(attribute)
    let newer = NSPersistentStoreCoordinator(managedObjectModel: model)
    func open() throws -> NSPersistentStore {
      try newer.addPersistentStore(
        ofType: StorePlace(place.url).storeType, configurationName: nil, at: place.url,
        options: [NSPersistentStoreTablePrefixOption: JobModel.tablePrefix])
    }
    try newer.remove(open())
    // When: this version opens it. Then:
    #expect(throws: JobModelError.storeIsNewer(StorePlace(place.url).description)) {
      try JobStore(url: place.url, model: NoteModel.make())
    }
    #expect(throws: Never.self) { try open() }
  }
}
