import CoreData
import Foundation
import Testing

@Suite struct WALCheckpointerTests {
  @Test func theLogIsCopiedAndThenBegunAnew() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("wal-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let url = directory.appendingPathComponent("store.sqlite")
    let turn = directory.path + "/turn"

    let entity = NSEntityDescription()
    entity.name = "Note"
    let text = NSAttributeDescription()
    text.name = "text"
    text.attributeType = .stringAttributeType
    entity.properties = [text]
    let model = NSManagedObjectModel()
    model.entities = [entity]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url,
      options: [
        NSSQLitePragmasOption: ["wal_autocheckpoint": "0"], NSPersistentStoreWriteTurnOption: turn,
      ])
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    func save() throws {
      try context.performAndWait {
        for number in 0..<2000 {
          NSEntityDescription.insertNewObject(forEntityName: "Note", into: context)
            .setValue(String(repeating: "\(number) ", count: 100), forKey: "text")
        }
        try context.save()
      }
    }
    func logBytes() throws -> Int {
      try #require(try FileManager.default.attributesOfItem(atPath: url.path + "-wal")[.size] as? Int)
    }

    try save()
    let long = try logBytes()
    #expect(long > 500_000, "nobody else checkpoints")
    #expect(try WALCheckpointer(url: url, writeTurn: turn, longLog: 0).checkpoint() == 0)
    try save()
    #expect(try logBytes() < long * 3 / 2, "the log begins anew instead of growing")
  }
}
