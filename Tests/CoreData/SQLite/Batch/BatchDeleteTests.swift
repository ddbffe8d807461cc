import StoreTools
import Testing

@testable import CoreData

@Suite struct BatchDeleteTests {
  private func execute(_ request: NSBatchDeleteRequest, _ store: TemporaryStore) throws -> Any? {
    try store.read { (try $0.execute(request) as? NSBatchDeleteResult)?.result }
  }

  private func delete(_ entity: String, where format: String? = nil) -> NSBatchDeleteRequest {
    let fetch = NSFetchRequest<NSManagedObject>(entityName: entity)
    fetch.predicate = format.map { NSPredicate(format: $0) }
    let request = NSBatchDeleteRequest(fetchRequest: fetch)
    request.resultType = .resultTypeCount
    return request
  }

  private func titles(_ store: TemporaryStore) throws -> [String?] {
    try store.sql("SELECT ZTITLE FROM ZBOOK ORDER BY 1").map { $0[0] }
  }

  private func books(_ count: Int, _ model: NSManagedObjectModel = LibraryModel.make()) throws -> TemporaryStore {
    let store = try TemporaryStore(model)
    try store.save { context in
      for number in 1...count { context.make("Book", ["title": "\(number)", "pages": number]) }
    }
    return store
  }

  @Test func theRowsThatMatchAreDeleted() throws {
    let store = try books(5)
    try #expect(execute(delete("Book", where: "pages > 3"), store) as? Int == 2)
    try #expect(titles(store) == ["1", "2", "3"])
    let request = delete("Book")
    request.resultType = .resultTypeStatusOnly
    try #expect(execute(request, store) as? Bool == true)
    try #expect(titles(store) == [])
  }

