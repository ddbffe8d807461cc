import CSQLite
import Synchronization
import TestFiles
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
    let context = coordinator.context()
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

  // MARK: Faults during a save

  /// Stops a save where it finds the file locked.
  private final class BusyGate: Sendable {
    let isWaiting = DispatchSemaphore(value: 0)
    let mayGoOn = DispatchSemaphore(value: 0)

    func install(on connection: SQLiteConnection) {
      sqlite3_busy_handler(
        connection.handle,
        { context, _ in
          guard let context else { return 0 }
          let gate = Unmanaged<BusyGate>.fromOpaque(context).takeUnretainedValue()
          gate.isWaiting.signal()
          gate.mayGoOn.wait()
          return 1
        }, Unmanaged.passUnretained(self).toOpaque())
    }
  }

  /// saver                 | rival             | reader
  /// ----------------------+-------------------+-----------------
  ///                       | commits a change  |
  ///                       | begins to write   |
  /// waits for the rival   |                   |
  ///                       |                   | fills a fault
  ///                       | ends              |
  /// saves                 |                   |
  @Test func aFaultWaitsForNoSaveThatWaitsForAnotherProcess() throws {
    let (store, file, id) = try library()
    let rival = try SQLiteConnection(path: store.url.path, access: .readWrite)
    let gate = BusyGate()
    try file.database.write { gate.install(on: $0) }
    try rival.execute("UPDATE ZBOOK SET ZTITLE = 'foreign', Z_OPT = Z_OPT + 1 WHERE Z_PK = 50")
    try rival.execute("BEGIN IMMEDIATE")
    let (hasSaved, hasRead) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let title = Mutex<String?>(nil)
    let failure = Mutex<(any Error)?>(nil)
    Thread {
      do { try store.save { $0.make("Tag", ["label": "new"]) } } catch { failure.withLock { $0 = error } }
      hasSaved.signal()
    }.start()
    gate.isWaiting.wait()
    Thread {
      do {
        let read = try store.read { $0.object(with: id).text("title") }
        title.withLock { $0 = read }
      } catch { failure.withLock { $0 = error } }
      hasRead.signal()
    }.start()
    let isFilled = hasRead.wait(timeout: TestLimit.time) == .success
    #expect(isFilled)
    #expect(title.withLock { $0 } == "foreign")
    try rival.execute("COMMIT")
    gate.mayGoOn.signal()
    hasSaved.wait()
    if !isFilled { hasRead.wait() }
    #expect(failure.withLock { $0 } == nil)
    try #expect(store.sql("SELECT ZLABEL FROM ZTAG") == [["new"]])
    try file.database.write { BusyHandler.install(on: $0.handle, timeout: 1) }
  }

  /// A coordinator's own saves leave its cache valid, others' do not, in whatever order they come.
  @Test(arguments: ["WAL", "DELETE"])
  func onlyForeignCommitsEmptyTheCache(journal: String) throws {
    let store = try TemporaryStore(options: [NSSQLitePragmasOption: ["journal_mode": journal]])
    let file = try #require(store.coordinator.persistentStores[0] as? SQLiteStore)
    let id = try store.save { $0.make("Book", ["title": "0"]) }.objectID
    func isCached() throws -> Bool {
      try store.read { _ = $0.object(with: id).text("title") }
      let epoch = file.rowCache.epoch
      file.validateRowCache()
      return file.rowCache.epoch == epoch && file.rowCache.find(id.key, id.storedEntity.table) != nil
    }
    func emptied(_ body: () throws -> Void) throws -> Bool {
      #expect(try isCached())
      try body()
      file.validateRowCache()
      return file.rowCache.find(id.key, id.storedEntity.table) == nil
    }
    func foreign() throws {
      let rival = try SQLiteConnection(path: store.url.path, access: .readWrite)
      defer { rival.close() }
      try rival.execute("UPDATE ZBOOK SET ZPAGES = ZPAGES + 1, Z_OPT = Z_OPT + 1")
    }
    func own() throws { try store.save { $0.make("Tag", ["label": "own"]) } }
    for _ in 0..<3 {
      #expect(try !emptied { try own() })
      #expect(try emptied { try foreign() })
      #expect(
        try emptied {
          try foreign(); try own()
        })
      #expect(
        try emptied {
          try own(); try foreign()
        })
      #expect(
        try emptied {
          try foreign(); try own(); try foreign(); try own()
        })
      // A transaction that writes nothing.
      #expect(try !emptied { try file.database.write { _ in } })
      #expect(
        try emptied {
          try foreign(); try file.database.write { _ in }
        })
      // One that is taken back.
      #expect(throws: CancellationError.self) {
        try file.database.write { connection in
          try connection.execute("UPDATE ZBOOK SET ZPAGES = 0")
          throw CancellationError()
        }
      }
      #expect(try emptied { try foreign() })
    }
    // Many commits, after which the log starts anew.
    try store.read { context in
      for number in 0..<50 {
        context.object(with: id).setValue(String(repeating: "a", count: 40_000 + number), forKey: "title")
        try context.save()
        #expect(context.object(with: id).text("title")?.utf8.count == 40_000 + number)
      }
    }
    #expect(try emptied { try foreign() })
  }

  // MARK: Interruption

  @Test(.timeLimit(.minutes(20)))
  func interruptingStatementsEndsAFetchOfAPinnedContext() throws {
    let (store, file, _) = try library()
    let pinned = try #require(try file.database.pinnedConnection())
    let timer = DispatchSource.makeTimerSource()
    timer.schedule(deadline: .now(), repeating: .milliseconds(5))
    timer.setEventHandler { [coordinator = store.coordinator] in coordinator.interruptStatements() }
    timer.resume()
    defer { timer.cancel() }
    let long: SQL = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000000) SELECT count(*) FROM n"
    let error = #expect(throws: SQLiteError.self) { try pinned.use { try $0.integer(long) } }
    #expect(error?.primaryCode == SQLITE_INTERRUPT)
  }
}
