@testable import CoreDataPostgreSQL
import TestFiles
import Testing

@testable import CoreData

/// What people and other programs do to a store's tables while a program uses it.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"), .timeLimit(.minutes(20)))
struct ServerNeighbourTests {
  @discardableResult
  private func psql(_ sql: String) throws -> String { try PostgreSQLServer.shared.psql(sql) }

  private func table(_ stack: StoreStack, _ name: String) throws -> String {
    try ServerAddress(stack.url, nil).qualified(name)
  }

  // MARK: Values

  @Test func endlessDatesAreTheEndsOfTime() throws {
    let stack = try StoreStack(.server)
    let authors = try table(stack, "Author")
    try psql("INSERT INTO \(authors) (name, born) VALUES ('a', '-infinity'), ('b', '2000-01-01Z'), ('c', 'infinity')")
    try stack.perform { context in
      let authorObjects = try context.all("Author", sort: "born")
      let dates = authorObjects.compactMap { $0.value(forKey: "born") as? Date }
      #expect(dates.count == 3 && dates == dates.sorted() && dates[0].timeIntervalSince1970 < -1e12)
      try #expect(context.all("Author", where: "born > CAST(1e9, 'NSDate')").map { $0.text("name") } == ["c"])
      // A program that writes them back changes nothing.
      for author in authorObjects { author.setValue("new " + (author.text("name") ?? ""), forKey: "name") }
      context.make("Author", ["name": "d", "born": dates[0]])
      context.make("Author", ["name": "e", "born": dates[2]])
      try context.save()
    }
    try #expect(
      psql("SELECT string_agg(born::text, ' ' ORDER BY name) FROM \(authors) WHERE NOT isfinite(born)")
        == "-infinity infinity -infinity infinity")
  }

  @Test func columnsThatGotAnotherTypeAreReadAndWritten() throws {
    let stack = try StoreStack(.server)
    let context = stack.context()
    let books = try table(stack, "Book")
    try context.performAndWait {
      context.make("Book", ["title": "one", "pages": 70_000, "rating": 0.5, "price": NSDecimalNumber(string: "2.5")])
      try context.save()
      context.reset()
      _ = try context.all("Book")
    }
    // Given statements that are prepared, and connections that are new.
    let later = try stack.another()
    try psql(
      """
      ALTER TABLE \(books) ALTER pages TYPE integer, ALTER rating TYPE real, ALTER weight TYPE numeric,
      ALTER price TYPE double precision, ALTER title TYPE varchar(100)
      """)
    for context in [context, stack.context(later), stack.context(try stack.another())] {
      try context.performAndWait {
        let book = try #require(context.all("Book").first)
        context.refreshAllObjects()
        #expect(book.value(forKey: "pages") as? Int == 70_000 && book.value(forKey: "rating") as? Double == 0.5)
        #expect(book.value(forKey: "price") as? NSDecimalNumber == NSDecimalNumber(string: "2.5"))
        #expect(book.text("title") == "one")
        book.setValue(70_001, forKey: "pages")
        try context.save()
        book.setValue(70_000, forKey: "pages")
        try context.save()
      }
    }
  }

  // MARK: Triggers, rights

  @Test func aTriggerThatPassesOverRowsIsAConflictThatEnds() throws {
    let stack = try StoreStack(.server)
    let context = stack.context()
    let books = try table(stack, "Book")
    try context.performAndWait {
      let book = context.make("Book", ["title": "one"])
      try context.save()
      try psql(
        """
        CREATE FUNCTION \(table(stack, "skip"))() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
        CREATE TRIGGER skip BEFORE UPDATE OR DELETE ON \(books) FOR EACH ROW EXECUTE FUNCTION \(table(stack, "skip"))()
        """)
      for policy in [
        NSMergePolicy.error, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback,
      ] {
        context.mergePolicy = policy
        book.setValue("two", forKey: "title")
        // Each policy ends: with an error, or by giving up the change.
        try? context.save()
        context.rollback()
        context.delete(book)
        try? context.save()
        context.rollback()
      }
    }
    try #expect(psql("SELECT title FROM \(books)") == "one")
  }

  @Test func whatATriggerMakesOfARowIsSeenAfterARefresh() throws {
    let stack = try StoreStack(.server)
    let books = try table(stack, "Book")
    let stamp = try table(stack, "stamp")
    try psql(
      """
      CREATE FUNCTION \(stamp)() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN NEW.pages := coalesce(NEW.pages, 0) + 100; RETURN NEW; END';
      CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON \(books) FOR EACH ROW EXECUTE FUNCTION \(stamp)()
      """)
    // Opened before and after the trigger was made.
    for context in [stack.context(), stack.context(try stack.another())] {
      try context.performAndWait {
        let book = context.make("Book", ["title": "one", "pages": 1])
        try context.save()
        context.refresh(book, mergeChanges: false)
        #expect(book.value(forKey: "pages") as? Int == 101)
        context.delete(book)
        try context.save()
      }
    }
  }

  // MARK: Migration by others

  private func newerModel() -> NSManagedObjectModel {
    let model = LibraryModel.make()
    // Its number is before those of the others.
    model.entities += [LibraryModel.entity("Aardvark", [LibraryModel.attribute("name", .stringAttributeType)])]
    // With a value for all rows, tables are made anew.
    model.entitiesByName["Book"]?.properties.append(
      LibraryModel.attribute("isbn", .stringAttributeType, default: ""))
    return model
  }

  @discardableResult
  private func migrate(
    _ stack: StoreStack, to model: NSManagedObjectModel? = nil
  ) throws -> NSPersistentStoreCoordinator {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model ?? newerModel())
    try coordinator.addPersistentStore(
      ofType: NSPostgreSQLStoreType, configurationName: nil, at: stack.url,
      options: [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true])
    return coordinator
  }

  @Test func aMigrationNamesTheAttributeOfAValueThatIsTooLongForANewIndex() throws {
    let stack = try StoreStack(.server)
    var generator = SeededGenerator(seed: 7)
    let long = String(decoding: (0..<3000).map { _ in UInt8.random(in: 33...126, using: &generator) }, as: UTF8.self)
    try stack.perform { context in
      context.make("Tag", ["label": long])
      try context.save()
    }
    try stack.coordinator.remove(stack.store)
    let model = newerModel()
    model.entitiesByName["Tag"]?.uniquenessConstraints = [["label"]]
    do {
      _ = try migrate(stack, to: model)
      Issue.record("the index has the value")
    } catch {
      let text = "\(error.localizedDescription) \((error as NSError).userInfo)"
      #expect(text.contains("the value of label of Tag/p") && !text.contains("aborted"), "\(text)")
    }
  }

  @Test func aProgramOfTheOldModelWritesNothingAfterAMigration() throws {
    let stack = try StoreStack(.server)
    let context = stack.context()
    try context.performAndWait {
      context.make("Book", ["title": "one", "author": context.make("Author", ["name": "Ada"])])
      try context.save()
    }
    let newer = try migrate(stack)
    let contents = { try psql("SELECT _entity, title FROM \(table(stack, "Book")) ORDER BY title") }
    let before = try contents()
    context.performAndWait {
      context.make("Comic", ["title": "two", "artist": "x"])
      expectError(134100) { try context.save() }
      context.reset()
      expectError(134100) {
        try context.execute(NSBatchInsertRequest(entityName: "Book", objects: [["title": "three"]]))
      }
      let update = NSBatchUpdateRequest(entityName: "Book")
      update.propertiesToUpdate = ["title": "four"]
      expectError(134100) { try context.execute(update) }
      // Nor does it read rows of other entities.
      expectError(134100) { try context.all("Book") }
    }
    try #expect(contents() == before)
    let reader = stack.context(newer)
    try reader.performAndWait { try #expect(reader.all("Book").map { $0.text("title") } == ["one"]) }
  }

  /// The first statement of the old program fails for the tables that it finds, before it has looked at the store.
  enum FirstUse: CaseIterable {
    case insertion, change, batchInsertion, batchUpdate, fetch
  }

  @Test(arguments: FirstUse.allCases)
  func aProgramOfTheOldModelIsToldOfColumnsThatAMigrationRemoved(use: FirstUse) throws {
    let stack = try StoreStack(.server)
    let context = stack.context()
    try context.performAndWait {
      let book = context.make("Book", ["title": "one", "pages": 1])
      try context.save()
      let model = LibraryModel.make()
      model.entitiesByName["Book"]?.properties.removeAll { $0.name == "pages" }
      model.entitiesByName["Book"]?.properties.append(
        LibraryModel.attribute("isbn", .stringAttributeType, optional: false, default: ""))
      try migrate(stack, to: model)
      switch use {
      case .insertion:
        context.make("Book", ["title": "two", "pages": 2])
        expectError(134100) { try context.save() }
      case .change:
        book.setValue(2, forKey: "pages")
        expectError(134100) { try context.save() }
      case .batchInsertion:
        let insertion = NSBatchInsertRequest(entityName: "Book", objects: [["title": "two", "pages": 2]])
        expectError(134100) { try context.execute(insertion) }
      case .batchUpdate:
        let update = NSBatchUpdateRequest(entityName: "Book")
        update.propertiesToUpdate = ["pages": 2]
        expectError(134100) { try context.execute(update) }
      case .fetch: expectError(134100) { try context.all("Book", where: "pages == 1") }
      }
    }
    try #expect(psql("SELECT title FROM \(table(stack, "Book"))") == "one")
  }

  @Test func aMigrationKeepsTheRightsOfOthersAndRefusesToDropTheirViews() throws {
    let stack = try StoreStack(.server)
    try stack.perform { context in
      context.make("Book", ["title": "one"])
      try context.save()
    }
    let place = try ServerAddress(stack.url, nil).schema
    let role = "reader_\(place)"
    let view = "public.\"view_\(place)\""
    try psql(
      """
      CREATE ROLE \(role); GRANT USAGE ON SCHEMA \(place) TO \(role);
      GRANT SELECT ON \(table(stack, "Book")) TO \(role); GRANT UPDATE (title) ON \(table(stack, "Book")) TO \(role);
      CREATE VIEW \(view) AS SELECT title FROM \(table(stack, "Book"))
      """)
    defer { _ = try? psql("DROP VIEW IF EXISTS \(view); DROP OWNED BY \(role); DROP ROLE \(role)") }
    try stack.coordinator.remove(stack.store)
    do {
      _ = try migrate(stack)
      Issue.record("the view was dropped")
    } catch {
      #expect(error.localizedDescription.contains("view_\(place)"), "\(error)")
    }
    try #expect(psql("SELECT title FROM \(view)") == "one")
    try psql("DROP VIEW \(view)")
    _ = try migrate(stack)
    try #expect(psql("SET ROLE \(role); SELECT title FROM \(table(stack, "Book"))").hasSuffix("one"))
    try psql("SET ROLE \(role); UPDATE \(table(stack, "Book")) SET title = 'two'")
  }

  @Test func aMigrationKeepsTheIndexesOfOthers() throws {
    let stack = try StoreStack(.server)
    let book = try table(stack, "Book")
    try psql(
      """
      CREATE INDEX mine ON \(book) (lower(title)) WHERE pages > 3; CREATE UNIQUE INDEX ON \(book) (link, pages DESC)
      """)
    let before = try PostgreSQLServer.shared.indexes(of: book)
    try #require(before.contains("lower(title)") && before.contains("(link, pages DESC)"))
    try stack.coordinator.remove(stack.store)
    _ = try migrate(stack)
    try #expect(PostgreSQLServer.shared.indexes(of: book) == before)
  }

  @Test(
    arguments: [
      ("CREATE INDEX mine ON ? (rating)", "the index of CREATE INDEX mine ON"),
      ("CREATE INDEX a ON ? (rating); CREATE INDEX b ON ? (rating DESC)", "the index of CREATE INDEX b ON"),
      ("ALTER TABLE ? ADD COLUMN extra_note text", "the column extra_note of"),
    ])
  func aMigrationNamesWhatItWouldDrop(statement: String, name: String) throws {
    let stack = try StoreStack(.server)
    let book = try table(stack, "Book")
    try psql(statement.replacingOccurrences(of: "?", with: book))
    try stack.coordinator.remove(stack.store)
    let model = newerModel()
    model.entitiesByName["Book"]?.properties.removeAll { $0.name == "rating" }
    do {
      _ = try NSPersistentStoreCoordinator(managedObjectModel: model).addPersistentStore(
        ofType: NSPostgreSQLStoreType, configurationName: nil, at: stack.url,
        options: [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true])
      Issue.record("the store was migrated")
    } catch {
      #expect((error as NSError).code == NSMigrationError && error.localizedDescription.contains(name), "\(error)")
    }
    try psql("SELECT rating FROM \(book)")
  }

  @Test func aMigrationThatOnlyAddsLeavesViewsAndProgramsOfTheOldModelAlone() throws {
    let stack = try StoreStack(.server, options: [NSPersistentHistoryTrackingKey: true])
    let context = stack.context()
    let (book, store) = (try table(stack, "Book"), try table(stack, "_store"))
    let view = try table(stack, "titles")
    try psql("CREATE VIEW \(view) AS SELECT title FROM \(book); ALTER TABLE \(store) DROP COLUMN model")
    let number = try psql("SELECT '\(store)'::regclass::oid")
    try context.performAndWait {
      context.make("Book", ["title": "one"])
      try context.save()
    }
    // Given a model with an attribute, an entity and an index more, and one index less.
    func model() -> NSManagedObjectModel {
      let model = LibraryModel.make()
      model.entities += [LibraryModel.entity("Shop", [LibraryModel.attribute("town", .stringAttributeType)])]
      let isbn = LibraryModel.attribute("isbn", .stringAttributeType)
      isbn.isIndexed = true
      model.entitiesByName["Book"]?.properties.append(isbn)
      return model
    }
    for isIndexed in [true, false] {
      let newer = model()
      newer.entitiesByName["Book"]?.attributesByName["isbn"]?.isIndexed = isIndexed
      if !isIndexed {
        newer.entitiesByName["Shop"]?.properties.append(LibraryModel.attribute("street", .stringAttributeType))
      }
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: newer)
      try coordinator.addPersistentStore(
        ofType: NSPostgreSQLStoreType, configurationName: nil, at: stack.url, options: LibraryMigration.options())
      try #expect(PostgreSQLServer.shared.indexes(of: book).contains("(isbn NULLS FIRST)") == isIndexed)
      try coordinator.remove(coordinator.persistentStores[0])
    }
    // Then:
    try #expect(psql("SELECT '\(store)'::regclass::oid") == number)
    try context.performAndWait {
      context.make("Book", ["title": "two"])
      try context.save()
    }
    try #expect(psql("SELECT string_agg(title, ' ' ORDER BY title) FROM \(view)") == "one two")
    try #expect(psql("SELECT count(*) FROM \(table(stack, "_transactions"))") == "2")
  }

  // MARK: Timeouts

  @Test func aPinnedStateOutlivesTheTimeoutForIdleTransactions() throws {
    let stack = try StoreStack(.server)
    let role = "idle_\(try ServerAddress(stack.url, nil).schema)"
    try psql(
      """
      CREATE ROLE \(role) LOGIN SUPERUSER; ALTER ROLE \(role) SET idle_in_transaction_session_timeout = '50ms'
      """)
    defer { _ = try? psql("DROP ROLE \(role)") }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    let url = try #require(
      URL(string: stack.url.absoluteString.replacingOccurrences(of: "//tests@", with: "//\(role)@")))
    let store = try coordinator.addPersistentStore(
      ofType: NSPostgreSQLStoreType, configurationName: nil, at: url, options: nil)
    let context = stack.context(coordinator)
    try context.performAndWait {
      context.make("Author", ["name": "Ada", "born": Date(timeIntervalSince1970: 0)])
      try context.save()
      try context.setQueryGenerationFrom(.current)
      _ = try context.all("Author")
      let sessions = "SELECT count(*) FROM pg_stat_activity WHERE usename = '\(role)' AND state = 'idle in transaction'"
      try #expect(psql(sessions) == "1")
      // The server ends a session of the user that has been idle for a shorter time.
      let idle = try ServerDriver.open(
        PostgreSQLServer.shared.address().replacingOccurrences(of: "//tests@", with: "//\(role)@"))
      try idle.run("BEGIN")
      #expect(throws: ServerError.self) { while true { _ = try idle.notifications(within: -1) } }
      try #expect(psql(sessions) == "1")
      context.refreshAllObjects()
      try #expect(context.all("Author").map { $0.text("name") } == ["Ada"])
    }
    try coordinator.remove(store)
  }
}
