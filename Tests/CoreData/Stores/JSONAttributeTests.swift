@testable import CoreDataPostgreSQL
import TestFiles
import Testing

@testable import CoreData

/// Transformable attributes with `JSONValueTransformer`: text in files, `jsonb` at a server, the same values in both.
@Suite struct JSONAttributeTests {
  static let kinds: [StoreKind] = [.file, .memory] + (PostgreSQLServer.isInstalled ? [.server] : [])

  static func model(_ preserves: Bool = false) -> NSManagedObjectModel {
    let model = LibraryModel.make()
    let settings = LibraryModel.attribute("settings", .transformableAttributeType)
    settings.valueTransformerName = NSValueTransformerName.jsonTransformerName.rawValue
    settings.preservesValueInHistoryOnDeletion = preserves
    model.entitiesByName["Book"]?.properties.append(settings)
    return model
  }

  static var values: [NSObject] {
    [
      ["colour": "rot", "size": 3, "tags": ["a", "b\"\\\n", ""], "is": true, "none": NSNull(), "ü": ["deep": [1.5]]]
        as NSDictionary,
      [] as NSArray, [:] as NSDictionary, "a text / with 日本 \u{1F600} and \\u0000" as NSString, NSNumber(value: true),
      NSNumber(value: 0), NSNumber(value: -12.25), NSNumber(value: Int64.max), NSNumber(value: Int64.min),
      NSNumber(value: 0.1), NSNumber(value: 1e-7), NSNumber(value: 123456789.123456789),
      [NSNumber(value: 1e15), NSNumber(value: 1e300), NSNumber(value: 2.5e-308), NSNumber(value: false)] as NSArray,
    ]
  }

