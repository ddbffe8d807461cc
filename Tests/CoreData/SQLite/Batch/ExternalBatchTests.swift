import Foundation
import StoreTools
import Testing

@testable import CoreData

/// Large binary values of batch requests and of composites lie in files beside the store, as those of saves do.
@Suite("External binary data in batches") struct ExternalBatchTests {
  private func model() throws -> NSManagedObjectModel {
    let data = Build.attribute("data", .binaryDataAttributeType)
    data.allowsExternalBinaryDataStorage = true
    let scan = Build.attribute("scan", .binaryDataAttributeType)
    scan.allowsExternalBinaryDataStorage = true
    let paper = NSCompositeAttributeDescription()
    paper.name = "paper"
    paper.elements = [Build.attribute("title"), scan]
    let photo = Build.entity("Photo", Build.attribute("name"), Build.attribute("plain", .binaryDataAttributeType), data)
    photo.properties.append(paper)
    photo.uniquenessConstraints = [["name"]]
    return Build.model(photo)
  }

  private func files(_ store: TemporaryStore) -> Set<String> {
    let folder = store.folder.appendingPathComponent(".store_SUPPORT/_EXTERNAL_DATA")
    return Set((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
  }

  /// The files that are left when those of no row are removed.
  private func usedFiles(_ store: TemporaryStore) throws -> Set<String> {
    try #expect(StoreMaintenance(url: store.url).removeUnusedFiles() != nil)
    return files(store)
  }

  /// The files that rows name.
  private func named(_ store: TemporaryStore) throws -> Set<String> {
    let stored = try ["ZDATA", "ZPAPER_SCAN"].flatMap { column in
      try store.sql("SELECT CAST(substr(\(column), 2, 36) AS TEXT) FROM ZPHOTO WHERE substr(\(column), 1, 1) = x'02'")
    }
    return Set(stored.compactMap { $0[0] })
  }

  private func large(_ byte: UInt8) -> Data { Data(repeating: byte, count: 300_000) }

  /// The values of an attribute by name, read by a coordinator that has nothing in memory.
  private func values(_ store: TemporaryStore) throws -> [String: Data] {
    let context = try store.otherCoordinator().context()
    return try context.performAndWait {
      Dictionary(
        try context.all("Photo").map { ($0.text("name") ?? "", $0.value(forKey: "data") as? Data ?? Data()) },
        uniquingKeysWith: { first, _ in first })
    }
  }

  @Test("An insertion writes a file for each large value, and a save that fails later removes none of them")
  func inserting() throws {
    let store = try TemporaryStore(model())
    let context = store.context()
    try context.performAndWait {
      let rows: [[String: Any]] = [
        ["name": "a", "data": large(1)], ["name": "b", "data": Data([1])], ["name": "c", "data": large(3)],
      ]
      _ = try context.execute(NSBatchInsertRequest(entityName: "Photo", objects: rows))
      context.make("Photo", ["name": "a", "data": large(9)])
      context.mergePolicy = NSMergePolicy.error
      #expect(throws: (any Error).self) { try context.save() }
    }
    #expect(files(store).count == 2)
    try #expect(named(store) == files(store))
    try #expect(values(store) == ["a": large(1), "b": Data([1]), "c": large(3)])
  }

  @Test("An insertion that a constraint refuses leaves no file")
  func refused() throws {
    let store = try TemporaryStore(model())
    let context = store.context()
    context.performAndWait {
      let rows: [[String: Any]] = [["name": "a", "data": large(1)], ["name": "a", "data": large(2)]]
      context.mergePolicy = NSMergePolicy.error
      #expect(throws: (any Error).self) {
        _ = try context.execute(NSBatchInsertRequest(entityName: "Photo", objects: rows))
      }
    }
    #expect(files(store).isEmpty)
  }

  @Test(
    "An insertion of rows that are there keeps one file for each row",
    arguments: [NSMergePolicyType.mergeByPropertyObjectTrumpMergePolicyType, .mergeByPropertyStoreTrumpMergePolicyType])
  func duplicates(policy: NSMergePolicyType) throws {
    let store = try TemporaryStore(model())
    try store.save { $0.make("Photo", ["name": "a", "data": large(1)]) }
    let context = store.context()
    try context.performAndWait {
      context.mergePolicy = NSMergePolicy(merge: policy)
      let rows: [[String: Any]] = [["name": "a", "data": large(2)], ["name": "b", "data": large(3)]]
      _ = try context.execute(NSBatchInsertRequest(entityName: "Photo", objects: rows))
    }
    try #expect(named(store) == usedFiles(store))
    let wins = policy == .mergeByPropertyObjectTrumpMergePolicyType
    try #expect(values(store) == ["a": large(wins ? 2 : 1), "b": large(3)])
  }

  @Test("An insertion looks at the files of the rows that it replaces only, and those go")
  func replacing() throws {
    let store = try TemporaryStore(model())
    let data = Data(repeating: 1, count: 110_000)
    let names = (0..<40).map { "photo \($0)" }
    try store.save { context in for name in names { context.make("Photo", ["name": name, "data": data]) } }
    let before = files(store)
    let context = store.context()
    try context.performAndWait {
      context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      let runs = store.statementRuns
      // The first row comes twice, and the last one keeps its data.
      let rows: [[String: Any]] = [
        ["name": names[0], "data": data], ["name": names[0], "data": data], ["name": "new", "data": data],
        ["name": names[39], "plain": Data([1])],
      ]
      _ = try context.execute(NSBatchInsertRequest(entityName: "Photo", objects: rows))
      #expect(store.statementRuns - runs < 40)
    }
    let used = try named(store)
    #expect(used.count == 41 && used.intersection(before).count == 39)
    // What waited for readers goes when the store is closed.
    try store.coordinator.remove(store.coordinator.persistentStores[0])
    #expect(files(store) == used)
  }

  @Test("An update gives each row a file of its own, and removes those of the old values")
  func updating() throws {
    let store = try TemporaryStore(model())
    let ids = try store.save { context in
      ["a", "b", "c"].map { context.make("Photo", ["name": $0, "data": large(1)]) }
    }.map(\.objectID)
    let before = files(store)
    let context = store.context()
    try context.performAndWait {
      let request = NSBatchUpdateRequest(entityName: "Photo")
      request.predicate = NSPredicate(format: "name != 'c'")
      request.propertiesToUpdate = ["data": large(2)]
      _ = try context.execute(request)
    }
    try #expect(usedFiles(store).count == 3 && files(store).intersection(before).count == 1)
    try #expect(named(store) == usedFiles(store))
    try store.save { $0.delete($0.object(with: ids[0])) }
    try #expect(values(store) == ["b": large(2), "c": large(1)])
    try context.performAndWait {
      let request = NSBatchUpdateRequest(entityName: "Photo")
      request.propertiesToUpdate = ["data": NSNull()]
      _ = try context.execute(request)
    }
    try #expect(usedFiles(store).isEmpty)
  }

  @Test("An update that fails leaves the files as they were")
  func failingUpdate() throws {
    let store = try TemporaryStore(model())
    try store.save { context in ["a", "b"].forEach { context.make("Photo", ["name": $0, "data": large(1)]) } }
    let before = files(store)
    let context = store.context()
    context.performAndWait {
      let request = NSBatchUpdateRequest(entityName: "Photo")
      request.propertiesToUpdate = ["data": large(2), "name": "same"]
      #expect(throws: (any Error).self) { _ = try context.execute(request) }
      let copy = NSBatchUpdateRequest(entityName: "Photo")
      copy.propertiesToUpdate = ["data": NSExpression(forKeyPath: "plain")]
      expectError(NSPersistentStoreOperationError) { _ = try context.execute(copy) }
    }
    #expect(files(store) == before)
    try #expect(values(store) == ["a": large(1), "b": large(1)])
  }

  @Test("Elements of composites have files, too")
  func composites() throws {
    let store = try TemporaryStore(model())
    let id = try store.save { context in
      context.make("Photo", ["name": "a", "paper": ["title": "t", "scan": large(1)] as [String: Any]])
    }.objectID
    let first = files(store)
    #expect(first.count == 1)
    try #expect(named(store) == first)
    try store.save { $0.object(with: id).setValue(["title": "u", "scan": large(2)] as [String: Any], forKey: "paper") }
    try #expect(usedFiles(store).count == 1 && files(store) != first)
    let context = store.context()
    try context.performAndWait {
      let request = NSBatchUpdateRequest(entityName: "Photo")
      request.propertiesToUpdate = ["paper.scan": large(3)]
      _ = try context.execute(request)
    }
    try #expect(usedFiles(store).count == 1)
    let other = try store.otherCoordinator().context()
    try other.performAndWait {
      let paper = try #require(other.all("Photo").first?.value(forKey: "paper") as? [String: Any])
      #expect(paper["title"] as? String == "u" && paper["scan"] as? Data == large(3))
    }
    let all = NSFetchRequest<any NSFetchRequestResult>(entityName: "Photo")
    try context.performAndWait { _ = try context.execute(NSBatchDeleteRequest(fetchRequest: all)) }
    try #expect(usedFiles(store).isEmpty)
  }
}
