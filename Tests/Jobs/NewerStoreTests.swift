import CoreData
import Foundation
import Jobs
import TestFiles
import Testing

/// Stores that a newer version of workerpool has written.
@Suite struct NewerStoreTests {
  @Test func aStoreThatANewerVersionHasWrittenIsRefusedWithASentence() throws {
    let place = temporaryURL("newer")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: place) }
    let url = place.appendingPathComponent("app.sqlite")
    let store = try JobStore(url: url, model: NoteModel.make())
    let context = store.makeContext(name: "test")
    try context.performAndWait {
      try store.check(in: context)
      // Given: what the next version notes.
      let request = NSFetchRequest<NSManagedObject>(entityName: "PoolSetting")
      request.predicate = NSPredicate(format: "name == %@", "version")
      let setting = try #require(try context.fetch(request).first)
      setting.setValue("5", forKey: "value")
      try context.save()
      // Then:
      #expect(throws: JobModelError.storeIsNewer(url.path)) { try store.check(in: context) }
    }
    let sentence = "a newer version of workerpool has worked on the jobs in \(url.path): update this program"
    #expect(JobModelError.storeIsNewer(url.path).description == sentence)
  }

  @Test func aStoreWithAttributesOfANewerVersionIsRefusedAndStaysAsItIs() throws {
    let place = temporaryURL("newer")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: place) }
    let url = place.appendingPathComponent("app.sqlite")
    // Given: the pool's store of a version with one more attribute.
    let model = JobModel.make()
    let attribute = NSAttributeDescription()
    attribute.name = "colour"
    attribute.attributeType = .stringAttributeType
    attribute.isOptional = true
    model.entitiesByName["PoolJob"]?.properties.append(attribute)
    let newer = NSPersistentStoreCoordinator(managedObjectModel: model)
    let newerStore = try newer.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url,
      options: [NSPersistentStoreTablePrefixOption: JobModel.tablePrefix])
    try newer.remove(newerStore)
    // When: this version opens it. Then:
    #expect(throws: JobModelError.storeIsNewer(url.path)) { try JobStore(url: url, model: NoteModel.make()) }
    try newer.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url,
      options: [NSPersistentStoreTablePrefixOption: JobModel.tablePrefix])
  }
}
