import CoreData
import Testing

/// An app's store, and a second store under another prefix in the same file.
@Suite struct TwoStoresOneFileTests {
  private static func appModel() -> NSManagedObjectModel {
    let model = LibraryModel.make()
    model.entitiesByName["Tag"]?.uniquenessConstraints = [["label"]]
    return model
  }

  private static func poolModel() -> NSManagedObjectModel {
    let job = LibraryModel.entity(
      "PoolJob",
      [
        LibraryModel.attribute("kind", .stringAttributeType, optional: false),
        LibraryModel.attribute("key", .stringAttributeType),
        LibraryModel.attribute("attempts", .integer64AttributeType, default: 0),
      ])
    job.uniquenessConstraints = [["key"]]
    let file = LibraryModel.entity("PoolFile", [LibraryModel.attribute("name", .stringAttributeType)])
    LibraryModel.relate(file, "jobs", job, "file", toMany: (true, false))
    let model = NSManagedObjectModel()
    model.entities = [job, file]
    return model
  }

  /// One model of both, with a configuration for each store.
  private static func merged() throws -> NSManagedObjectModel {
    let (app, pool) = (appModel(), poolModel())
    let names = (Set(app.entitiesByName.keys), Set(pool.entitiesByName.keys))
    let model = try #require(NSManagedObjectModel(byMerging: [app, pool]))
    model.setEntities(model.entities.filter { names.0.contains($0.name ?? "") }, forConfigurationName: "App")
    model.setEntities(model.entities.filter { names.1.contains($0.name ?? "") }, forConfigurationName: "Pool")
    return model
  }

