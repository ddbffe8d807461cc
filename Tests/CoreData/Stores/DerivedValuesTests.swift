import CoreDataPostgreSQL
import TestFiles
import Testing

@testable import CoreData

/// Derived attributes in the stores whose database keeps them: the same values in a file and at a server.
@Suite("Derived attributes, in a file and at a server", .serialized) struct DerivedValuesTests {
  static let kinds: [StoreKind] = [.file] + (PostgreSQLServer.isInstalled ? [.server] : [])

  /// All derived values, by a property that names the object.
  private func values(
    _ context: NSManagedObjectContext, _ entity: String, by key: String
  ) throws -> [String: [String: String]] {
    context.refreshAllObjects()
    var all: [String: [String: String]] = [:]
    for object in try context.all(entity) {
      var values: [String: String] = [:]
      for name in object.entity.attributesByName.keys where name.hasPrefix("d_") && name != "d_savedAt" {
        values[String(name.dropFirst(2))] = object.value(forKey: name).map { "\($0)" }
      }
      all["\(object.value(forKey: key) ?? "nil")"] = values
    }
    return all
  }

  @Test("They follow every save", arguments: kinds)
  func following(kind: StoreKind) throws {
    let stack = try StoreStack(kind, LibraryModel.makeWithDerivedAttributes())
    let (start, context) = (Date(), stack.context())
    try context.performAndWait {
      let author = context.make("Author", ["name": "Éda Straße"])
      let tags = ["a", "b"].map { context.make("Tag", ["label": $0]) }
      let books = [10, 30].map {
        context.make(
          "Book",
          [
            "title": "\($0)", "pages": $0, "price": NSDecimalNumber(string: "1.05"), "rating": 0.25, "isRead": $0 == 10,
            "author": author,
          ])
      }
      let comic = context.make("Comic", ["title": "5", "pages": 5, "artist": "ß", "tags": Set([tags[0]])])
      books[0].setValue(Set(tags), forKey: "tags")
      tags[0].setValue(NSOrderedSet(array: [tags[1], tags[0]]), forKey: "ordered")
      try context.save()
      let authors = try values(context, "Author", by: "name")
      #expect(
        authors["Éda Straße"] == [
          "copied": "Éda Straße", "folded": "eda strasse", "upper": "ÉDA STRASSE", "lower": "éda straße",
          "upperOfFolded": "EDA STRASSE", "pages": "40", "prices": "2.1", "ratings": "0.5", "read": "1", "mean": "20.0",
          "least": "10", "most": "30", "lastTitle": "30", "count": "2", "tagsOfBooks": "2",
        ])
      let savedAt = author.value(forKey: "d_savedAt") as? Date
      #expect(try #require(savedAt).timeIntervalSince(start) > -1 && savedAt! <= Date().addingTimeInterval(1))
      var bookValues = try values(context, "Book", by: "title")
      #expect(
        bookValues["10"] == [
          "authorName": "Éda Straße", "authorFolded": "eda strasse", "authorUpper": "ÉDA STRASSE", "tagCount": "2",
          "lastTag": "b",
        ])
      #expect(bookValues["5"] == ["tagCount": "1", "tagsOfComic": "1", "lastTag": "a", "artistUpper": "SS"])
      var tagValues = try values(context, "Tag", by: "label")
      #expect(tagValues["a"] == ["bookCount": "2", "orderedCount": "2"])
      // Values of the rows themselves, and of rows at the other ends.
      author.setValue("Bob", forKey: "name")
      books[1].setValue(50, forKey: "pages")
      books[0].setValue(NSSet(), forKey: "tags")
      comic.setValue("Ñ", forKey: "artist")
      tags[0].setValue("z", forKey: "label")
      try context.save()
      let bob = try values(context, "Author", by: "name")["Bob"]
      #expect(bob?["upper"] == "BOB" && bob?["pages"] == "60" && bob?["tagsOfBooks"] == "0" && bob?["most"] == "50")
      bookValues = try values(context, "Book", by: "title")
      #expect(bookValues["10"] == ["authorName": "Bob", "authorFolded": "bob", "authorUpper": "BOB", "tagCount": "0"])
      #expect(
        bookValues["5"] == ["tagCount": "1", "tagsOfComic": "1", "lastTag": "z", "artistUpper": "Ñ".uppercased()])
      // To another owner, to none, and away.
      books[0].setValue(context.make("Author", ["name": "Eve"]), forKey: "author")
      books[1].setValue(nil, forKey: "author")
      context.delete(tags[0])
      try context.save()
      let last = try values(context, "Author", by: "name")
      #expect(last["Bob"]?["pages"] == "0" && last["Bob"]?["count"] == "0" && last["Bob"]?["least"] == nil)
      #expect(last["Eve"]?["pages"] == "10" && last["Eve"]?["count"] == "1" && last["Eve"]?["lastTitle"] == "10")
      bookValues = try values(context, "Book", by: "title")
      #expect(bookValues["30"] == ["tagCount": "0"] && bookValues["5"]?["tagCount"] == "0")
      tagValues = try values(context, "Tag", by: "label")
      #expect(tagValues == ["b": ["bookCount": "0", "orderedCount": "0"]])
      context.delete(try context.all("Author", where: "name == 'Eve'")[0])
      try context.save()
      try #expect(context.all("Book").count == 2)
    }
  }

  @Test("They follow batch requests", arguments: kinds)
  func batches(kind: StoreKind) throws {
    let stack = try StoreStack(kind, LibraryModel.makeWithDerivedAttributes())
    let context = stack.context()
    try context.performAndWait {
      let author = context.make("Author", ["name": "Éda"])
      try context.save()
      try context.execute(
        NSBatchInsertRequest(entityName: "Tag", objects: (0..<3).map { ["label": "tag \($0)"] }))
      try context.execute(
        NSBatchInsertRequest(entityName: "Author", objects: (0..<100).map { ["name": "Ü\($0)"] }))
      var authors = try values(context, "Author", by: "name")
      #expect(authors.count == 101 && authors["Ü7"]?["folded"] == "u7" && authors["Ü7"]?["count"] == "0")
      for number in 1...4 { context.make("Book", ["title": "\(number)", "pages": number, "author": author]) }
      try context.save()
      let update = NSBatchUpdateRequest(entityName: "Book")
      update.predicate = NSPredicate(format: "pages > 2")
      update.propertiesToUpdate = ["pages": 10]
      try context.execute(update)
      authors = try values(context, "Author", by: "name")
      #expect(authors["Éda"]?["pages"] == "23" && authors["Éda"]?["mean"] == "5.75")
      let renaming = NSBatchUpdateRequest(entityName: "Author")
      renaming.predicate = NSPredicate(format: "name == 'Éda'")
      renaming.propertiesToUpdate = ["name": "Ōe"]
      try context.execute(renaming)
      try #expect(values(context, "Book", by: "title")["1"]?["authorFolded"] == "oe")
      let doomed = NSFetchRequest<NSManagedObject>(entityName: "Book")
      doomed.predicate = NSPredicate(format: "pages == 10")
      try context.execute(NSBatchDeleteRequest(fetchRequest: doomed))
      authors = try values(context, "Author", by: "name")
      #expect(authors["Ōe"]?["pages"] == "3" && authors["Ōe"]?["count"] == "2" && authors["Ōe"]?["most"] == "2")
    }
  }

  @Test("A migration computes new ones, and they follow afterwards", arguments: kinds)
  func migrating(kind: StoreKind) throws {
    let stack = try StoreStack(kind, LibraryModel.makeWithDerivedAttributes(["upper", "count"]))
    try stack.perform { context in
      let author = context.make("Author", ["name": "Éda"])
      context.make("Book", ["title": "a", "pages": 10, "author": author])
      try context.save()
    }
    try stack.coordinator.remove(stack.store)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.makeWithDerivedAttributes())
    try coordinator.addPersistentStore(
      ofType: kind.type, configurationName: nil, at: stack.url,
      options: [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true])
    let context = stack.context(coordinator)
    try context.performAndWait {
      var author = try values(context, "Author", by: "name")["Éda"]
      #expect(author?["upper"] == "ÉDA" && author?["pages"] == "10" && author?["count"] == "1")
      try #expect(values(context, "Book", by: "title")["a"]?["authorFolded"] == "eda")
      context.make("Book", ["title": "b", "pages": 5, "author": try context.all("Author")[0]])
      try context.save()
      author = try values(context, "Author", by: "name")["Éda"]
      #expect(author?["pages"] == "15" && author?["count"] == "2" && author?["lastTitle"] == "b")
    }
  }

  @Test("A context that keeps to one state of the store keeps to its values", arguments: kinds)
  func generations(kind: StoreKind) throws {
    let stack = try StoreStack(kind, LibraryModel.makeWithDerivedAttributes())
    let id = try stack.perform { context in
      let author = context.make("Author", ["name": "Éda"])
      try context.save()
      return author.objectID
    }
    let pinned = stack.context()
    func count() throws -> Int? {
      pinned.refreshAllObjects()
      return pinned.object(with: id).value(forKey: "d_count") as? Int
    }
    try pinned.performAndWait {
      try pinned.setQueryGenerationFrom(.current)
      try #expect(count() == 0)
      try stack.perform { context in
        context.make("Book", ["title": "a", "author": context.object(with: id)])
        try context.save()
      }
      try #expect(count() == 0)
      try pinned.setQueryGenerationFrom(.current)
      try #expect(count() == 1)
    }
  }
}
