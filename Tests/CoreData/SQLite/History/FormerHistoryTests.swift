import Foundation
import Testing

@testable import CoreData

/// The histories that former programs wrote, this package's and Apple's.
@Suite("Histories in stores of former programs") struct FormerHistoryTests {
  private func open(_ name: String) throws -> (folder: URL, file: URL, context: NSManagedObjectContext) {
    let (folder, file) = try ModelFixtures.copyOfStore(name)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try StoreModels.model(ofStore: name))
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: file, options: [NSPersistentHistoryTrackingKey: true])
    let context = coordinator.context()
    return (folder, file, context)
  }

  private func transactions(_ context: NSManagedObjectContext) throws -> [NSPersistentHistoryTransaction] {
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
    let result = try context.performAndWait { try context.execute(request) }
    return try #require((result as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction])
  }

  private static let withHistory = ModelFixtures.arguments(
    own: ["Harbour-1"],
    apple: ["Notes-macOS13", "Notes-macOS15", "Notes-macOS26", "Plaso-RMAdminStore", "Plaso-knowledgeC-10.13"])

  @Test("Every transaction and change is read", arguments: withHistory)
  func readingEverything(name: String) throws {
    let (folder, file, context) = try open(name)
    defer { try? FileManager.default.removeItem(at: folder) }
    let allTransactions = try transactions(context)
    func count(_ sql: String) throws -> Int { Int(try StoreFixtures.rows(sql, inFile: file)[0][0] ?? "") ?? -1 }
    try #expect(allTransactions.count == count("SELECT count(*) FROM ATRANSACTION"))
    try #expect(allTransactions.reduce(0) { $0 + ($1.changes?.count ?? 0) } == count("SELECT count(*) FROM ACHANGE"))
    #expect(allTransactions.allSatisfy { !$0.processID.isEmpty && $0.timestamp.timeIntervalSinceReferenceDate > 0 })
    let changes: [NSPersistentHistoryChange] = allTransactions.flatMap { $0.changes ?? [] }
    for change in changes {
      #expect((change.updatedProperties != nil) == (change.changeType == .update))
      // An update names its changed properties.
      #expect(change.updatedProperties?.isEmpty != true, "\(change.changedObjectID)")
    }
  }

  @Test(
    "The masks of updates have the length that the model gives them", arguments: withHistory)
  func maskLengths(name: String) throws {
    let (folder, file, context) = try open(name)
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try #require(context.persistentStoreCoordinator?.persistentStores.first as? SQLiteStore)
    let rows = try StoreFixtures.rows(
      "SELECT DISTINCT ZENTITY, length(ZCOLUMNS) FROM ACHANGE WHERE ZCOLUMNS IS NOT NULL", inFile: file)
    #expect(!rows.isEmpty)
    for row in rows {
      let number = try #require(Int(row[0] ?? ""))
      #expect(store.history?.columns(number)?.byteCount == Int(row[1] ?? ""), "entity \(number)")
    }
  }

  @Test(
    "Masks name the properties that changed",
    arguments: ModelFixtures.arguments(
      own: [("Harbour-1", "Yacht", ["sailArea", "isAfloat"])],
      apple: [
        ("Plaso-RMAdminStore", "UsageBlock", ["lastEventDate", "longestSessionEndDate", "screenTimeInSeconds"])
      ]))
  func updatedProperties(store: String, entity: String, properties: Set<String>) throws {
    let (folder, _, context) = try open(store)
    defer { try? FileManager.default.removeItem(at: folder) }
    let changes: [NSPersistentHistoryChange] = try transactions(context).flatMap { $0.changes ?? [] }
    let updated = changes.filter { $0.changeType == .update && $0.changedObjectID.entity.name == entity }
    #expect(updated.contains { change in Set((change.updatedProperties ?? []).map { $0.name }) == properties })
  }

  @Test(
    "Tombstones have their values",
    arguments: ModelFixtures.arguments(
      own: [("Harbour-1", "Vessel 2", false)], apple: [("Plaso-RMAdminStore", "com.skout.SKOUT", true)]))
  func tombstones(store: String, text: String, hasIdentifiers: Bool) throws {
    let (folder, _, context) = try open(store)
    defer { try? FileManager.default.removeItem(at: folder) }
    let changes: [NSPersistentHistoryChange] = try transactions(context).flatMap { $0.changes ?? [] }
    let values: [Any] = changes.flatMap { change in Array((change.tombstone ?? [:]).values) }
    #expect(values.contains { $0 as? String == text })
    #expect(values.contains { $0 is UUID } == hasIdentifiers)
  }

  @Test(
    "A token that a former program archived is read, and is a place in the history",
    arguments: ModelFixtures.arguments(
      own: [("Harbour-1", "HarbourToken", [5, 6])], apple: [("Plaso-RMAdminStore", "STUnique", [1039])]))
  func archivedToken(name: String, key: String, numbers: [Int64]) throws {
    let (folder, _, context) = try open(name)
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try #require(context.persistentStoreCoordinator?.persistentStores.first)
    let data = try #require(store.metadata[key] as? Data)
    let token = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSPersistentHistoryToken.self, from: data))
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: token)
    let result = try context.performAndWait { try context.execute(request) }
    let newer = (result as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction]
    #expect(newer?.map(\.transactionNumber) == numbers)
  }

  @Test(
    "A save goes on with the history in the form that the file has",
    arguments: ModelFixtures.arguments(
      own: ["Harbour-1", "Harbour-2"],
      apple: ["Notes-macOS15", "Plaso-RMAdminStore", "Plaso-knowledgeC-10.13", "SwiftData-FreezeRay-1.0.0"]))
  func goingOn(name: String) throws {
    let (folder, file, context) = try open(name)
    defer { try? FileManager.default.removeItem(at: folder) }
    let before = try transactions(context).last?.transactionNumber ?? 0
    context.transactionAuthor = "somebody"
    let entity = try #require(
      context.persistentStoreCoordinator?.managedObjectModel.entities.first { !$0.isAbstract && $0.superentity == nil })
    try context.performAndWait {
      let request = NSBatchInsertRequest(entity: entity, objects: [entity.mandatoryValues])
      try context.execute(request)
    }
    let last = try #require(try transactions(context).last)
    #expect(last.transactionNumber == before + 1 && last.author == "somebody" && last.changes?.count == 1)
    let maximum = try StoreFixtures.rows("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = 16002", inFile: file)
    #expect(maximum == [["\(before + 1)"]])
  }
}

extension NSEntityDescription {
  /// A value for each mandatory attribute.
  fileprivate var mandatoryValues: [String: Any] {
    attributesByName.filter { !$0.value.isOptional && $0.value.defaultValue == nil }.mapValues { attribute in
      switch attribute.attributeType {
      case .stringAttributeType: "x"
      case .dateAttributeType: Date()
      case .UUIDAttributeType: UUID()
      case .binaryDataAttributeType: Data()
      case .URIAttributeType: URL(fileURLWithPath: "/")
      default: 0
      }
    }
  }
}
