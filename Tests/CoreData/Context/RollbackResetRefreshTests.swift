import CoreData
import Testing

@Suite struct RollbackResetRefreshTests {
  private func library() throws -> (TemporaryStore, author: NSManagedObjectID, book: NSManagedObjectID) {
    let store = try TemporaryStore()
    let (author, book) = try store.save { context in
      let author = context.make("Author", ["name": "Ada"])
      let tags = Set(["a", "b"].map { context.make("Tag", ["label": $0]) })
      return (author, context.make("Book", ["title": "One", "pages": 1, "author": author, "tags": tags]))
    }
    return (store, author.objectID, book.objectID)
  }

  @Test func rollbackTakesBackEveryKindOfChange() throws {
    let (store, authorID, bookID) = try library()
    try store.read { context in
      let author = context.object(with: authorID)
      let book = context.object(with: bookID)
      let tag = try context.all("Tag", where: "label == 'a'")[0]
      #expect(author.members("books") == [book])
      book.setValue("changed", forKey: "title")
      book.setValue(nil, forKey: "author")
      book.mutableSetValue(forKey: "tags").remove(tag)
      let new = context.make("Book", ["title": "new", "author": author])
      author.setValue(context.make("Passport"), forKey: "passport")
      context.delete(tag)
      context.rollback()
      #expect(!context.hasChanges)
      #expect(new.managedObjectContext == nil && !new.isInserted)
      #expect(book.text("title") == "One" && book.object("author") === author)
      #expect(author.members("books") == [book] && author.object("passport") == nil)
      #expect(!tag.isDeleted && tag.members("books") == [book])
      #expect(book.members("tags").count == 2)
      try context.save()
      // And they can be changed again.
      book.setValue("Two", forKey: "title")
      try context.save()
    }
    try #expect(store.sql("SELECT ZTITLE, ZAUTHOR, Z_OPT FROM ZBOOK") == [["Two", "1", "2"]])
    try #expect(store.sql("SELECT count(*) FROM Z_2TAGS") == [["2"]])
  }

  @Test func rollbackAfterACascadeBringsEverythingBack() throws {
    let (store, authorID, bookID) = try library()
    try store.read { context in
      let author = context.object(with: authorID)
      context.delete(author)
      context.processPendingChanges()
      #expect(context.deletedObjects.count == 2)
      context.rollback()
      #expect(!context.hasChanges && !author.isDeleted)
      #expect(author.members("books") == [context.object(with: bookID)])
      context.delete(author)
      try context.save()
    }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK") == [["0"]])
  }

  @Test func rollbackForgetsANewObjectThatWasDeleted() throws {
    let (store, _, _) = try library()
    try store.read { context in
      let new = context.make("Book", ["title": "new"])
      context.delete(new)
      context.rollback()
      #expect(!context.hasChanges && !new.isDeleted && context.registeredObjects.isEmpty)
    }
  }

  @Test func resetForgetsAllAndTheNextReadSeesTheFile() throws {
    let (store, _, bookID) = try library()
    try store.read { context in
      let book = context.object(with: bookID)
      book.setValue("changed", forKey: "title")
      context.make("Book", ["title": "new"])
      try store.save { $0.object(with: bookID).setValue("theirs", forKey: "title") }
      context.reset()
      #expect(!context.hasChanges && context.registeredObjects.isEmpty)
      #expect(book.managedObjectContext == nil)
      let again = context.object(with: bookID)
      #expect(again !== book && again.text("title") == "theirs")
    }
  }

  @Test func refreshWithoutMergingDropsChangesAndReadsAnew() throws {
    let (store, _, bookID) = try library()
    try store.read { context in
      let book = context.object(with: bookID)
      book.setValue("mine", forKey: "title")
      book.setValue("transient", forKey: "note")
      try store.save { $0.object(with: bookID).setValue("theirs", forKey: "title") }
      context.refresh(book, mergeChanges: false)
      #expect(book.isFault && !book.hasChanges && !context.hasChanges)
      #expect(book.text("title") == "theirs" && book.text("note") == nil)
      book.setValue(5, forKey: "pages")
      try context.save()
    }
    try #expect(store.sql("SELECT ZTITLE, ZPAGES, Z_OPT FROM ZBOOK") == [["theirs", "5", "3"]])
  }

