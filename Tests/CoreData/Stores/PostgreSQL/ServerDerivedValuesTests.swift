@testable import CoreDataPostgreSQL
import TestFiles
import Testing

@testable import CoreData

/// The server's triggers under what only a server has: several writers at once, people with `psql`, any names.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct ServerDerivedValuesTests {
  private func psql(_ sql: String) throws -> String { try PostgreSQLServer.shared.psql(sql) }

  @Test func writersAtTheSameTimeLoseNoMember() throws {
    // Given one author, and coordinators that are each like a process of its own.
    let stack = try StoreStack(.server, LibraryModel.makeWithDerivedAttributes())
    let id = try stack.perform { context in
      let author = context.make("Author", ["name": "Éda"])
      context.make("Tag", ["label": "t"])
      try context.save()
      return author.objectID.uriRepresentation()
    }
    let others = try (0..<4).map { _ in try stack.another(LibraryModel.makeWithDerivedAttributes()) }
    // When all add books with a tag to the author, and one renames him meanwhile.
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for number in 1...15 {
        let context = others[thread].context()
        // All books have one tag, whose version each save raises.
        context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
        let error = context.performAndWait { () -> (any Error)? in
          do {
            let author = context.object(with: try #require(others[thread].managedObjectID(forURIRepresentation: id)))
            if thread == 0 {
              author.setValue("Éda \(number)", forKey: "name")
            } else {
              let tag = try #require(context.all("Tag").first)
              context.make(
                "Book", ["title": "\(thread) \(number)", "pages": number, "author": author, "tags": Set([tag])])
            }
            try context.save()
            return nil
          } catch {
            return error
          }
        }
        if let error { Issue.record("\(error)") }
      }
    }
    // Then the values are those of all of them.
    try stack.perform { context in
      let author = try #require(context.all("Author").first)
      context.refresh(author, mergeChanges: false)
      func value(_ name: String) -> String? { author.value(forKey: "d_\(name)").map { "\($0)" } }
      #expect(value("count") == "45" && value("pages") == "360" && value("mean") == "8.0" && value("most") == "15")
      #expect(value("tagsOfBooks") == "45" && value("upper") == "ÉDA 15", "\(value("tagsOfBooks") ?? "")")
      try #expect(Set(context.all("Book").map { $0.value(forKey: "d_authorFolded") as? String }) == ["eda 15"])
      try #expect(context.all("Tag").first?.value(forKey: "d_bookCount") as? Int == 45)
    }
  }

  @Test func peopleAtPsqlAreFollowed() throws {
    let stack = try StoreStack(.server, LibraryModel.makeWithDerivedAttributes())
    let place = try ServerAddress(stack.url, nil)
    func table(_ name: String) -> String { place.qualified(name) }
    // A book that comes before its author, in one transaction; and one whose author goes.
    _ = try psql(
      """
      BEGIN; INSERT INTO \(table("Book")) (_key, _entity, title, pages, author) VALUES (1000, 2, 'a', 7, 2000);
      INSERT INTO \(table("Author")) (_key, name) VALUES (2000, 'Üla'), (2001, 'Bo'); COMMIT;
      INSERT INTO \(table("Book")) (_key, _entity, title, pages, author) VALUES (1001, 2, 'b', 8, 2001);
      DELETE FROM \(table("Author")) WHERE _key = 2001
      """)
    try #expect(
      psql("SELECT d_count, d_pages, d_upper, d_lower FROM \(table("Author"))") == "1|7|ÜLA|üla")
    try #expect(
      psql("SELECT title, \"d_authorFolded\" FROM \(table("Book")) ORDER BY title") == "a|ula\nb|")
    // Wrong values do not last.
    _ = try psql("UPDATE \(table("Author")) SET d_upper = 'wrong', name = name")
    try #expect(psql("SELECT d_upper FROM \(table("Author"))") == "ÜLA")
  }

  @Test func aStoreWithoutFunctionsGetsThemWhenItIsOpened() throws {
    let stack = try StoreStack(.server, LibraryModel.makeWithDerivedAttributes())
    try stack.perform { context in
      let author = context.make("Author", ["name": "Éda"])
      context.make("Book", ["title": "a", "pages": 7, "author": author])
      try context.save()
    }
    // Given a store of an earlier version, which computed nothing.
    let place = try ServerAddress(stack.url, nil)
    let functions = try psql(
      "SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = '\(place.schema)'::regnamespace ORDER BY 1")
    for function in functions.split(separator: "\n") { _ = try psql("DROP FUNCTION \(function) CASCADE") }
    _ = try psql("UPDATE \(place.qualified("Author")) SET d_upper = NULL, d_count = NULL, d_pages = NULL")
    // When it is read only, texts are compared in memory.
    let readOnly = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.makeWithDerivedAttributes())
    let plain = try readOnly.addPersistentStore(
      ofType: NSPostgreSQLStoreType, configurationName: nil, at: stack.url,
      options: [NSReadOnlyPersistentStoreOption: true])
    #expect((plain as? ServerStore)?.dialect.hasTextFunctions == false)
    let reader = stack.context(readOnly)
    try reader.performAndWait { try #expect(reader.all("Author", where: "name ==[cd] 'EDA'").count == 1) }
    // When it may be changed, it gets functions and values, once.
    for _ in 0..<2 {
      let coordinator = try stack.another(LibraryModel.makeWithDerivedAttributes())
      #expect((coordinator.persistentStores[0] as? ServerStore)?.dialect.hasTextFunctions == true)
      try #expect(psql("SELECT d_upper, d_count, d_pages FROM \(place.qualified("Author"))") == "ÉDA|1|7")
      let new = try psql(
        "SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = '\(place.schema)'::regnamespace ORDER BY 1")
      #expect(new == functions)
    }
  }

  @Test func anyNamesWillDo() throws {
    let long = String(repeating: "größe", count: 20)
    let owner = LibraryModel.entity("Ver\"lag's $$", [LibraryModel.attribute("na'me\"", .stringAttributeType)])
    let member = LibraryModel.entity(long, [LibraryModel.attribute(long, .integer64AttributeType)])
    LibraryModel.relate(owner, "mit\"glieder'", member, "besit'zer\"", toMany: (true, false))
    for (entity, name, type, expression) in [
      (owner, long + "1", NSAttributeType.integer64AttributeType, NSExpression(forKeyPath: "mit\"glieder'.@count")),
      (owner, long + "2", .integer64AttributeType, NSExpression(forKeyPath: "mit\"glieder'.@max.\(long)")),
      (
        owner, "gr'oß", .stringAttributeType,
        NSExpression(forFunction: "uppercase:", arguments: [NSExpression(forKeyPath: "na'me\"")])
      ),
      (member, "d\"esBesitzers", .stringAttributeType, NSExpression(forKeyPath: "besit'zer\".na'me\"")),
    ] {
      let attribute = NSDerivedAttributeDescription()
      (attribute.name, attribute.attributeType, attribute.derivationExpression) = (name, type, expression)
      entity.properties.append(attribute)
    }
    let model = NSManagedObjectModel()
    model.entities = [owner, member]
    let stack = try StoreStack(.server, model)
    try stack.perform { context in
      let one = context.make("Ver\"lag's $$", ["na'me\"": "ß"])
      let two = context.make(long, [long: 5, "besit'zer\"": one])
      try context.save()
      context.refreshAllObjects()
      #expect(one.value(forKey: long + "1") as? Int == 1 && one.value(forKey: long + "2") as? Int == 5)
      #expect(one.value(forKey: "gr'oß") as? String == "SS")
      #expect(two.value(forKey: "d\"esBesitzers") as? String == "ß")
    }
  }

  @Test func functionsOfAMigratedStoreKnowItsSchema() throws {
    func model(_ newer: Bool) -> NSManagedObjectModel {
      let model = LibraryModel.makeWithDerivedAttributes()
      model.entitiesByName["Author"]?.userInfo = [NSPersistentStoreAnnouncedKey: ""]
      if newer {
        // With a value for all rows, tables are made anew.
        model.entitiesByName["Passport"]?.properties.append(
          LibraryModel.attribute("town", .stringAttributeType, default: ""))
      }
      return model
    }
    let stack = try StoreStack(.server, model(false))
    try stack.coordinator.remove(stack.store)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model(true))
    try coordinator.addPersistentStore(
      ofType: NSPostgreSQLStoreType, configurationName: nil, at: stack.url,
      options: [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true])
    let context = stack.context(coordinator)
    try context.performAndWait {
      context.make("Author", ["name": "Éda", "passport": context.make("Passport", ["town": "Ulm"])])
      try context.save()
      try #expect(context.all("Author", where: "name ==[cd] 'EDA'").count == 1)
    }
    let place = try ServerAddress(stack.url, nil)
    try #expect(
      psql("SELECT count(*) FROM pg_proc WHERE prosrc LIKE '%\(place.schema)_new%'") == "0")
  }
}