  @Test(arguments: kinds)
  func whatIsReadIsWhatWasSaved(kind: StoreKind) throws {
    let stack = try StoreStack(kind, Self.model())
    let ids = try stack.perform { context in
      let books = Self.values.enumerated().map { context.make("Book", ["title": "\($0)", "settings": $1]) }
      try context.save()
      return books.map(\.objectID)
    }
    let other = kind.isLasting ? try stack.context(stack.another(Self.model())) : stack.context()
    try other.performAndWait {
      for (index, value) in Self.values.enumerated() {
        let id = try #require(stack.coordinator.managedObjectID(forURIRepresentation: ids[index].uriRepresentation()))
        let url = id.uriRepresentation()
        let book = other.object(
          with: try #require(other.persistentStoreCoordinator?.managedObjectID(forURIRepresentation: url)))
        let settings = book.value(forKey: "settings") as? NSObject
        #expect(settings == value, "\(value)")
        // A value that has not changed is no change.
        book.setValue(value, forKey: "settings")
        book.setValue("title \(index)", forKey: "title")
      }
      try other.save()
      let update = other.make("Book", ["title": "late", "settings": ["a": 1]])
      try other.save()
      update.setValue(nil, forKey: "settings")
      try other.save()
      try #expect(other.all("Book", where: "settings == nil").map { $0.value(forKey: "title") as? String } == ["late"])
    }
  }

  @Test(.enabled(if: PostgreSQLServer.isInstalled))
  func peopleQueryIt() throws {
    let stack = try StoreStack(.server, Self.model(true), options: [NSPersistentHistoryTrackingKey: true])
    let table = try ServerAddress(stack.url, nil).qualified("Book")
    func psql(_ sql: String) throws -> String { try PostgreSQLServer.shared.psql(sql) }
    let context = stack.context()
    try context.performAndWait {
      context.make("Book", ["title": "one", "settings": ["colour": "rot", "size": 3]])
      try context.save()
      try context.execute(
        NSBatchInsertRequest(
          entityName: "Book", objects: [["title": "two", "settings": ["colour": "blau", "list": [1, 2]]]]))
      let update = NSBatchUpdateRequest(entityName: "Book")
      update.predicate = NSPredicate(format: "title == 'one'")
      update.propertiesToUpdate = ["settings": ["colour": "grün"]]
      try context.execute(update)
    }
    try #expect(psql("SELECT settings->>'colour' FROM \(table) ORDER BY title") == "grün\nblau")
    try #expect(psql("SELECT title FROM \(table) WHERE settings @> '{\"list\": [2]}'") == "two")
    try #expect(psql("SELECT DISTINCT pg_typeof(settings) FROM \(table)") == "jsonb")
    // What another program writes is read; a dictionary of the results has it; a deletion keeps it in the history.
    _ = try psql("UPDATE \(table) SET settings = settings || '{\"size\": 4}', _version = _version + 1")
    try context.performAndWait {
      context.refreshAllObjects()
      let book = try #require(context.all("Book", where: "title == 'two'").first)
      #expect(book.value(forKey: "settings") as? NSDictionary == ["colour": "blau", "list": [1, 2], "size": 4])
      let fetch = NSFetchRequest<NSDictionary>(entityName: "Book")
      fetch.resultType = .dictionaryResultType
      fetch.propertiesToFetch = ["settings"]
      fetch.predicate = NSPredicate(format: "title == 'one'")
      try #expect(context.fetch(fetch).first?["settings"] as? NSDictionary == ["colour": "grün", "size": 4])
      context.delete(book)
      try context.save()
      let request = NSPersistentHistoryChangeRequest.fetchHistory(after: .distantPast)
      let result = try context.execute(request) as? NSPersistentHistoryResult
      let changes = (result?.result as? [NSPersistentHistoryTransaction] ?? []).flatMap { $0.changes ?? [] }
      let tombstone = changes.last { $0.changeType == .delete }?.tombstone
      #expect(tombstone?["settings"] as? NSDictionary == ["colour": "blau", "list": [1, 2], "size": 4])
      // What JSON or the server cannot hold is refused and not lost.
      for wrong in [["a": Date()], ["a": "nul \0"], Double.nan] as [Any] {
        let bad = context.make("Book", ["title": "bad", "settings": wrong])
        #expect(throws: NSError.self) { try context.save() }
        context.delete(bad)
      }
      try context.save()
    }
  }

  @Test(.enabled(if: PostgreSQLServer.isInstalled))
  func aCopyHasTheSameBytes() throws {
    let source = try StoreStack(.file, Self.model())
    try source.perform { context in
      for (index, value) in Self.values.enumerated() { context.make("Book", ["title": "\(index)", "settings": value]) }
      try context.save()
    }
    func texts(_ stack: StoreStack) throws -> [String] {
      try stack.perform { context in
        try context.all("Book", sort: "title").map {
          let data = JSONValueTransformer().transformedValue($0.value(forKey: "settings")) as? Data
          return String(decoding: data ?? Data(), as: UTF8.self)
        }
      }
    }
    let before = try texts(source)
    let place = StoreKind.server.place(source.folder.appendingPathComponent("there"))
    let there = try source.coordinator.migratePersistentStore(
      source.store, to: place, options: nil, withType: NSPostgreSQLStoreType)
    try #expect(texts(source) == before)
    // A migration that copies the rows keeps them, too.
    try source.coordinator.remove(there)
    let newer = Self.model()
    newer.entitiesByName["Book"]?.properties.append(
      LibraryModel.attribute("isbn", .stringAttributeType, default: ""))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: newer)
    let migrated = try coordinator.addPersistentStore(
      ofType: NSPostgreSQLStoreType, configurationName: nil, at: place,
      options: [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true])
    let back = source.folder.appendingPathComponent("back.sqlite")
    _ = try coordinator.migratePersistentStore(migrated, to: back, options: nil, withType: NSSQLiteStoreType)
    let context = source.context(coordinator)
    let after = try context.performAndWait {
      try context.all("Book", sort: "title").map { book -> String in
        let data = JSONValueTransformer().transformedValue(book.value(forKey: "settings")) as? Data
        return String(decoding: data ?? Data(), as: UTF8.self)
      }
    }
    #expect(after == before)
  }
}
