import CoreData
import Testing

/// `changedValuesForCurrentEvent()` and its neighbours.
@Suite struct CurrentEventTests {
  private func library() throws -> (TemporaryStore, NSManagedObjectID) {
    let store = try TemporaryStore()
    let id = try store.save { context in
      context.make("Book", ["title": "One", "pages": 7, "author": context.make("Author", ["name": "Ada"])])
    }.objectID
    return (store, id)
  }

  @Test func changedValuesForCurrentEventAreTheOldOnesSinceTheLastEvent() throws {
    let (store, id) = try library()
    try store.read { context in
      let book = try context.existingObject(with: id)
      #expect(book.changedValuesForCurrentEvent().isEmpty)
      book.setValue("Two", forKey: "title")
      book.setValue("Three", forKey: "title")
      #expect(book.changedValuesForCurrentEvent() as? [String: String] == ["title": "One"])
      context.processPendingChanges()
      #expect(book.changedValuesForCurrentEvent().isEmpty)
      book.setValue(8, forKey: "pages")
      book.setValue(nil, forKey: "author")
      let changes = book.changedValuesForCurrentEvent()
      #expect(Set(changes.keys) == ["pages", "author"] && changes["pages"] as? Int == 7)
      #expect((changes["author"] as? NSManagedObject)?.text("name") == "Ada")
      context.processPendingChanges()
      book.setValue("Four", forKey: "title")
      #expect(book.changedValuesForCurrentEvent() as? [String: String] == ["title": "Three"])
      // `changedValues()` still counts from the last save.
      #expect(Set(book.changedValues().keys) == ["title", "pages", "author"])
      try context.save()
      #expect(book.changedValuesForCurrentEvent().isEmpty)
      book.setValue("Five", forKey: "title")
      #expect(book.changedValuesForCurrentEvent() as? [String: String] == ["title": "Four"])
    }
  }

  @Test func aNewObjectsOldValuesAreTheDefaults() throws {
    try TemporaryStore().read { context in
      let book = context.make("Book", ["title": "One", "pages": 3])
      let changes = book.changedValuesForCurrentEvent()
      #expect(changes["title"] is NSNull && changes["pages"] as? Int == 0)
      context.processPendingChanges()
      book.setValue(4, forKey: "pages")
      #expect(book.changedValuesForCurrentEvent() as? [String: Int] == ["pages": 3])
    }
  }

  @Test func toManysAreToldWithTheirOldMembers() throws {
    let (store, id) = try library()
    try store.read { context in
      let book = try context.existingObject(with: id)
      let tags = ["a", "b", "c"].map { context.make("Tag", ["label": $0]) }
      book.setValue(Set(tags[...1]), forKey: "tags")
      #expect(book.changedValuesForCurrentEvent()["tags"] as? Set<NSManagedObject> == [])
      context.processPendingChanges()
      #expect(book.changedValuesForCurrentEvent().isEmpty)
      book.setValue("Two", forKey: "title")
      #expect(Array(book.changedValuesForCurrentEvent().keys) == ["title"])
      context.processPendingChanges()
      book.mutableSetValue(forKey: "tags").remove(tags[0])
      book.mutableSetValue(forKey: "tags").add(tags[2])
      #expect(book.changedValuesForCurrentEvent()["tags"] as? Set<NSManagedObject> == Set(tags[...1]))
      book.mutableSetValue(forKey: "tags").add(tags[0])
      book.mutableSetValue(forKey: "tags").remove(tags[2])
      #expect(book.changedValuesForCurrentEvent().isEmpty)
    }
  }

  @Test func observersOfTheEventAreToldItsOldValues() throws {
    let (store, id) = try library()
    try store.read { context in
      let book = try context.existingObject(with: id)
      book.setValue("Two", forKey: "title")
      context.processPendingChanges()
      let seen = Seen()
      let token = NotificationCenter.default.addObserver(
        forName: .NSManagedObjectContextObjectsDidChange, object: context, queue: nil
      ) { notification in
        let objects = notification.userInfo?[NSUpdatedObjectsKey] as? Set<NSManagedObject> ?? []
        seen.changes += objects.map { $0.changedValuesForCurrentEvent() }
      }
      defer { NotificationCenter.default.removeObserver(token) }
      book.setValue("Three", forKey: "title")
      context.processPendingChanges()
      #expect(seen.changes as? [[String: String]] == [["title": "Two"]])
    }
  }

  /// `@unchecked Sendable`: everything happens on the thread of one test.
  private final class Seen: @unchecked Sendable { var changes: [[String: Any]] = [] }

  @Test func aToManyThatChangedThroughItsOtherEndIsAmongTheChangedValues() throws {
    let (store, id) = try library()
    try store.read { context in
      let book = try context.existingObject(with: id)
      let author = try #require(book.object("author"))
      #expect(author.isFault && author.changedValues().isEmpty)
      let second = context.make("Book", ["title": "Two", "author": author])
      // A fault, whose members were never read.
      #expect(author.isFault && author.hasChanges)
      #expect(author.changedValues() as? [String: Set<NSManagedObject>] == ["books": [book, second]])
      #expect(author.changedValuesForCurrentEvent() as? [String: Set<NSManagedObject>] == ["books": [book]])
      context.processPendingChanges()
      book.setValue(nil, forKey: "author")
      #expect(author.changedValues() as? [String: Set<NSManagedObject>] == ["books": [second]])
      #expect(author.changedValuesForCurrentEvent() as? [String: Set<NSManagedObject>] == ["books": [book, second]])
      // A new one.
      let new = context.make("Author", ["name": "Bob"])
      second.setValue(new, forKey: "author")
      #expect(new.changedValues()["books"] as? Set<NSManagedObject> == [second])
      #expect(new.changedValuesForCurrentEvent()["books"] as? Set<NSManagedObject> == [])
      try context.save()
      // One with values.
      second.setValue(nil, forKey: "author")
      #expect(new.changedValues() as? [String: Set<NSManagedObject>] == ["books": []])
      second.setValue(new, forKey: "author")
      #expect(new.changedValues().isEmpty)
    }
  }

  @Test func aMemberThatTheStoreHasAlreadyIsNoChange() throws {
    let (store, id) = try library()
    try store.read { context in
      let book = try context.existingObject(with: id)
      let author = try #require(book.object("author"))
      book.setValue(nil, forKey: "author")
      book.setValue(author, forKey: "author")
      #expect(author.hasChanges && author.changedValues().isEmpty)
    }
  }

  /// As apps keep counts.
  @Test func aCountIsKeptInWillSave() throws {
    let store = try TemporaryStore(LibraryModel.makeWithClasses())
    let author = try store.save { context in
      let author = context.make("Author", ["name": "Ada"])
      let first = try #require(context.make("Book", ["title": "One", "author": author]) as? RecordingBook)
      let tag = context.make("Tag", ["label": "t"])
      tag.addObject(first, toRelationship: "books")
      first.onWillSave = { book in
        guard let tags = book.changedValues()["tags"] as? NSSet, book.value(forKey: "pages") as? Int != tags.count
        else { return }
        book.setValue(tags.count, forKey: "pages")
      }
      return author
    }
    #expect(author.objectID.isTemporaryID == false)
    try #expect(store.sql("SELECT ZPAGES FROM ZBOOK") == [["1"]])
  }
}
