import TestFiles
import Testing

@testable import CoreData

/// Rows of a wide entity of which most attributes are nil.
@Suite struct SparseRowsTests {
  private static func model() -> NSManagedObjectModel {
    let thing = NSEntityDescription()
    thing.name = "Thing"
    thing.properties = (0..<20).map { number in
      let attribute = NSAttributeDescription()
      attribute.name = "a\(number)"
      attribute.attributeType = number % 2 == 0 ? .stringAttributeType : .integer64AttributeType
      attribute.isOptional = true
      return attribute
    }
    let model = NSManagedObjectModel()
    model.entities = [thing]
    return model
  }

  /// Whatever columns an INSERT names, the values of each row are those of its object.
  @Test(arguments: 0..<5) func eachRowHasTheValuesOfItsObject(seed: Int) throws {
    let directory = temporaryURL("sparse")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.model())
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: directory.appendingPathComponent("s.sqlite"), options: nil)
    var random = SeededGenerator(seed: UInt64(seed))
    var expected: [NSManagedObjectID: [String: String]] = [:]
    let writer = coordinator.context()
    try writer.performAndWait {
      // More sets of columns than are kept.
      for _ in 0..<40 {
        let names = (0..<20).filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
        let things = (0..<Int.random(in: 1...30, using: &random)).map { _ in
          let thing = NSEntityDescription.insertNewObject(forEntityName: "Thing", into: writer)
          for number in names where Bool.random(using: &random) {
            thing.setValue(number % 2 == 0 ? "text \(number)" as Any : number as Any, forKey: "a\(number)")
          }
          return thing
        }
        try writer.save()
        for thing in things { expected[thing.objectID] = Self.values(thing) }
      }
    }
    let reader = coordinator.context()
    try reader.performAndWait {
      for store in coordinator.persistentStores { (store as? SQLiteStore)?.rowCache.removeAll() }
      let things = try reader.fetch(NSFetchRequest<NSManagedObject>(entityName: "Thing"))
      #expect(Dictionary(uniqueKeysWithValues: things.map { ($0.objectID, Self.values($0)) }) == expected)
    }
  }

  private static func values(_ thing: NSManagedObject) -> [String: String] {
    (0..<20).reduce(into: [:]) { values, number in
      values["a\(number)"] = thing.value(forKey: "a\(number)").map { "\($0)" }
    }
  }

  /// An entity asks for it in its user info. The index is as strict, and is used for what it holds.
  @Test func aPartialUniqueIndexHoldsTheRowsWithAValue() throws {
    let directory = temporaryURL("partial")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let model = Self.model()
    model.entities[0].uniquenessConstraints = [["a0"]]
    model.entities[0].userInfo = ["sqlite.uniqueIndexes": "partial"]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: directory.appendingPathComponent("s.sqlite"), options: nil)
    let sqlite = try #require(store as? SQLiteStore)
    let context = coordinator.context()
    try context.performAndWait {
      for value in [nil, nil, "x", "y"] {
        NSEntityDescription.insertNewObject(forEntityName: "Thing", into: context).setValue(value, forKey: "a0")
      }
      try context.save()
      let twin = NSEntityDescription.insertNewObject(forEntityName: "Thing", into: context)
      twin.setValue("x", forKey: "a0")
      #expect { try context.save() } throws: { ($0 as NSError).code == NSManagedObjectConstraintMergeError }
      context.rollback()
      // The clause of an insertion that passes over what is there names the index with its condition.
      context.mergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
      try context.execute(NSBatchInsertRequest(entityName: "Thing", objects: [["a0": "x"], ["a0": "z"], ["a1": 1]]))
      #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Thing")) == 6)
    }
    let plan = try sqlite.database.read { connection in
      try connection.rows(
        "EXPLAIN QUERY PLAN SELECT Z_PK FROM ZTHING WHERE ZA0 IN (\(bind: .text("x")), \(bind: .text("y")))")
    }
    #expect("\(plan)".contains("Z_Thing_UNIQUE_a0"), "\(plan)")
  }
}