  @Test func refreshWithMergingPutsOwnChangesOnTop() throws {
    let (store, authorID, bookID) = try library()
    try store.read { context in
      let book = context.object(with: bookID)
      #expect(book.members("tags").count == 2)
      book.setValue("mine", forKey: "title")
      book.setValue("transient", forKey: "note")
      let extra = context.make("Tag", ["label": "mine"])
      book.addObject(extra, toRelationship: "tags")
      try store.save { context in
        let book = context.object(with: bookID)
        book.setValue("theirs", forKey: "title")
        book.setValue(9, forKey: "pages")
        book.mutableSetValue(forKey: "tags").remove(try context.all("Tag", where: "label == 'a'")[0])
        book.setValue(nil, forKey: "author")
      }
      context.refresh(book, mergeChanges: true)
      #expect(book.isUpdated)
      #expect(book.text("title") == "mine" && book.value(forKey: "pages") as? Int == 9)
      #expect(book.text("note") == "transient")
      #expect(book.object("author") == nil)
      #expect(Set(book.members("tags").map { $0.text("label") }) == ["b", "mine"])
      #expect(book.committedValues(forKeys: ["title"])["title"] as? String == "theirs")
      try context.save()
    }
    try #expect(store.sql("SELECT ZTITLE, ZPAGES, ZAUTHOR, Z_OPT FROM ZBOOK") == [["mine", "9", nil, "3"]])
    try store.read { context in
      #expect(context.object(with: bookID).members("tags").count == 2)
      #expect(context.object(with: authorID).members("books").isEmpty)
    }
  }

  /// Only a to-many relationship of the object changed, so none of its own values did.
  @Test func refreshWithMergingOfAnObjectWithNewMembersReadsItsValuesAnew() throws {
    let (store, _, bookID) = try library()
    try store.read { context in
      let book = context.object(with: bookID)
      #expect(book.text("title") == "One")
      book.addObject(context.make("Tag", ["label": "mine"]), toRelationship: "tags")
      try store.save { $0.object(with: bookID).setValue("theirs", forKey: "title") }
      context.refresh(book, mergeChanges: true)
      #expect(book.text("title") == "theirs")
      try context.save()
    }
    try #expect(store.sql("SELECT ZTITLE, Z_OPT FROM ZBOOK") == [["theirs", "3"]])
    try #expect(store.sql("SELECT count(*) FROM Z_2TAGS") == [["3"]])
  }

  @Test func refreshAllObjectsKeepsPendingEditsAndFaultsTheRest() throws {
    let (store, authorID, bookID) = try library()
    try store.read { context in
      let author = context.object(with: authorID)
      let book = context.object(with: bookID)
      #expect(author.text("name") == "Ada")
      book.setValue("mine", forKey: "title")
      let new = context.make("Tag")
      let log = NotificationLog(context)
      context.processPendingChanges()
      log.clear()
      context.refreshAllObjects()
      #expect(author.isFault && !book.isFault && book.text("title") == "mine" && new.isInserted)
      context.processPendingChanges()
      #expect(
        log.objects(.NSManagedObjectContextObjectsDidChange, NSRefreshedObjectsKey)
          == context.registeredObjects.union([author, book, new]))
    }
  }

  /// The cache is compared with the file at the start of a block, and here not again.
  @Test(arguments: [(-1, "One"), (0, "theirs")] as [(TimeInterval, String)])
  func stalenessSaysWhetherAFaultIsFilledFromTheCache(interval: TimeInterval, title: String) throws {
    let (store, authorID, bookID) = try library()
    try store.read { context in
      context.stalenessInterval = interval
      #expect(context.object(with: authorID).text("name") == "Ada")
      _ = try store.sql("UPDATE ZBOOK SET ZTITLE = 'theirs', Z_OPT = Z_OPT + 1")
      let book = context.object(with: bookID)
      #expect(book.text("title") == title)
      // Values that were read stay as they are.
      _ = try store.sql("UPDATE ZBOOK SET ZTITLE = 'later', Z_OPT = Z_OPT + 1")
      #expect(book.text("title") == title)
    }
  }

  @Test func refreshAllObjectsTellsOfEveryRegisteredObject() throws {
    let (store, authorID, bookID) = try library()
    try store.read { context in
      let objects = [context.object(with: authorID), try context.existingObject(with: bookID), context.make("Tag")]
      objects[1].setValue("changed", forKey: "title")
      context.processPendingChanges()
      let log = NotificationLog(context)
      context.refreshAllObjects()
      context.processPendingChanges()
      #expect(log.names == [.NSManagedObjectContextObjectsDidChange])
      #expect(log.last(.NSManagedObjectContextObjectsDidChange)?.count == 1)
      #expect(log.objects(.NSManagedObjectContextObjectsDidChange, NSRefreshedObjectsKey) == Set(objects))
      #expect(context.updatedObjects == [objects[1]] && context.insertedObjects == [objects[2]])
    }
  }
}
