@testable import CoreDataPostgreSQL
import TestFiles
import Testing

@testable import CoreData

/// Derived values at a server at the edges: of numbers, of names, of locks.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"), .timeLimit(.minutes(20)))
struct ServerDerivationEdgeTests {
  private func psql(_ sql: String) throws -> String { try PostgreSQLServer.shared.psql(sql) }

  private func model(
    _ derivations: [(entity: String, name: String, type: NSAttributeType, format: String)]
  ) -> NSManagedObjectModel {
    let model = LibraryModel.make()
    for derivation in derivations {
      let attribute = NSDerivedAttributeDescription()
      (attribute.name, attribute.attributeType) = (derivation.name, derivation.type)
      attribute.derivationExpression = NSExpression(format: derivation.format)
      model.entitiesByName[derivation.entity]?.properties.append(attribute)
    }
    return model
  }

  @Test func aSumComesBackFromWhatIsNoNumber() throws {
    let stack = try StoreStack(.server, model([("Author", "sum", .decimalAttributeType, "books.@sum.price")]))
    let context = stack.context()
    try context.performAndWait {
      let author = context.make("Author", ["name": "Ada"])
      let book = context.make("Book", ["title": "a", "price": NSDecimalNumber.notANumber, "author": author])
      context.make("Book", ["title": "b", "price": NSDecimalNumber(string: "2.5"), "author": author])
      func sum() throws -> NSDecimalNumber? {
        try context.save()
        context.refresh(author, mergeChanges: false)
        return author.value(forKey: "sum") as? NSDecimalNumber
      }
      try #expect(sum() == .notANumber)
      book.setValue(NSDecimalNumber(value: 1), forKey: "price")
      try #expect(sum() == NSDecimalNumber(string: "3.5"))
      book.setValue(NSDecimalNumber.notANumber, forKey: "price")
      try #expect(sum() == .notANumber)
      context.delete(book)
      try #expect(sum() == NSDecimalNumber(string: "2.5"))
    }
    // What people wrote into the column does not last either.
    let table = try ServerAddress(stack.url, nil).qualified("Author")
    _ = try psql("UPDATE \(table) SET sum = NULL")
    try stack.perform { context in
      context.make("Book", ["title": "c", "price": NSDecimalNumber(value: 1), "author": try context.all("Author")[0]])
      try context.save()
    }
    try #expect(psql("SELECT sum FROM \(table)") == "3.5")
  }

  /// What a column cannot hold is no reason to refuse a member: it has no value then.
  @Test func valuesThatDoNotFitAreNil() throws {
    let stack = try StoreStack(
      .server,
      model([
        ("Author", "whole", .integer64AttributeType, "books.@sum.rating"),
        ("Author", "exact", .decimalAttributeType, "books.@max.rating"),
        ("Author", "pages", .integer64AttributeType, "books.@sum.pages"),
        ("Author", "mean", .integer16AttributeType, "books.@avg.pages"),
        ("Book", "rounded", .integer64AttributeType, "rating"),
      ]))
    let context = stack.context()
    try context.performAndWait {
      let author = context.make("Author", ["name": "Ada"])
      for value in [Double.infinity, -.infinity, .nan, 1e300, -1e300, 9.3e18, -9.3e18] {
        let book = context.make("Book", ["title": "a", "rating": value, "pages": 40_000, "author": author])
        try context.save()
        context.refreshAllObjects()
        #expect(book.value(forKey: "rounded") == nil, "\(value)")
        #expect(author.value(forKey: "whole") == nil, "\(value)")
        #expect(author.value(forKey: "pages") as? Int == 40_000)
        _ = author.value(forKey: "mean")
        _ = author.value(forKey: "exact")
        context.delete(book)
        try context.save()
        context.refresh(author, mergeChanges: false)
        #expect(author.value(forKey: "whole") as? Int == 0)
      }
      let book = context.make("Book", ["title": "b", "rating": -2.75, "author": author])
      try context.save()
      context.refreshAllObjects()
      #expect(book.value(forKey: "rounded") as? Int == -2 && author.value(forKey: "whole") as? Int == -2)
    }
  }

