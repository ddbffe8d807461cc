@testable import CoreDataPostgreSQL
import TestFiles
import Testing

@testable import CoreData

/// What a store on a PostgreSQL server does besides the rules for all stores.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct ServerStoreTests {
  private func connect() throws -> any ServerConnection {
    return try ServerDriver.open(PostgreSQLServer.shared.address())
  }

  private func address(_ stack: StoreStack) throws -> ServerAddress { try ServerAddress(stack.url, nil) }

  @Test func aSchemaHasTablesAndColumnsNamedLikeTheModel() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.uniquenessConstraints = [["title"]]
    let stack = try StoreStack(.server, model)
    var parameters = ServerParameters()
    parameters.add(try address(stack).schema)
    let rows = try connect().execute(
      """
      SELECT c.relname::text || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) FROM pg_class c \
      JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relnamespace = $1::regnamespace AND c.relkind = 'r' \
      AND a.attnum > 0 AND c.relname IN ('Book', 'Book_tags', 'Tag') ORDER BY 1
      """, parameters)
    #expect(
      (0..<rows.rowCount).compactMap { rows.text($0, 0) } == [
        "Book._entity integer", "Book._key bigint", "Book._version bigint", "Book.artist text", "Book.author bigint",
        "Book.cover bytea", "Book.extra bytea", "Book.isRead boolean", "Book.link text", "Book.pages bigint",
        "Book.price numeric", "Book.rating double precision", "Book.title text", "Book.uuid uuid",
        "Book.weight double precision", "Book_tags.Book bigint", "Book_tags.tags bigint", "Tag._entity integer",
        "Tag._key bigint", "Tag._version bigint", "Tag.label text",
      ])
  }

  /// A restore makes all tables first: a program that waits for its store must not take them for a damaged one.
  @Test func tablesWithoutTheStoresRowAreNoStoreYet() throws {
    let stack = try StoreStack(.server)
    let place = try address(stack)
    let connection = try connect()
    defer { connection.close() }
    let kept = place.qualified("kept")
    try connection.run(
      "CREATE TABLE \(kept) AS TABLE \(place.qualified("_store")); DELETE FROM \(place.qualified("_store"))")
    let other = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    func open() throws {
      try other.addPersistentStore(
        ofType: StoreKind.server.type, configurationName: nil, at: stack.url,
        options: [NSPersistentStoreMustExistOption: true])
    }
    expectError(134080, open)
    try connection.run("INSERT INTO \(place.qualified("_store")) TABLE \(kept)")
    try open()
  }

  @Test func rowsOfOtherProgramsAreRowsLikeOurs() throws {
    let stack = try StoreStack(.server)
    let place = try address(stack)
    let connection = try connect()
    try connection.run(
      """
      INSERT INTO \(place.qualified("Author")) (name, born) VALUES ('Ada', '1815-12-10 12:00:00+00');
      INSERT INTO \(place.qualified("Book")) (title, price, "isRead", author) \
      SELECT 'Notes', 12.50, true, _key FROM \(place.qualified("Author"))
      """)
    try stack.perform { context in
      let book = try #require(context.all("Book").first)
      #expect(book.value(forKey: "price") as? NSDecimalNumber == NSDecimalNumber(string: "12.5"))
      #expect(book.value(forKey: "isRead") as? Bool == true && book.object("author")?.text("name") == "Ada")
      let born = try #require(book.object("author")?.value(forKey: "born") as? Date)
      #expect(born.timeIntervalSince1970 == -4_861_684_800)
      // A change by another program is a conflict for a save that relies on the row as it was.
      book.setValue("Sketch", forKey: "title")
      try connection.run("UPDATE \(place.qualified("Book")) SET pages = 9, _version = _version + 1")
      expectError(133020) { try context.save() }
      context.mergePolicy = NSMergePolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
      try context.save()
      #expect(book.value(forKey: "pages") as? Int == 9)
    }
    try #expect(connection.execute("SELECT title FROM \(raw: place.qualified("Book"))").text(0, 0) == "Sketch")
  }

  /// A server takes a message of one GiB at most, and ends the connection after a longer one.
  @Test func aSaveOfManyBytesGoesInSeveralStatements() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.uniquenessConstraints = [["title"]]
    let stack = try StoreStack(.server, model)
    let (count, size) = (20, ServerRowWriter.mostBytes / 8)
    func cover(_ byte: Int) -> Data { Data(repeating: UInt8(byte), count: size) }
    func covers() throws -> [UInt8] {
      try stack.perform { context in
        let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
        request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
        return try context.fetch(request).compactMap { ($0.value(forKey: "cover") as? Data).flatMap { $0.last } }
      }
    }
    func title(_ number: Int) -> String { String(number + 100) }
    // New rows, changed ones, and a batch of which half is there.
    try stack.perform { context in
      for number in 0..<count { context.make("Book", ["title": title(number), "cover": cover(number)]) }
      try context.save()
      #expect(try covers() == (0..<count).map { UInt8($0) })
      for book in try context.all("Book") {
        let number = try #require(book.text("title").flatMap { Int($0) }) - 100
        book.setValue(cover(number + 50), forKey: "cover")
      }
      try context.save()
    }
    #expect(try covers() == (0..<count).map { UInt8($0 + 50) })
    try stack.perform { context in
      context.mergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
      let rows = (count / 2..<count * 3 / 2).map { ["title": title($0), "cover": cover($0)] as [String: Any] }
      try context.execute(NSBatchInsertRequest(entityName: "Book", objects: rows))
    }
    #expect(
      try covers() == (0..<count).map { UInt8($0 + 50) } + (count..<count * 3 / 2).map { UInt8($0) })
  }

  @Test(arguments: ConstraintPolicies.resolving)
  func aUniqueValueIsResolvedAsThePolicySays(policy: NSMergePolicyType) throws {
    let model = LibraryModel.make()
    model.entitiesByName["Tag"]?.uniquenessConstraints = [["label"]]
    model.entitiesByName["Author"]?.uniquenessConstraints = [["name"]]
    let stack = try StoreStack(.server, model)
    try stack.perform { context in
      context.make("Author", ["name": "Ada", "born": Date(timeIntervalSinceReferenceDate: 0)])
      try context.save()
    }
    let context = stack.context()
    try context.performAndWait {
      context.mergePolicy = NSMergePolicy(merge: policy)
      context.make("Author", ["name": "Ada", "born": Date(timeIntervalSinceReferenceDate: 9)])
      try context.save()
      let isWinning = ConstraintPolicies.winning.contains(policy)
      let births = try stack.perform { try $0.all("Author").map { $0.value(forKey: "born") as? Date } }
      #expect(births == [Date(timeIntervalSinceReferenceDate: isWinning ? 9 : 0)])
    }
  }

  @Test func aReferenceToADeletedRowIsAnError() throws {
    let stack = try StoreStack(.server)
    let connection = try connect()
    let place = try address(stack)
    let context = stack.context()
    try context.performAndWait {
      let author = context.make("Author", ["name": "Ada"])
      try context.save()
      try connection.run("DELETE FROM \(place.qualified("Author"))")
      let book = context.make("Book", ["title": "one"])
      book.setPrimitiveValue(author, forKey: "author")
      expectError(133000) { try context.save() }
    }
    try #expect(connection.execute("SELECT 1 FROM \(raw: place.qualified("Book"))").rowCount == 0)
  }

  @Test func valuesThatPostgreSQLLacksAreRefusedWithTheirNames() throws {
    let stack = try StoreStack(.server)
    stack.perform { context in
      let tag = context.make("Tag", ["label": "a\0b"])
      expectError(134030) { try context.save() }
      tag.setValue("a", forKey: "label")
      context.make("Author", ["name": "Ada", "born": Date(timeIntervalSinceReferenceDate: 1e13)])
      expectError(134030) { try context.save() }
    }
  }

  /// Alone and among others, new and changed: what is refused is the value of one object, which is named.
  @Test(arguments: [1, 60]) func aRefusedValueNamesItsObjectAndWhatToDo(rows: Int) throws {
    let stack = try StoreStack(.server)
    try stack.perform { context in
      let tags = (0..<rows).map { context.make("Tag", ["label": "tag \($0)"]) }
      try context.save()
      let changed = try #require(tags.last)
      for tag in tags { tag.setValue("changed", forKey: "label") }
      changed.setValue("se\0cret", forKey: "label")
      #expect(refusal(context).contains("the value of label of Tag/p\(changed.objectID.key) is a text with a NUL"))
      context.rollback()
      for number in 1..<rows { context.make("Tag", ["label": "new \(number)"]) }
      context.make("Tag", ["label": "se\0cret"])
      let text = refusal(context)
      #expect(text.contains("the value of label of Tag/p") && text.contains("remove the character (U+0000)"), "\(text)")
      #expect(!text.contains("cret"), "\(text)")
    }
  }

  /// Values that the server cannot compress, below and above the size of a page.
  @Test(arguments: [(1, 3000), (60, 3000), (1, 9000), (60, 9000)])
  func aValueThatIsTooLongForAnIndexNamesItsObjectAndWhatToDo(rows: Int, length: Int) throws {
    let model = LibraryModel.make()
    model.entitiesByName["Tag"]?.uniquenessConstraints = [["label"]]
    let stack = try StoreStack(.server, model)
    var generator = SeededGenerator(seed: 7)
    let bytes = (0..<length).map { _ in UInt8.random(in: 33...126, using: &generator) }
    let long = String(decoding: bytes, as: UTF8.self)
    try stack.perform { context in
      let tags = (0..<rows).map { context.make("Tag", ["label": "tag \($0)"]) }
      try context.save()
      let changed = try #require(tags.last)
      for (number, tag) in tags.enumerated() { tag.setValue("changed \(number)", forKey: "label") }
      changed.setValue(long, forKey: "label")
      let text = refusal(context)
      #expect(
        text.contains(
          "the value of label of Tag/p\(changed.objectID.key) is too long for an index of the server, which takes some "
            + "2,700 bytes of a row: shorten it, or remove the index or the uniqueness constraint"), "\(text)")
      context.rollback()
      for number in 1..<rows { context.make("Tag", ["label": "new \(number)"]) }
      context.make("Tag", ["label": long])
      let second = refusal(context)
      #expect(second.contains("the value of label of Tag/p") && !second.contains(long.prefix(20)), "\(second)")
    }
  }

  /// A batch request writes rows that nobody here knows: the error names the entity and the attribute.
  @Test(arguments: [3000, 9000])
  func aBatchWithAValueThatIsTooLongForAnIndexNamesTheAttribute(length: Int) throws {
    let model = LibraryModel.make()
    model.entitiesByName["Tag"]?.uniquenessConstraints = [["label"]]
    let stack = try StoreStack(.server, model)
    var generator = SeededGenerator(seed: 7)
    let long = String(decoding: (0..<length).map { _ in UInt8.random(in: 33...126, using: &generator) }, as: UTF8.self)
    let expected =
      "the value of label of Tag is too long for an index of the server, which takes some 2,700 bytes of a row: "
      + "shorten it, or remove the index or the uniqueness constraint"
    try stack.perform { context in
      context.make("Tag", ["label": "short"])
      try context.save()
      func refusal(_ request: NSPersistentStoreRequest) -> String {
        do {
          _ = try context.execute(request)
          return "done"
        } catch {
          return (error as NSError).localizedDescription
        }
      }
      let insertion = NSBatchInsertRequest(entityName: "Tag", objects: [["label": "new"], ["label": long]])
      let inserted = refusal(insertion)
      #expect(inserted.contains(expected) && inserted.contains("Inserting rows of Tag"), "\(inserted)")
      let update = NSBatchUpdateRequest(entityName: "Tag")
      update.propertiesToUpdate = ["label": long]
      let updated = refusal(update)
      #expect(updated.contains(expected) && updated.contains("Updating rows of Tag"), "\(updated)")
    }
  }

  private func refusal(_ context: NSManagedObjectContext) -> String {
    do {
      try context.save()
      return "saved"
    } catch {
      return "\((error as NSError).localizedDescription)"
    }
  }

  @Test func twoStoresOfOneDatabaseAreWrittenInOneTransaction() throws {
    let stack = try StoreStack(.server)
    let other = StoreKind.server.place(stack.folder.appendingPathComponent("other"))
    try stack.coordinator.addPersistentStore(ofType: NSPostgreSQLStoreType, configurationName: nil, at: other)
    let stores = stack.coordinator.objectStores
    #expect(stores[0].writeScope === stores[1].writeScope)
    var good = StoreSubject.changes
    let tag = try #require(stack.coordinator.managedObjectModel.entitiesByName["Tag"]).layout.defaults.copy()
    good.inserted = [RowChanges.Insertion(key: -1, values: tag, members: [])]
    var bad = StoreSubject.changes
    let storedEntity = try #require(stores[1].storedEntities.byName["Tag"])
    bad.checked = [RowChanges.Check(storedEntity: storedEntity, key: 4711, version: 1, mayHaveChanged: false)]
    #expect(throws: RowConflicts.self) {
      try stack.coordinator.save([(stores[0], good), (stores[1], bad)]) { _ in }
    }
    try #expect(stores[0].count(RowFetch(entityName: "Tag")) == 0)
    try stack.coordinator.save([(stores[0], good), (stores[1], good)]) { _ in }
    try #expect(stores.map { try $0.count(RowFetch(entityName: "Tag")) } == [1, 1])
  }

  @Test func commitsOfOthersArePosted() async throws {
    let options = [NSPersistentStoreRemoteChangeNotificationPostOptionKey: true, NSPersistentHistoryTrackingKey: true]
    let stack = try StoreStack(.server, options: options)
    let posted = AsyncStream<Int64?> { continuation in
      let center = NotificationCenter.default
      nonisolated(unsafe) let observer = center.addObserver(
        forName: .NSPersistentStoreRemoteChange, object: stack.coordinator, queue: nil
      ) { notification in
        let token = notification.userInfo?[NSPersistentHistoryTokenKey] as? NSPersistentHistoryToken
        continuation.yield(token?.numbers.values.first)
      }
      continuation.onTermination = { _ in center.removeObserver(observer) }
    }
    let other = try stack.another()
    let context = stack.context(other)
    try context.performAndWait {
      context.make("Tag", ["label": "a"])
      try context.save()
    }
    var numbers = posted.makeAsyncIterator()
    // The store keeps a history for all who write to it.
    let number = await numbers.next()
    #expect(number == .some(.some(1)))
  }

  @Test func aCommitThatBeganBeforeAnybodyListenedIsPosted() async throws {
    //   another program                        | this program
    //   ---------------------------------------+------------------
    //   begins, and sees that nobody listens   |
    //                                          | opens the store
    //   commits without a notice               |
    //                                          | hears of it
    let stack = try StoreStack(.server)
    let place = try address(stack)
    let connection = try connect()
    try connection.run(
      """
      BEGIN; SELECT announces FROM \(place.qualified("_store"));
      INSERT INTO \(place.qualified("Tag")) (label) VALUES ('a')
      """)
    let listener = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    let posted = AsyncStream<Void> { continuation in
      let center = NotificationCenter.default
      nonisolated(unsafe) let observer = center.addObserver(
        forName: .NSPersistentStoreRemoteChange, object: listener, queue: nil
      ) { _ in continuation.yield() }
      continuation.onTermination = { _ in center.removeObserver(observer) }
    }
    let store = try listener.addPersistentStore(
      ofType: NSPostgreSQLStoreType, configurationName: nil, at: stack.url,
      options: [NSPersistentStoreRemoteChangeNotificationPostOptionKey: true])
    try connection.run("COMMIT")
    var posts = posted.makeAsyncIterator()
    #expect(await posts.next() != nil)
    try listener.remove(store)
    connection.close()
  }

  @Test func anInterruptedSaveFailsAndLaterOnesDoNot() throws {
    let stack = try StoreStack(.server)
    let connection = try connect()
    let place = try address(stack)
    // Given a row that another session has locked, and a save that waits for it.
    try stack.perform { context in
      let tag = context.make("Tag", ["label": "a"])
      try context.save()
      try connection.run("BEGIN; UPDATE \(place.qualified("Tag")) SET label = 'b'")
      let coordinator = stack.coordinator
      nonisolated(unsafe) let observer = try connect()
      let waits: SQL = """
        SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%\(raw: place.schema)%'
        """
      let thread = Thread {
        while (try? observer.execute(waits).rowCount) == 0 {}
        coordinator.interruptStatements()
      }
      thread.start()
      tag.setValue("c", forKey: "label")
      // Then it can be interrupted, and repeated.
      #expect(throws: NSError.self) { try context.save() }
      try connection.run("ROLLBACK")
      try context.save()
    }
    try #expect(connection.execute("SELECT label FROM \(raw: place.qualified("Tag"))").text(0, 0) == "c")
  }

  @Test(.timeLimit(.minutes(20)))
  func interruptingStatementsEndsAFetchOfAPinnedContext() throws {
    let stack = try StoreStack(.server)
    let store = try #require(stack.store as? ServerStore)
    let pinned = try store.database.pinnedConnection()
    let coordinator = stack.coordinator
    nonisolated(unsafe) let observer = try connect()
    let runs: SQL = "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query = 'SELECT pg_sleep(9.25)'"
    Thread {
      while (try? observer.execute(runs).rowCount) == 0 {}
      coordinator.interruptStatements()
    }.start()
    let error = #expect(throws: ServerError.self) {
      try pinned.use { try $0.connection.execute("SELECT pg_sleep(9.25)") }
    }
    #expect(error?.state == "57014")
  }

  /// After the largest number the count restarts, as in a file: in a save of one row and of several, and in batches.
  @Test(arguments: [1, 3])
  func aRowOfTheLargestVersionCanBeChanged(rows: Int) throws {
    let stack = try StoreStack(.server)
    let connection = try connect()
    let tags = try address(stack).qualified("Tag")
    let largest = "UPDATE \(tags) SET _version = 9223372036854775807"
    func versions() throws -> [Int64] {
      let result = try connection.execute("SELECT _version FROM \(raw: tags)")
      return (0..<result.rowCount).map { result.integer($0, 0) }
    }
    try stack.perform { context in
      for _ in 1...rows { context.make("Tag", ["label": "a"]) }
      try context.save()
      try connection.run(largest)
      context.reset()
      for label in ["b", "c"] {
        for tag in try context.all("Tag") { tag.setValue(label, forKey: "label") }
        try context.save()
      }
      #expect(try versions() == Array(repeating: 2, count: rows))
      try connection.run(largest)
      let update = NSBatchUpdateRequest(entityName: "Tag")
      update.propertiesToUpdate = ["label": "d"]
      try context.execute(update)
      #expect(try versions() == Array(repeating: 1, count: rows))
      // Members change a row of which nothing else was read.
      try connection.run(largest)
      context.reset()
      let all = try context.all("Tag")
      for tag in all { tag.mutableOrderedSetValue(forKey: "ordered").add(all[0]) }
      try context.save()
      #expect(try versions().allSatisfy { $0 == 1 })
    }
  }

  @Test func aStoreThatCannotBeOpenedSaysWhatToDo() throws {
    let connection = try connect()
    try connection.run("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN")
    defer { try? connection.run("DROP ROLE guest") }
    let server = PostgreSQLServer.shared
    for (url, advice) in [
      (server.url(schema: "app", database: "nowhere"), "createdb"),
      (server.url(schema: "guests", user: "guest"), "GRANT"),
      (URL(fileURLWithPath: "/tmp/app.sqlite"), "postgresql://"),
    ] {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
      let error = #expect(throws: NSError.self) {
        try coordinator.addPersistentStore(ofType: NSPostgreSQLStoreType, configurationName: nil, at: url)
      }
      #expect(
        error?.code == 134080 && error?.localizedDescription.contains(advice) == true, "\(String(describing: error))")
    }
    // A password stays out of errors.
    let address = try ServerAddress(URL(string: "postgresql://me:secret@host/app?sslmode=require&schema=mine"), nil)
    #expect(address.description == "postgresql://me@host/app, schema mine")
    #expect(address.connectionString == "postgresql://me:secret@host/app?sslmode=require")
  }

  /// An administrator may give a user a schema without the right to make others.
  @Test func aSchemaThatIsThereNeedsNoRightToTheDatabase() throws {
    let server = PostgreSQLServer.shared
    let name = "given_\(UInt32.random(in: 0 ... .max))"
    try server.psql(
      """
      CREATE ROLE \(name) LOGIN; CREATE SCHEMA \(name); GRANT USAGE, CREATE ON SCHEMA \(name) TO \(name)
      """)
    defer { _ = try? server.psql("DROP SCHEMA \(name) CASCADE; DROP OWNED BY \(name); DROP ROLE \(name)") }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    let store = try coordinator.addPersistentStore(
      ofType: NSPostgreSQLStoreType, configurationName: nil, at: server.url(schema: name, user: name))
    let context = coordinator.context()
    try context.performAndWait {
      context.make("Tag", ["label": "a"])
      try context.save()
    }
    try coordinator.remove(store)
  }

  @Test func anOpeningThatWaitsForTheWriterHoldsNoReader() throws {
    //   a batch, with the only reader there is   | an opening that makes functions anew
    //   -----------------------------------------+--------------------------------------
    //   has the write lock                       |
    //                                            | looks at the functions, with the reader
    //                                            | waits for the write lock
    //   takes the reader for its keys            |
    let server = PostgreSQLServer.shared
    let name = "openings_\(UInt32.random(in: 0 ... .max))"
    try server.psql("CREATE DATABASE \(name)")
    defer { _ = try? server.psql("DROP DATABASE \(name) WITH (FORCE)") }
    let url = server.url(schema: "x", database: name)
    let database = ServerDatabase(try ServerAddress(url, nil), maximumReaders: 1)
    defer { database.close() }
    @Sendable func open() throws {
      let model = LibraryModel.make()
      let opening = StoreOpening(
        type: NSPostgreSQLStoreType, url: url, options: nil, configurationName: nil, model: model,
        entities: model.entities, others: [])
      _ = try ServerStore(database, ServerAddress(url, nil), opening)
    }
    try open()
    // The comment has the version: without it the functions count as old ones.
    _ = try PostgreSQLServer.psql("COMMENT ON FUNCTION x._fold(text) IS NULL", at: server.address(database: name))
    try database.read { connection, _ in try connection.run("SELECT 'ready'") }
    let hasRead = DispatchSemaphore(value: 0)
    let hasOpened = DispatchSemaphore(value: 0)
    try database.withWriter {
      Thread {
        do { try open() } catch { Issue.record(error) }
        hasOpened.signal()
      }.start()
      let looked = "datname = '\(name)' AND state = 'idle' AND query LIKE '%obj_description%'"
      while try server.psql("SELECT count(*) FROM pg_stat_activity WHERE \(looked)") == "0" {}
      Thread {
        _ = try? database.read { connection, _ in try connection.run("SELECT 'keys'") }
        hasRead.signal()
      }.start()
      #expect(hasRead.wait(timeout: .now() + 60) == .success)
    }
    hasOpened.wait()
  }

  /// Both objects of a pair of members tell it.
  @Test func eachPairOfMembersIsWrittenOnce() throws {
    let stack = try StoreStack(.server)
    let store = try #require(stack.store as? ServerStore)
    func count(_ verb: String) throws -> Int64 {
      // The text of the question has not the words that it asks for.
      let statements: SQL = """
        SELECT count(*) FROM pg_prepared_statements WHERE strpos(statement, \(bind: .text(verb))) = 1 \
        AND strpos(statement, 'Book_' || 'tags') > 0
        """
      return try store.database.write { try $0.execute(statements).integer(0, 0) }
    }
    try stack.perform { context in
      let tags = (0..<2).map { context.make("Tag", ["label": "\($0)"]) }
      let book = context.make("Book", ["title": "one", "tags": Set(tags)])
      try context.save()
      context.refreshAllObjects()
      #expect((book.value(forKey: "tags") as? Set<NSManagedObject>)?.count == 2)
      #expect(tags.allSatisfy { ($0.value(forKey: "books") as? Set<NSManagedObject>) == [book] })
      book.setValue(Set([tags[0]]), forKey: "tags")
      try context.save()
      context.refreshAllObjects()
      #expect((book.value(forKey: "tags") as? Set<NSManagedObject>) == [tags[0]])
    }
    #expect(try count("INSERT") == 1 && count("DELETE") == 1)
  }

  @Test func aDestroyedStoreIsGone() throws {
    let stack = try StoreStack(.server)
    try stack.perform { context in
      context.make("Tag", ["label": "a"])
      try context.save()
    }
    try stack.coordinator.destroyPersistentStore(at: stack.url, ofType: NSPostgreSQLStoreType)
    #expect(stack.coordinator.persistentStores.isEmpty)
    let again = try stack.another()
    try #expect(again.objectStores[0].count(RowFetch(entityName: "Tag")) == 0)
  }

  @Test func anotherModelIsRefused() throws {
    let stack = try StoreStack(.server)
    let model = LibraryModel.make()
    model.entitiesByName["Tag"]?.properties.append(LibraryModel.attribute("colour", .stringAttributeType))
    expectError(134100) { try stack.another(model) }
  }

  @Test func savesAtTheSameTimeLoseNothing() throws {
    // Given coordinators, each like a process of its own, that increment one number each.
    let stack = try StoreStack(.server)
    try stack.perform { context in
      context.make("Book", ["title": "one"])
      try context.save()
    }
    let others = try (0..<4).map { _ in try stack.another() }
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for _ in 0..<25 {
        // When a save is a conflict, it begins anew.
        while true {
          let context = others[thread].context()
          let isDone = context.performAndWait { () -> Bool in
            guard let book = try? context.all("Book").first else { return false }
            book.setValue((book.value(forKey: "pages") as? Int ?? 0) + 1, forKey: "pages")
            return (try? context.save()) != nil
          }
          if isDone { break }
        }
      }
    }
    // Then every increment counts once.
    try #expect(stack.perform { try $0.all("Book").first?.value(forKey: "pages") as? Int } == 100)
  }
}