  /// Opens both stores of the file in a new stack.
  private func open(_ store: TemporaryStore, configurations: (String?, String?) = ("App", "Pool")) throws
    -> NSPersistentStoreCoordinator
  {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try Self.merged())
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: configurations.0, at: store.url, options: nil)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: configurations.1, at: store.url,
      options: [NSPersistentStoreTablePrefixOption: "WP"])
    return coordinator
  }

  /// Everything in the app's store except its rows.
  private func appsOwn(_ store: TemporaryStore) throws -> [[String?]] {
    try store.sql(
      "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'WP%' AND tbl_name NOT LIKE 'WP%' ORDER BY 1")
      + store.sql("SELECT Z_VERSION, Z_UUID, hex(Z_PLIST) FROM Z_METADATA")
      + store.sql("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY ORDER BY 1")
  }

  @Test func oneSaveOverBothIsWrittenToBoth() throws {
    let store = try TemporaryStore(Self.appModel())
    let coordinator = try open(store)
    let context = coordinator.context()
    try context.performAndWait {
      let tag = context.make("Tag", ["label": "app's"])
      let file = context.make("PoolFile", ["name": "f"])
      let job = context.make("PoolJob", ["kind": "index", "key": "1", "file": file])
      try context.save()
      #expect(tag.objectID.persistentStore === coordinator.persistentStores[0])
      #expect(job.objectID.persistentStore === coordinator.persistentStores[1])
      #expect(tag.objectID.uriRepresentation().host != job.objectID.uriRepresentation().host)
      #expect(coordinator.managedObjectID(forURIRepresentation: job.objectID.uriRepresentation()) == job.objectID)
      job.setValue(1, forKey: "attempts")
      tag.setValue("changed", forKey: "label")
      try context.save()
    }
    try #expect(store.sql("SELECT ZLABEL, Z_OPT FROM ZTAG") == [["changed", "2"]])
    try #expect(store.sql("SELECT * FROM WPPOOLJOB").count == 1)
    let again = try open(store).context()
    try again.performAndWait {
      let job = try #require(try again.all("PoolJob").first)
      #expect(job.value(forKey: "attempts") as? Int == 1 && job.object("file")?.text("name") == "f")
      try #expect(again.all("Tag").map { $0.text("label") } == ["changed"])
    }
  }

  @Test(arguments: [true, false])
  func aFailureInOneStoreRollsBothBack(failsInTheApps: Bool) throws {
    let store = try TemporaryStore(Self.appModel())
    let context = try open(store).context()
    try context.performAndWait {
      context.make("Tag", ["label": "taken"])
      context.make("PoolJob", ["kind": "index", "key": "taken"])
      try context.save()
      let tag = context.make("Tag", ["label": failsInTheApps ? "taken" : "free"])
      let job = context.make("PoolJob", ["kind": "index", "key": failsInTheApps ? "free" : "taken"])
      #expect { try context.save() } throws: { ($0 as NSError).code == 133021 }
      #expect(tag.objectID.isTemporaryID && job.objectID.isTemporaryID && context.insertedObjects == [tag, job])
      try #expect(store.sql("SELECT (SELECT count(*) FROM ZTAG), (SELECT count(*) FROM WPPOOLJOB)") == [["1", "1"]])
      try #expect(store.sql("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Tag'") == [["1"]])
      tag.setValue("free", forKey: "label")
      job.setValue("free", forKey: "key")
      try context.save()
    }
    try #expect(store.sql("SELECT (SELECT count(*) FROM ZTAG), (SELECT count(*) FROM WPPOOLJOB)") == [["2", "2"]])
  }

  @Test func aConflictInOneStoreRollsBothBack() throws {
    let store = try TemporaryStore(Self.appModel())
    let first = try open(store).context()
    let (tagID, jobID) = try first.performAndWait {
      let tag = first.make("Tag", ["label": "t"])
      let job = first.make("PoolJob", ["kind": "index", "key": "1"])
      try first.save()
      return (tag.objectID, job.objectID)
    }
    try first.performAndWait {
      first.object(with: tagID).setValue("mine", forKey: "label")
      first.object(with: jobID).setValue(1, forKey: "attempts")
      // A second attempt of the same job saved first.
      let other = try open(store).context()
      try other.performAndWait {
        try other.all("PoolJob")[0].setValue(9, forKey: "attempts")
        try other.save()
      }
      #expect { try first.save() } throws: { ($0 as NSError).code == 133020 }
    }
    try #expect(store.sql("SELECT ZLABEL, Z_OPT FROM ZTAG") == [["t", "1"]])
  }

  @Test func theAppsSchemaMetadataAndNumbersStayByteForByte() throws {
    let store = try TemporaryStore(Self.appModel())
    try store.save { context in
      let author = context.make("Author", ["name": "Ada"])
      context.make("Comic", ["title": "One", "author": author])
    }
    let before = try appsOwn(store)
    let context = try open(store).context()
    try context.performAndWait {
      for number in 0..<20 { context.make("PoolJob", ["kind": "k", "key": "\(number)"]) }
      try context.save()
      try context.all("Author")[0].setValue("Eve", forKey: "name")
      for job in try context.all("PoolJob") { job.setValue(1, forKey: "attempts") }
      try context.save()
      for job in try context.all("PoolJob") { context.delete(job) }
      try context.save()
    }
    try #expect(appsOwn(store) == before)
    // The file still opens with the app's model alone.
    let app = NSPersistentStoreCoordinator(managedObjectModel: Self.appModel())
    try app.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: store.url, options: nil)
    let reader = app.context()
    try reader.performAndWait { try #expect(reader.all("Author")[0].text("name") == "Eve") }
  }

  /// A context with two stores, one for each end of a relationship.
  private static func contextOfTwoStores() throws -> NSManagedObjectContext {
    let left = LibraryModel.entity("Left", [])
    let right = LibraryModel.entity("Right", [])
    LibraryModel.relate(left, "other", right, "other", toMany: (false, false))
    let model = NSManagedObjectModel()
    model.entities = [left, right]
    model.setEntities([left], forConfigurationName: "L")
    model.setEntities([right], forConfigurationName: "R")
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    for name in ["L", "R"] {
      try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: name, at: nil)
    }
    context.persistentStoreCoordinator = coordinator
    return context
  }

  @Test func relatingObjectsOfTwoStoresIsRefused() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let context = try TwoStoresOneFileTests.contextOfTwoStores()
      try context.performAndWait {
        let (first, second) = (context.make("Left"), context.make("Right"))
        try context.save()
        first.setValue(second, forKey: "other")
      }
    }
    expectSentence(result, "different stores", "Left.other")
  }

  @Test func newObjectsOfTwoStoresThatAreRelatedCannotBeSaved() throws {
    let context = try Self.contextOfTwoStores()
    context.performAndWait {
      context.make("Left").setValue(context.make("Right"), forKey: "other")
      #expect { try context.save() } throws: { ($0 as NSError).code == 134030 }
      #expect(context.insertedObjects.count == 2)
    }
  }

  /// Two files cannot share a transaction, but nothing is committed before everything is written.
  @Test(arguments: ["a", "z"])
  func aFailureInAnotherFileLeavesBothAsTheyWere(_ name: String) throws {
    let store = try TemporaryStore(Self.appModel())
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try Self.merged())
    try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: "App", at: store.url, options: nil)
    let other = store.folder.appendingPathComponent("\(name).sqlite")
    try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: "Pool", at: other, options: nil)
    let context = coordinator.context()
    try context.performAndWait {
      context.make("PoolJob", ["kind": "index", "key": "taken"])
      try context.save()
      let tag = context.make("Tag", ["label": "t"])
      let job = context.make("PoolJob", ["kind": "index", "key": "taken"])
      #expect { try context.save() } throws: { ($0 as NSError).code == 133021 }
      try #expect(store.sql("SELECT count(*) FROM ZTAG") == [["0"]])
      #expect(tag.objectID.isTemporaryID && context.insertedObjects == [tag, job])
      job.setValue("free", forKey: "key")
      try context.save()
      #expect(tag.objectID.persistentStore === coordinator.persistentStores[0])
    }
    try #expect(store.sql("SELECT count(*) FROM ZTAG") == [["1"]])
    try #expect(StoreFixtures.rows("SELECT count(*) FROM ZPOOLJOB", inFile: other) == [["2"]])
  }

  @Test func anObjectGoesToTheStoreThatItIsAssignedTo() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    let stores = try (0..<2).map { _ in
      try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    }
    let context = coordinator.context()
    try context.performAndWait {
      let author = context.make("Author", ["name": "Ada"])
      let book = context.make("Book", ["title": "One", "author": author])
      context.assign(author, to: stores[1])
      context.assign(book, to: stores[1])
      let other = context.make("Author", ["name": "Bob"])
      try context.save()
      #expect(author.objectID.persistentStore === stores[1] && book.objectID.persistentStore === stores[1])
      #expect(other.objectID.persistentStore === stores[0])
      // Both have the key 1 in their stores and are different objects.
      #expect(author.objectID != other.objectID && book.object("author") === author)
      context.reset()
      let request = NSFetchRequest<NSManagedObject>(entityName: "Author")
      request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: false)]
      try #expect(context.fetch(request).map { $0.text("name") } == ["Bob", "Ada"])
      request.fetchLimit = 1
      request.fetchOffset = 1
      try #expect(context.fetch(request).map { $0.text("name") } == ["Ada"])
      request.fetchLimit = 0
      request.fetchOffset = 0
      request.affectedStores = [stores[1]]
      try #expect(context.fetch(request).map { $0.text("name") } == ["Ada"])
      try #expect(context.count(for: request) == 1)
    }
  }

  @Test func permanentIDsAreGivenToAllObjectsOrToNone() throws {
    // Given two stores, the second of which may not be written, and a new object for each.
    let (first, second) = (try TemporaryStore(), try TemporaryStore())
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    for (store, isReadOnly) in [(first, false), (second, true)] {
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: store.url,
        options: [NSReadOnlyPersistentStoreOption: isReadOnly])
    }
    let context = coordinator.context()
    try context.performAndWait {
      let (tag, other) = (context.make("Tag", ["label": "one"]), context.make("Tag"))
      context.assign(other, to: coordinator.persistentStores[1])
      // When both are to get their IDs, then none does.
      #expect(throws: (any Error).self) { try context.obtainPermanentIDs(for: [tag, other]) }
      #expect(tag.objectID.isTemporaryID && other.objectID.isTemporaryID)
      try context.obtainPermanentIDs(for: [tag])
      #expect(tag.objectID.persistentStore === coordinator.persistentStores[0])
    }
  }

  @Test func aNewMemberThatGoesToAnotherStoreFailsTheSave() throws {
    // Given two stores, and a new object of one that is related to a new one of the other.
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    let stores = try (0..<2).map { _ in
      try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    }
    let context = coordinator.context()
    try context.performAndWait {
      let (book, tag) = (context.make("Book", ["title": "One"]), context.make("Tag"))
      book.setValue(NSSet(array: [tag]), forKey: "tags")
      context.assign(tag, to: stores[1])
      // When they are saved, then neither is.
      expectError(134030) { try context.save() }
      #expect(book.objectID.isTemporaryID && tag.objectID.isTemporaryID)
      try #expect(context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Book")) == 1)
      // And when they go to the same store, both are.
      context.assign(tag, to: stores[0])
      try context.save()
      #expect(book.objectID.persistentStore === stores[0] && tag.objectID.persistentStore === stores[0])
    }
  }
}