  /// The greatest and least numbers can come, change and go; a sum that no longer fits is an error of that save.
  @Test func sumsOfTheGreatestNumbers() throws {
    let model = model([])
    let big = LibraryModel.attribute("big", .integer64AttributeType)
    model.entitiesByName["Book"]?.properties.append(big)
    let sum = NSDerivedAttributeDescription()
    (sum.name, sum.attributeType) = ("sum", .integer64AttributeType)
    sum.derivationExpression = NSExpression(format: "books.@sum.big")
    model.entitiesByName["Author"]?.properties.append(sum)
    let stack = try StoreStack(.server, model)
    let context = stack.context()
    try context.performAndWait {
      let author = context.make("Author", ["name": "Ada"])
      for value in [Int64.min, .max, .min + 1] {
        let book = context.make("Book", ["title": "a", "big": value, "author": author])
        try context.save()
        context.refresh(author, mergeChanges: false)
        #expect(author.value(forKey: "sum") as? Int64 == value)
        // One more is too much.
        context.make("Book", ["title": "b", "big": value, "author": author])
        #expect(throws: NSError.self) { try context.save() }
        context.rollback()
        context.delete(book)
        try context.save()
        context.refresh(author, mergeChanges: false)
        #expect(author.value(forKey: "sum") as? Int64 == 0)
      }
    }
  }

  @Test(arguments: [StoreKind.file, .server], [true, false])
  func aUniqueDerivedValueIsAConflictOfTheRow(kind: StoreKind, ofOwner: Bool) throws {
    let model = model([("Tag", "folded", .stringAttributeType, "canonical:(label)")])
    model.entitiesByName["Tag"]?.uniquenessConstraints = [["folded"]]
    let stack = try StoreStack(kind, model)
    let context = stack.context()
    try context.performAndWait {
      context.make("Tag", ["label": "Éda"])
      let other = context.make("Tag", ["label": "Bob"])
      try context.save()
      if ofOwner { context.make("Tag", ["label": "EDA"]) } else { other.setValue("EDA", forKey: "label") }
      expectError(133021) { try context.save() }
      try #expect(stack.perform { try $0.all("Tag", sort: "label").map { $0.text("label") } } == ["Bob", "Éda"])
    }
  }

  /// A save locks rows in the order of its statements, and triggers lock the owners after each:
  ///
  ///     save 1                          save 2
  ///     changes the author
  ///                                     changes a book, and waits for its author
  ///     changes the book, and waits for save 2: the server ends one of them
  @Test func twoSavesThatWaitForEachOtherAreBothDone() throws {
    let model = model([("Author", "sum", .integer64AttributeType, "books.@sum.pages")])
    let stack = try StoreStack(.server, model)
    let place = try ServerAddress(stack.url, nil)
    func table(_ name: String) -> String { place.qualified(name) }
    let ids = try stack.perform { context in
      let author = context.make("Author", ["name": "Ada"])
      let book = context.make("Book", ["title": "a", "pages": 1, "author": author])
      try context.save()
      return (author.objectID.uriRepresentation(), book.objectID.uriRepresentation())
    }
    // Who names the author "slow" for the first time waits until another session waits for a row of this one.
    _ = try psql(
      """
      CREATE SEQUENCE \(table("turns"));
      CREATE FUNCTION \(table("wait"))() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('\(table("turns"))') > 1 THEN RETURN NULL; END IF;
        FOR n IN 1..3000 LOOP
          EXIT WHEN EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid)));
          PERFORM pg_sleep(0.01);
        END LOOP;
        RETURN NULL;
      END $$;
      CREATE TRIGGER wait AFTER UPDATE ON \(table("Author")) FOR EACH ROW
        WHEN (NEW.name = 'slow' AND OLD.name <> 'slow') EXECUTE FUNCTION \(table("wait"))()
      """)
    let others = try (0..<2).map { _ in try stack.another(model) }
    DispatchQueue.concurrentPerform(iterations: 2) { thread in
      do {
        let coordinator = others[thread]
        let context = coordinator.context()
        try context.performAndWait {
          let author = context.object(with: try #require(coordinator.managedObjectID(forURIRepresentation: ids.0)))
          let book = context.object(with: try #require(coordinator.managedObjectID(forURIRepresentation: ids.1)))
          if thread == 0 {
            author.setValue("slow", forKey: "name")
            book.setValue("slow", forKey: "title")
            context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
          } else {
            context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
            // The other save has the author.
            let isHeld = "SELECT is_called FROM \(place.qualified("turns"))"
            for _ in 0..<3000 { if try psql(isHeld) == "t" { break } }
            book.setValue(7, forKey: "pages")
          }
          try context.save()
        }
      } catch { Issue.record("\(thread): \((error as NSError).code) \(error.localizedDescription)") }
    }
    try #expect(psql("SELECT name, sum FROM \(table("Author"))") == "slow|7")
    try #expect(psql("SELECT title, pages FROM \(table("Book"))") == "slow|7")
  }
}
