import TestFiles
import Testing

@testable import CoreData

/// What others have made in a store's file stays where it fits a newer model; else the store is not migrated.
@Suite struct StoreGuestsTests {
  /// A library's file with things of others: indexes, triggers, views, and a table that refers to the store's.
  private func library() throws -> TemporaryStore {
    let store = try TemporaryStore()
    try store.save { $0.make("Book", ["title": "one", "pages": 3]) }
    try store.coordinator.remove(try #require(store.coordinator.persistentStores.first))
    for statement in [
      "CREATE INDEX titles ON ZBOOK (ZTITLE)",
      "CREATE INDEX ZBOOK_by_pages ON ZBOOK (ZPAGES)",
      "CREATE INDEX ZBOOK_MY_INDEX ON ZBOOK (ZTITLE, ZPAGES)",
      "CREATE INDEX Z_mine ON ZBOOK (ZPAGES DESC)",
      "CREATE TABLE log (book INTEGER REFERENCES ZBOOK (Z_PK), title TEXT)",
      "CREATE VIEW titles_of_books AS SELECT ZTITLE FROM ZBOOK",
      """
      CREATE TRIGGER retitled AFTER UPDATE OF ZTITLE ON ZBOOK \
      BEGIN INSERT INTO log VALUES (NEW.Z_PK, NEW.ZTITLE); END
      """,
      "CREATE TRIGGER logged AFTER DELETE ON log BEGIN UPDATE ZBOOK SET ZPAGES = 0 WHERE Z_PK = OLD.book; END",
    ] { _ = try store.sql(statement) }
    return store
  }

  private func guests(_ store: TemporaryStore) throws -> [[String?]] {
    try store.sql(
      """
      SELECT name, sql FROM sqlite_master WHERE name IN ('titles', 'ZBOOK_by_pages', 'ZBOOK_MY_INDEX', 'Z_mine', \
      'log', 'titles_of_books', 'retitled', 'logged') ORDER BY name
      """)
  }

  private func open(
    _ store: TemporaryStore, _ model: NSManagedObjectModel, _ migration: AllowedMigration = .inferred
  ) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    _ = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.url, allowing: migration)
    return coordinator.context()
  }

  @Test(arguments: [(AllowedMigration.additions, false), (.inferred, false), (.inferred, true)])
  func whatOthersMadeStaysAndWorksWhereItFits(migration: AllowedMigration, isMadeAnew: Bool) throws {
    let store = try library()
    let before = try guests(store)
    #expect(before.count == 8)
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.properties.append(LibraryModel.attribute("subtitle", .stringAttributeType))
    if isMadeAnew { model.entitiesByName["Book"]?.properties.removeAll { $0.name == "rating" } }
    let context = try open(store, model, migration)
    try #expect(guests(store) == before)
    try context.performAndWait {
      let book = try #require(context.all("Book").first)
      book.setValue("two", forKey: "title")
      book.setValue("sub", forKey: "subtitle")
      try context.save()
    }
    try #expect(store.sql("SELECT title FROM log") == [["two"]])
    try #expect(store.sql("SELECT ZTITLE FROM titles_of_books") == [["two"]])
    _ = try store.sql("DELETE FROM log")
    try #expect(store.sql("SELECT ZPAGES FROM ZBOOK") == [["0"]])
    try #expect(store.sql("SELECT \"table\" FROM pragma_foreign_key_list('log')") == [["ZBOOK"]])
  }

  @Test(
    arguments: [
      ("title", ["titles", "titles_of_books", "retitled"]), ("pages", ["ZBOOK_by_pages", "Z_mine", "logged"]),
    ])
  func whatDoesNotFitIsNamedAndNothingChanges(gone: String, names: [String]) throws {
    let store = try library()
    let before = try store.sql("SELECT name, sql FROM sqlite_master ORDER BY name")
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.properties.removeAll { $0.name == gone }
    do {
      _ = try open(store, model)
      Issue.record("the store was migrated")
    } catch {
      #expect((error as NSError).code == NSMigrationError, "\(error)")
      for name in names { #expect(error.localizedDescription.contains(" \(name)"), "\(error)") }
    }
    try #expect(store.sql("SELECT name, sql FROM sqlite_master ORDER BY name") == before)
    try #expect(store.sql("SELECT ZTITLE, ZPAGES FROM ZBOOK") == [["one", "3"]])
  }

  @Test func anUpdateOfAColumnThatIsGoneDoesNotFit() throws {
    let store = try TemporaryStore()
    try store.coordinator.remove(try #require(store.coordinator.persistentStores.first))
    _ = try store.sql("CREATE TRIGGER t AFTER UPDATE OF ZRATING ON ZBOOK BEGIN SELECT 1; END")
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.properties.removeAll { $0.name == "rating" }
    expectError(NSMigrationError) { _ = try open(store, model) }
  }

  @Test func aTriggerThatOnlyNamesTheGoneColumnInATextFits() throws {
    let store = try TemporaryStore()
    try store.coordinator.remove(try #require(store.coordinator.persistentStores.first))
    _ = try store.sql("CREATE TRIGGER t AFTER UPDATE OF ZTITLE ON ZBOOK BEGIN SELECT 'ZRATING'; /* ZRATING */ END")
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.properties.removeAll { $0.name == "rating" }
    _ = try open(store, model)
    try #expect(store.sql("SELECT name FROM sqlite_master WHERE type = 'trigger' AND name = 't'") == [["t"]])
  }

  @Test func aColumnOfOthersIsNamed() throws {
    let store = try TemporaryStore()
    try store.coordinator.remove(try #require(store.coordinator.persistentStores.first))
    _ = try store.sql("ALTER TABLE ZBOOK ADD COLUMN mine")
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.properties.removeAll { $0.name == "rating" }
    do {
      _ = try open(store, model)
      Issue.record("the store was migrated")
    } catch {
      #expect((error as NSError).code == NSMigrationError)
      #expect(error.localizedDescription.contains("the column mine of ZBOOK"), "\(error)")
    }
    try #expect(store.sql("SELECT mine FROM ZBOOK").isEmpty)
  }

  @Test func whatWasBrokenBeforeIsLeftAsItIs() throws {
    let store = try TemporaryStore()
    try store.coordinator.remove(try #require(store.coordinator.persistentStores.first))
    for statement in [
      "CREATE TABLE old (a)", "CREATE VIEW broken AS SELECT a FROM old", "DROP TABLE old",
    ] { _ = try store.sql(statement) }
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.properties.removeAll { $0.name == "rating" }
    _ = try open(store, model)
    try #expect(store.sql("SELECT count(*) FROM sqlite_master WHERE name = 'broken'") == [["1"]])
  }
}