  @Test func limitOffsetAndOrderOfTheFetchCount() throws {
    let store = try books(6)
    let fetch = NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")
    fetch.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: false)]
    fetch.fetchLimit = 2
    fetch.fetchOffset = 1
    _ = try execute(NSBatchDeleteRequest(fetchRequest: fetch), store)
    try #expect(titles(store) == ["1", "2", "3", "6"])
  }

  @Test func onlyRowsOfTheStoresOfFetchAndRequestAreDeleted() throws {
    // Given two files with two books each, and a store that takes no batch requests.
    let store = try books(2)
    let coordinator = store.coordinator
    let first = coordinator.persistentStores[0]
    let second = try coordinator.addPersistentStore(
      type: .sqlite, at: store.folder.appendingPathComponent("second.sqlite"))
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    try store.save { context in
      for title in ["3", "4"] { context.assign(context.make("Book", ["title": title]), to: second) }
    }
    func deleted(_ ofFetch: [NSPersistentStore]?, _ ofRequest: [NSPersistentStore]?) throws -> [String?] {
      let fetch = NSFetchRequest<NSManagedObject>(entityName: "Book")
      fetch.affectedStores = ofFetch
      fetch.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
      fetch.fetchLimit = 1
      let titles = try store.read { context in
        try Dictionary(uniqueKeysWithValues: context.all("Book").map { ($0.objectID, $0.text("title")) })
      }
      let request = NSBatchDeleteRequest(fetchRequest: fetch)
      request.affectedStores = ofRequest
      request.resultType = .resultTypeObjectIDs
      let ids = try #require(try execute(request, store) as? [NSManagedObjectID])
      return ids.compactMap { titles[$0] }
    }
    // Then one is deleted in each store that both name.
    try #expect(deleted([second], nil) == ["3"])
    try #expect(deleted(nil, [first]) == ["1"])
    try #expect(deleted([first], [second]) == [])
    try #expect(deleted([second], [first, second]) == ["4"])
    try #expect(titles(store) == ["2"])
    // And a store that takes none makes the request fail only if it is asked.
    expectError(NSPersistentStoreUnsupportedRequestTypeError) { try deleted(nil, nil) }
    try #expect(titles(store) == ["2"])
  }

  @Test func insertionsAndUpdatesAreMadeInTheStoresOfTheirRequests() throws {
    let store = try books(1)
    let second = try store.coordinator.addPersistentStore(
      type: .sqlite, at: store.folder.appendingPathComponent("second.sqlite"))
    try store.read { context in
      let insertion = NSBatchInsertRequest(entityName: "Book", objects: [["title": "2"]])
      insertion.affectedStores = [second]
      try context.execute(insertion)
      let update = NSBatchUpdateRequest(entityName: "Book")
      update.propertiesToUpdate = ["pages": 9]
      // Named twice, it is updated once.
      update.affectedStores = [second, second]
      update.resultType = .updatedObjectsCountResultType
      try #expect((context.execute(update) as? NSBatchUpdateResult)?.result as? Int == 1)
      let books = try context.all("Book", sort: "title")
      #expect(books.map { $0.value(forKey: "pages") as? Int } == [1, 9])
      #expect(books.map(\.objectID.persistentStore) == [store.coordinator.persistentStores[0], second])
    }
  }

  @Test func theIDsOfTheResultFeedAMerge() throws {
    let store = try books(3)
    let context = store.context()
    try context.performAndWait {
      let all = try context.all("Book", sort: "pages")
      #expect(all.allSatisfy { $0.text("title") != nil })
      let request = delete("Book", where: "pages < 3")
      request.resultType = .resultTypeObjectIDs
      let ids = try #require(try execute(request, store) as? [NSManagedObjectID])
      #expect(Set(ids) == Set(all.prefix(2).map(\.objectID)))
      #expect(context.registeredObjects.count == 3)
      NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSDeletedObjectsKey: ids], into: [context])
      #expect(context.deletedObjects == Set(all.prefix(2)))
      try context.save()
      #expect(context.registeredObjects == [all[2]])
      #expect(all[0].managedObjectContext == nil)
    }
  }

  @Test func objectIDsNameTheRows() throws {
    let store = try books(2)
    try store.save { $0.make("Comic", ["title": "3"]) }
    let ids = try store.read { try $0.all("Book", where: "title != '1'").map(\.objectID) }
    let request = NSBatchDeleteRequest(objectIDs: ids)
    #expect(request.fetchRequest.entityName == "Book")
    _ = try execute(request, store)
    try #expect(titles(store) == ["1"])
    try #expect(execute(NSBatchDeleteRequest(objectIDs: []), store) as? Bool == true)
  }

  @Test func idsWithoutACommonEntityTrap() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore()
      let ids = try store.save { [$0.make("Tag"), $0.make("Book", ["title": "x"])] }.map(\.objectID)
      _ = NSBatchDeleteRequest(objectIDs: ids)
    }
    expectSentence(result, "common parent")
  }

  // MARK: Delete rules

  @Test func aCascadeTakesAlongWhatItLeadsToAndCountsIt() throws {
    let store = try TemporaryStore()
    try store.save { context in
      let author = context.make("Author", ["name": "A"])
      context.make("Book", ["title": "1", "author": author])
      context.make("Comic", ["title": "2", "author": author])
      context.make("Book", ["title": "3"])
    }
    try #expect(execute(delete("Author"), store) as? Int == 3)
    try #expect(titles(store) == ["3"])
  }

  @Test func aCascadeGoesRoundACircleOnce() throws {
    let node = LibraryModel.entity("Node", [LibraryModel.attribute("name", .stringAttributeType)])
    LibraryModel.relate(
      node, "children", node, "parent", toMany: (true, false), rules: (.cascadeDeleteRule, .cascadeDeleteRule))
    let model = NSManagedObjectModel()
    model.entities = [node]
    let store = try TemporaryStore(model)
    try store.save { context in
      let nodes = (0..<50).map { context.make("Node", ["name": "\($0)"]) }
      for (index, node) in nodes.enumerated() { node.setValue(nodes[(index + 1) % 50], forKey: "parent") }
      context.make("Node", ["name": "alone"])
    }
    try #expect(execute(delete("Node", where: "name == '7'"), store) as? Int == 50)
    try #expect(store.sql("SELECT ZNAME FROM ZNODE") == [["alone"]])
  }

  @Test func whatNullifiesIsClearedAndGetsANewVersion() throws {
    let store = try TemporaryStore()
    try store.save { context in
      let author = context.make("Author", ["name": "A"])
      context.make("Passport", ["number": "1", "holder": author])
      context.make("Tag", ["label": "t", "books": Set([context.make("Book", ["title": "1"])])])
    }
    try #expect(execute(delete("Author"), store) as? Int == 1)
    try #expect(store.sql("SELECT ZHOLDER, Z_OPT FROM ZPASSPORT") == [[nil, "2"]])
    _ = try execute(delete("Book"), store)
    try store.read { context in try #expect(context.all("Tag")[0].members("books").isEmpty) }
  }

  @Test func aDenyRuleFailsTheRequestWhileSomethingIsLeftAtTheOtherEnd() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Author"]?.relationshipsByName["books"]?.deleteRule = .denyDeleteRule
    let store = try books(1, model)
    try store.save { context in
      let author = context.make("Author", ["name": "A"])
      try context.all("Book")[0].setValue(author, forKey: "author")
      context.make("Author", ["name": "B"])
    }
    expectError(1600) { try execute(delete("Author"), store) }
    try #expect(store.sql("SELECT count(*) FROM ZAUTHOR") == [["2"]])
    try #expect(execute(delete("Author", where: "books.@count == 0"), store) as? Int == 1)
    _ = try execute(delete("Book"), store)
    try #expect(execute(delete("Author"), store) as? Int == 1)
  }

  @Test func aMandatoryInverseThatWouldBeClearedFailsTheRequest() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Author"]?.relationshipsByName["books"]?.deleteRule = .nullifyDeleteRule
    model.entitiesByName["Book"]?.relationshipsByName["author"]?.isOptional = false
    let store = try TemporaryStore(model)
    try store.save { context in
      context.make("Book", ["title": "1", "author": context.make("Author", ["name": "A"])])
    }
    expectError(1570) { try execute(delete("Author"), store) }
    try #expect(store.sql("SELECT count(*) FROM ZAUTHOR") == [["1"]])
  }

  @Test func noActionLeavesWhatReferredToTheRow() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Author"]?.relationshipsByName["books"]?.deleteRule = .noActionDeleteRule
    let store = try TemporaryStore(model)
    try store.save { context in
      context.make("Book", ["title": "1", "author": context.make("Author", ["name": "A"])])
    }
    _ = try execute(delete("Author"), store)
    try #expect(store.sql("SELECT ZAUTHOR FROM ZBOOK") == [["1"]])
  }

  @Test func derivedCountsFollow() throws {
    let store = try TemporaryStore(CountingModel.make())
    try store.save { context in
      let shelf = context.make("Shelf", ["label": "A"])
      for title in ["1", "2", "3"] { context.make("Book", ["title": title, "shelf": shelf]) }
    }
    _ = try execute(delete("Book", where: "title == '2'"), store)
    try #expect(store.sql("SELECT ZBOOKCOUNT FROM ZSHELF") == [["2"]])
  }

  @Test func filesOfDeletedRowsAreRemoved() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.attributesByName["cover"]?.allowsExternalBinaryDataStorage = true
    let store = try books(2, model)
    // Apple's framework stores a large value like this: the row has a 2, the file's name and a zero.
    let name = UUID().uuidString
    let folder = store.folder.appendingPathComponent(".store_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let file = folder.appendingPathComponent(name)
    try Data("large".utf8).write(to: file)
    let connection = try SQLiteConnection(path: store.url.path, access: .readWrite)
    let reference = Data("\u{2}\(name)\0".utf8)
    try connection.run("UPDATE ZBOOK SET ZCOVER = \(bind: .blob(reference)) WHERE Z_PK = 1")
    let title = try store.sql("SELECT ZTITLE FROM ZBOOK WHERE Z_PK = 1")[0][0] ?? ""
    try store.read { context in
      try #expect(
        context.all("Book", where: "title == '\(title)'")[0].value(forKey: "cover") as? Data == Data("large".utf8))
    }
    let maintenance = try StoreMaintenance(url: store.url)
    _ = try execute(delete("Book", where: "title != '\(title)'"), store)
    try #expect(maintenance.removeUnusedFiles() == 0)
    #expect(FileManager.default.fileExists(atPath: file.path))
    _ = try execute(delete("Book"), store)
    try #expect(maintenance.removeUnusedFiles() == 1)
    #expect(!FileManager.default.fileExists(atPath: file.path))
  }

  @Test func theCoordinatorExecutesRequestsToo() throws {
    let store = try books(3)
    let context = store.context()
    try context.performAndWait {
      let result = try store.coordinator.execute(delete("Book", where: "pages == 1"), with: context)
      #expect((result as? NSBatchDeleteResult)?.result as? Int == 1)
      let books = try store.coordinator.execute(NSFetchRequest<NSManagedObject>(entityName: "Book"), with: context)
      #expect((books as? [NSManagedObject])?.count == 2)
      expectError(134091) { try context.execute(NSPersistentStoreRequest()) }
    }
  }

  /// Only rows matter: no validation, no callbacks, nothing to undo, and contexts are not told.
  @Test func batchRequestsSeeRowsOnlyAndTellNobody() throws {
    let model = LibraryModel.makeWithClasses()
    model.entitiesByName["Book"]?.attributesByName["pages"]?.setValidationPredicates(
      [NSPredicate(format: "SELF <= 100")], withValidationWarnings: [NSNumber(value: 1610)])
    let store = try books(2, model)
    try store.read { context in
      let changed = try context.all("Book", where: "title == '1'")[0]
      changed.setValue(50, forKey: "pages")
      let new = try #require(context.make("Book", ["title": "new"]) as? RecordingBook)
      context.processPendingChanges()
      context.undoManager = UndoManager()
      let calls = new.calls
      let log = NotificationLog(context)
      let update = NSBatchUpdateRequest(entityName: "Book")
      update.predicate = NSPredicate(format: "pages == 1")
      update.propertiesToUpdate = ["pages": 1000]
      update.resultType = .updatedObjectsCountResultType
      try #expect((context.execute(update) as? NSBatchUpdateResult)?.result as? Int == 1)
      let none = try context.execute(delete("Book", where: "title == 'new' OR pages == 50")) as? NSBatchDeleteResult
      #expect(none?.result as? Int == 0)
      try context.execute(NSBatchInsertRequest(entityName: "Book", objects: [["title": "3", "pages": 1000]]))
      context.processPendingChanges()
      #expect(log.names.isEmpty && context.undoManager?.canUndo == false)
      #expect(new.calls == calls && context.insertedObjects == [new] && context.updatedObjects == [changed])
    }
    try #expect(
      store.sql("SELECT ZTITLE, ZPAGES FROM ZBOOK ORDER BY 1") == [["1", "1000"], ["2", "2"], ["3", "1000"]])
  }
}
