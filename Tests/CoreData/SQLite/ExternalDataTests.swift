import Foundation
import StoreTools
import Testing

@testable import CoreData

/// Large binary values lie in files beside the store, as in Apple's.
@Suite("External binary data") struct ExternalDataTests {
  private func store() throws -> TemporaryStore {
    let data = Build.attribute("data", .binaryDataAttributeType)
    data.allowsExternalBinaryDataStorage = true
    return try TemporaryStore(Build.model(Build.entity("Photo", Build.attribute("name"), data)))
  }

  private func files(_ store: TemporaryStore) -> [String] {
    let folder = store.folder.appendingPathComponent(".store_SUPPORT/_EXTERNAL_DATA")
    return ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
  }

  /// The files that are left when those of no row are removed.
  private func usedFiles(_ store: TemporaryStore) throws -> [String] {
    try #expect(StoreMaintenance(url: store.url).removeUnusedFiles() != nil)
    return files(store)
  }

  private func large(_ byte: UInt8) -> Data { Data(repeating: byte, count: 300_000) }

  @Test("A large value gets a file that the row names, a small one stays in the row")
  func writing() throws {
    let store = try store()
    try store.save { context in
      context.make("Photo", ["name": "large", "data": large(7)])
      context.make("Photo", ["name": "small", "data": Data([1, 2])])
    }
    let names = files(store)
    #expect(names.count == 1)
    let rows = try store.sql("SELECT hex(ZDATA) FROM ZPHOTO ORDER BY ZNAME")
    let name = try #require(names.first)
    #expect(UUID(uuidString: name) != nil && name == name.uppercased())
    #expect(rows == [["02" + Data(name.utf8).map { String(format: "%02X", $0) }.joined() + "00"], ["010102"]])
    // Another coordinator, which has nothing in memory, reads the file.
    let context = try store.otherCoordinator().context()
    try context.performAndWait {
      let photos = try context.all("Photo").sorted { $0.text("name") ?? "" < $1.text("name") ?? "" }
      #expect(photos[0].value(forKey: "data") as? Data == large(7))
      #expect(photos[1].value(forKey: "data") as? Data == Data([1, 2]))
    }
  }

  @Test("A file goes with its value, once nobody can need it: when it changes, becomes small, or its object is deleted")
  func removing() throws {
    let store = try store()
    let ids = try store.save { context in
      (0..<3).map { context.make("Photo", ["name": "\($0)", "data": large(UInt8($0))]) }
    }.map(\.objectID)
    let first = files(store)
    #expect(first.count == 3)
    try store.save { $0.object(with: ids[0]).setValue(large(9), forKey: "data") }
    try #expect(usedFiles(store).count == 3)
    #expect(Set(files(store)).subtracting(first).count == 1)
    // A change of something else leaves the file.
    let second = files(store)
    try store.save { $0.object(with: ids[0]).setValue("other", forKey: "name") }
    try #expect(usedFiles(store) == second)
    try store.save { $0.object(with: ids[1]).setValue(Data([1]), forKey: "data") }
    try #expect(usedFiles(store).count == 2)
    try store.save { $0.delete($0.object(with: ids[2])) }
    try #expect(usedFiles(store).count == 1)
    try store.save { context in
      context.delete(context.object(with: ids[0]))
    }
    try #expect(usedFiles(store).isEmpty)
  }

  @Test("A save that fails leaves the files as they were")
  func failing() throws {
    let store = try store()
    let id = try store.save { $0.make("Photo", ["name": "a", "data": large(1)]) }.objectID
    let before = files(store)
    let context = store.context()
    try context.performAndWait {
      let photo = context.object(with: id)
      _ = photo.value(forKey: "name")
      try store.save { $0.object(with: id).setValue("b", forKey: "name") }
      photo.setValue(large(2), forKey: "data")
      context.mergePolicy = NSMergePolicy.error
      #expect(throws: (any Error).self) { try context.save() }
    }
    #expect(files(store) == before)
    try #expect(store.read { $0.object(with: id).value(forKey: "data") as? Data } == large(1))
  }

  @Test("A migration that ends external storage brings the values into the rows")
  func migrating() throws {
    let store = try store()
    try store.save { $0.make("Photo", ["name": "a", "data": large(3)]) }
    let new = try #require(store.model.copy() as? NSManagedObjectModel)
    new.entitiesByName["Photo"]?.attributesByName["data"]?.allowsExternalBinaryDataStorage = false
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: new)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.url,
      options: [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true])
    let context = coordinator.context()
    try context.performAndWait {
      try #expect(context.all("Photo").first?.value(forKey: "data") as? Data == large(3))
    }
  }
}
