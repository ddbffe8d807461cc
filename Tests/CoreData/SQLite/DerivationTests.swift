import CoreData
import Testing

/// Every form of derived attribute that Apple documents, in a file and in memory.
@Suite("Derivations", .serialized) struct DerivationTests {
  private func model() -> NSManagedObjectModel {
    LibraryModel.makeWithDerivedAttributes([
      "copied", "folded", "upper", "lower", "pages", "least", "most", "count", "savedAt", "authorName", "tagCount",
      "lastTag",
    ])
  }

  private func values(_ store: TemporaryStore, _ entity: String) throws -> [[String: String]] {
    try store.read { context in
      try context.all(entity).sorted {
        $0.objectID.uriRepresentation().absoluteString < $1.objectID.uriRepresentation().absoluteString
      }
      .map { object in
        var values: [String: String] = [:]
        for name in object.entity.attributesByName.keys where name.hasPrefix("d_") && name != "d_savedAt" {
          values[String(name.dropFirst(2))] = object.value(forKey: name).map { "\($0)" }
        }
        return values
      }
    }
  }

  @Test("They follow every save")
  func following() throws {
    let store = try TemporaryStore(model())
    let start = Date()
    let (author, books) = try store.save { context in
      let author = context.make("Author", ["name": "Éda"])
      let books = [10, 30].map { context.make("Book", ["title": "\($0)", "pages": $0, "author": author]) }
      books[0].setValue(
        NSSet(array: [context.make("Tag", ["label": "a"]), context.make("Tag", ["label": "b"])]), forKey: "tags")
      return (author, books)
    }
    #expect(
      try values(store, "Author") == [
        [
          "copied": "Éda", "folded": "eda", "upper": "ÉDA", "lower": "éda", "pages": "40", "least": "10", "most": "30",
          "count": "2",
        ]
      ])
    let savedAt = try store.read { $0.object(with: author.objectID).value(forKey: "d_savedAt") as? Date }
    try #expect(#require(savedAt).timeIntervalSince(start) > -1 && savedAt! <= Date().addingTimeInterval(1))
    #expect(Set(try values(store, "Book").map { $0["authorName"] }) == ["Éda"])
    #expect(Set(try values(store, "Book").map { $0["tagCount"] }) == ["2", "0"])
    try store.save { context in
      context.object(with: author.objectID).setValue("Bob", forKey: "name")
      context.object(with: books[1].objectID).setValue(50, forKey: "pages")
      context.object(with: books[0].objectID).setValue(NSSet(), forKey: "tags")
    }
    try #expect(values(store, "Author").first?["upper"] == "BOB")
    try #expect(values(store, "Author").first?["pages"] == "60")
    #expect(Set(try values(store, "Book").map { $0["authorName"] }) == ["Bob"])
    #expect(Set(try values(store, "Book").map { $0["tagCount"] }) == ["0"])
    try store.save { context in
      context.object(with: books[0].objectID).setValue(context.make("Author", ["name": "Eve"]), forKey: "author")
      context.delete(context.object(with: books[1].objectID))
    }
    try #expect(values(store, "Author").map { $0["pages"] } == ["0", "10"])
    try #expect(values(store, "Author").map { $0["count"] } == ["0", "1"])
    try #expect(values(store, "Book").map { $0["authorName"] } == ["Eve"])
  }

  @Test("They follow a change that comes alone")
  func oneByOne() throws {
    let store = try TemporaryStore(model())
    let ids = try store.save { context in
      let authors = ["Ada", "Bob"].map { context.make("Author", ["name": $0]) }
      let books = [10, 30].map { context.make("Book", ["title": "\($0)", "pages": $0, "author": authors[0]]) }
      let tags = ["a", "b"].map { context.make("Tag", ["label": $0]) }
      books[0].setValue(NSSet(array: tags), forKey: "tags")
      return authors + books + tags
    }.map(\.objectID)
    func authors() throws -> [[String?]] {
      try store.sql("SELECT ZD_PAGES, ZD_COUNT, ZD_LEAST FROM ZAUTHOR ORDER BY ZNAME")
    }
    func books() throws -> [[String?]] {
      try store.sql("SELECT ZD_AUTHORNAME, ZD_TAGCOUNT, ZD_LASTTAG FROM ZBOOK ORDER BY ZPAGES")
    }
    // To an author who is there already.
    try store.save { context in
      context.object(with: ids[3]).setValue(context.object(with: ids[1]), forKey: "author")
    }
    try #expect(authors() == [["10", "1", "10"], ["30", "1", "30"]])
    try #expect(books() == [["Ada", "2", "b"], ["Bob", "0", nil]])
    // A member's own value.
    try store.save { $0.object(with: ids[5]).setValue("z", forKey: "label") }
    try #expect(books() == [["Ada", "2", "z"], ["Bob", "0", nil]])
    // A row of the join table, as other programs change it.
    _ = try store.sql(
      """
      UPDATE Z_2TAGS SET Z_2BOOKS = (SELECT Z_PK FROM ZBOOK WHERE ZPAGES = 30)
      WHERE Z_5TAGS = (SELECT Z_PK FROM ZTAG WHERE ZLABEL = 'z')
      """)
    try #expect(books() == [["Ada", "1", "a"], ["Bob", "1", "z"]])
    try store.save { $0.delete($0.object(with: ids[3])) }
    try #expect(authors() == [["10", "1", "10"], ["0", "0", nil]])
    _ = try store.sql("UPDATE ZAUTHOR SET ZD_SAVEDAT = 0")
    try store.save { $0.object(with: ids[1]).setValue("Bert", forKey: "name") }
    try #expect(store.sql("SELECT ZD_SAVEDAT > 0 FROM ZAUTHOR ORDER BY ZNAME") == [["0"], ["1"]])
  }

  @Test("A migration computes new ones")
  func migrating() throws {
    let store = try TemporaryStore(LibraryModel.make())
    try store.save { context in
      let author = context.make("Author", ["name": "Ada"])
      context.make("Book", ["title": "a", "pages": 10, "author": author])
    }
    let new = model()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: new)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.url,
      options: [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true])
    try #expect(
      store.sql("SELECT ZD_UPPER, ZD_PAGES, ZD_COUNT FROM ZAUTHOR") == [["ADA", "10", "1"]])
    try #expect(store.sql("SELECT ZD_AUTHORNAME, ZD_TAGCOUNT FROM ZBOOK") == [["Ada", "0"]])
  }
}
