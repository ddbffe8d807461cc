import Testing

@testable import CoreData

/// The promises of a coordinator's connections and its row cache.
@Suite struct ReadersAndWriterTests {
  private func library() throws -> (TemporaryStore, SQLiteStore, NSManagedObjectID) {
    let store = try TemporaryStore()
    let id = try store.save { context in
      for number in 1..<50 { context.make("Book", ["title": "b\(number)"]) }
      return context.make("Book", ["title": "One"])
    }.objectID
    return (store, try #require(store.coordinator.persistentStores[0] as? SQLiteStore), id)
  }

  @Test func aWriteWaitsForNoReadAndAReadSeesOneMoment() throws {
    let (store, file, _) = try library()
    // reader                | writer
    // ----------------------+---------------------
    // first row of a fetch  |
    //                       | saves a new book
    // the other rows        |
    var rows = 0
    try file.fetch(RowFetch(entityName: "Book")) { _, _, _ in
      if rows == 0 { #expect(throws: Never.self) { try store.save { $0.make("Book", ["title": "late"]) } } }
      rows += 1
    }
    #expect(rows == 50)
    try store.read { try #expect($0.all("Book").count == 51) }
  }

  @Test func severalReadersWorkAtOnce() throws {
    let (store, file, _) = try library()
    func nested(_ depth: Int) throws -> Int {
      try file.database.read { connection in
        let count = try connection.integer("SELECT count(*) FROM ZBOOK")
        #expect(count == 50)
        return depth == 1 ? 1 : try nested(depth - 1) + 1
      }
    }
    try withExtendedLifetime(store) { try #expect(nested(8) == 8) }
  }

  @Test func aFaultIsServedFromTheRowCache() throws {
    let (store, file, id) = try library()
    let cached = try #require(file.rowCache.find(id.key, id.storedEntity.table))
    // Only the cache has this row.
    let changed = cached.copy()
    let slot = try #require(id.storedEntity.layout.slot("title"))
    changed.set("from the cache", slot: slot, of: id.entity)
    file.rowCache.commit(saved: [(id.key, id.storedEntity.table, changed)], removed: [])
    try store.read { context in
      #expect(context.object(with: id).text("title") == "from the cache")
      context.reset()
      context.stalenessInterval = 0
      #expect(context.object(with: id).text("title") == "One")
    }
    // And the cache is not used after another connection has written.
    _ = try StoreFixtures.rows(
      "UPDATE ZBOOK SET ZTITLE = 'foreign', Z_OPT = Z_OPT + 1 WHERE Z_PK = 50", inFile: store.url)
    try store.read { #expect($0.object(with: id).text("title") == "foreign") }
  }

  @Test func rowsReadBeforeACommitDoNotEnterTheCacheAfterIt() throws {
    let (store, file, id) = try library()
    let epoch = file.rowCache.epoch
    let old = try #require(file.rowCache.find(id.key, id.storedEntity.table))
    try store.save { $0.object(with: id).setValue("Two", forKey: "title") }
    file.rowCache.add([(id.key, id.storedEntity.table, old)], since: epoch)
    try store.read { #expect($0.object(with: id).text("title") == "Two") }
    let (before, id2) = (file.rowCache.epoch, id)
    try store.save { $0.delete($0.object(with: id2)) }
    file.rowCache.add([(id.key, id.storedEntity.table, old)], since: before)
    #expect(file.rowCache.find(id.key, id.storedEntity.table) == nil)
  }

  @Test func aSaveThatFindsTheFileLockedFailsInTimeAndCanBeRepeated() throws {
    let (store, _, id) = try library()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.url,
      options: [NSPersistentStoreTimeoutOption: NSNumber(value: 0.05)])
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    let other = try SQLiteConnection(path: store.url.path, access: .readWrite)
    try other.execute("BEGIN IMMEDIATE")
    try context.performAndWait {
      let mine = try #require(coordinator.managedObjectID(forURIRepresentation: id.uriRepresentation()))
      let book = context.object(with: mine)
      // Reading does not wait.
      #expect(book.text("title") == "One")
      book.setValue("Two", forKey: "title")
      let new = context.make("Book", ["title": "new"])
      #expect { try context.save() } throws: { ($0 as NSError).code == 134090 }
      #expect(book.isUpdated && new.isInserted && new.objectID.isTemporaryID && context.hasChanges)
      try other.execute("COMMIT")
      try context.save()
    }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK WHERE ZTITLE IN ('Two', 'new')") == [["2"]])
  }

  @Test func aSaveThatTheFileRefusesHalfWayWritesNothing() throws {
    let (store, _, id) = try library()
    _ = try StoreFixtures.rows(
      """
      CREATE TRIGGER refuse BEFORE INSERT ON ZTAG WHEN NEW.ZLABEL = 'bad'
      BEGIN SELECT RAISE(ABORT, 'refused'); END
      """, inFile: store.url)
    try store.read { context in
      context.object(with: id).setValue("Two", forKey: "title")
      context.make("Book", ["title": "new"])
      let tag = context.make("Tag", ["label": "bad"])
      #expect(throws: (any Error).self) { try context.save() }
      try #expect(store.sql("SELECT count(*) FROM ZBOOK WHERE ZTITLE IN ('Two', 'new')") == [["0"]])
      #expect(context.insertedObjects.count == 2 && context.updatedObjects.count == 1)
      tag.setValue("good", forKey: "label")
      try context.save()
    }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK WHERE ZTITLE IN ('Two', 'new')") == [["2"]])
  }

  /// Before, between and in the middle of uses.
  @Test func memoryThatIsReleasedIsReadAgain() throws {
    let store = try TemporaryStore()
    try store.save { context in for number in 0..<500 { context.make("Tag", ["label": "\(number)"]) } }
    let context = store.context()
    let coordinator = try #require(context.persistentStoreCoordinator)
    let sqlite = try #require(coordinator.persistentStores.first as? SQLiteStore)
    try context.performAndWait {
      for count in 500...502 {
        coordinator.releaseMemory()
        #expect(try context.all("Tag").count == count)
        context.make("Tag", ["label": "new"])
        try sqlite.database.write { _ in
          try context.save()
          coordinator.releaseMemory()
        }
        context.reset()
      }
    }
    try #expect(store.sql("SELECT count(*) FROM ZTAG WHERE ZLABEL = 'new'") == [["3"]])
  }
}
