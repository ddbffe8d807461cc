import CoreData
import Testing

@Suite struct NestedContextTests {
  @Test func aChildSeesItsParentsUnsavedChanges() throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Book", ["title": "One", "pages": 1]) }.objectID
    let parent = store.context()
    let child = parent.child()
    let newID: NSManagedObjectID = parent.performAndWait {
      parent.object(with: id).setValue("changed", forKey: "title")
      return parent.make("Book", ["title": "new", "pages": 2]).objectID
    }
    try child.performAndWait {
      #expect(child.object(with: id).text("title") == "changed")
      #expect(child.object(with: newID).text("title") == "new")
      try #expect(child.all("Book", sort: "pages").map { $0.text("title") } == ["changed", "new"])
      try #expect(child.count(for: NSFetchRequest<NSManagedObject>(entityName: "Book")) == 2)
      #expect(!child.hasChanges)
    }
    parent.performAndWait { parent.delete(parent.object(with: id)) }
    try child.performAndWait { try #expect(child.all("Book").map { $0.text("title") } == ["new"]) }
  }

  @Test func aChildsSaveReachesTheParentOnlyAndItsIDsBecomePermanentWithTheRootsSave() throws {
    let store = try TemporaryStore()
    let parent = store.context()
    let child = parent.child()
    let (book, author) = try child.performAndWait {
      let author = child.make("Author", ["name": "Ada"])
      let book = child.make("Book", ["title": "One", "author": author])
      try child.save()
      #expect(book.objectID.isTemporaryID)
      #expect(!child.hasChanges && !book.isInserted)
      return (book, author)
    }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK") == [["0"]])
    try parent.performAndWait {
      #expect(parent.insertedObjects.count == 2)
      try parent.save()
    }
    try #expect(store.sql("SELECT ZTITLE, ZAUTHOR FROM ZBOOK") == [["One", "1"]])
    try child.performAndWait {
      #expect(!book.objectID.isTemporaryID)
      #expect(book.object("author") === author)
      #expect(author.members("books") == [book])
      let again = try child.all("Book")
      #expect(again.count == 1 && again[0] === book)
      #expect(child.object(with: book.objectID) === book)
    }
  }

  @Test func anObjectThatTheChildSavesTwiceIsUpdatedTheSecondTime() throws {
    let store = try TemporaryStore()
    let parent = store.context()
    let child = parent.child()
    let book = try child.performAndWait { () -> NSManagedObject in
      let book = child.make("Book", ["title": "One"])
      try child.save()
      book.setValue("Two", forKey: "title")
      try child.save()
      return book
    }
    try parent.performAndWait { try parent.save() }
    try #expect(store.sql("SELECT ZTITLE, Z_OPT FROM ZBOOK") == [["Two", "1"]])
    try child.performAndWait {
      book.setValue("Three", forKey: "title")
      book.setValue(child.make("Author", ["name": "Ada"]), forKey: "author")
      try child.save()
      try parent.performAndWait { try parent.save() }
      #expect(book.object("author")?.text("name") == "Ada")
    }
    try #expect(store.sql("SELECT ZTITLE, ZAUTHOR, Z_OPT FROM ZBOOK") == [["Three", "1", "2"]])
  }

  /// The child knows the author by a temporary ID while the parent has already saved it.
  @Test func referencesByTemporaryIDsAreWrittenWithPermanentOnes() throws {
    let store = try TemporaryStore()
    let parent = store.context()
    let child = parent.child()
    let grandchild = child.child()
    let author = try grandchild.performAndWait { () -> NSManagedObject in
      let author = grandchild.make("Author", ["name": "Ada"])
      try grandchild.save()
      return author
    }
    try child.performAndWait { try child.save() }
    try parent.performAndWait { try parent.save() }
    try grandchild.performAndWait {
      let book = grandchild.make("Book", ["title": "One", "author": author])
      let passport = grandchild.make("Passport", ["number": "1"])
      author.setValue(passport, forKey: "passport")
      try grandchild.save()
      #expect(book.object("author") === author)
    }
    try child.performAndWait { try child.save() }
    try parent.performAndWait { try parent.save() }
    try #expect(store.sql("SELECT ZAUTHOR FROM ZBOOK") == [["1"]])
    try #expect(store.sql("SELECT ZPASSPORT FROM ZAUTHOR") == [["1"]])
    try #expect(store.sql("SELECT ZHOLDER FROM ZPASSPORT") == [["1"]])
  }

  @Test func deletionsGoUpOneLevelAtATime() throws {
    let store = try TemporaryStore()
    let (author, _) = try store.save { context in
      let author = context.make("Author", ["name": "Ada"])
      return (author, context.make("Book", ["title": "One", "author": author]))
    }
    let id = author.objectID
    let parent = store.context()
    let child = parent.child()
    try child.performAndWait {
      child.delete(child.object(with: id))
      try child.save()
      try #expect(child.all("Book").isEmpty)
    }
    try #expect(store.sql("SELECT count(*) FROM ZAUTHOR") == [["1"]])
    try parent.performAndWait {
      #expect(parent.deletedObjects.count == 2)
      try parent.save()
    }
    try #expect(store.sql("SELECT (SELECT count(*) FROM ZAUTHOR), (SELECT count(*) FROM ZBOOK)") == [["0", "0"]])
  }

  @Test func aNewObjectOfTheParentThatAChildDeletesIsNeverWritten() throws {
    let store = try TemporaryStore()
    let parent = store.context()
    let child = parent.child()
    let id = parent.performAndWait { parent.make("Book", ["title": "One"]).objectID }
    try child.performAndWait {
      child.delete(child.object(with: id))
      try child.save()
    }
    try parent.performAndWait {
      #expect(parent.insertedObjects.isEmpty)
      try parent.save()
    }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK") == [["0"]])
  }

  @Test func theChildsValuesWinOverTheParentsPropertyByProperty() throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Book", ["title": "One", "pages": 1]) }.objectID
    let parent = store.context()
    let child = parent.child()
    child.performAndWait { child.object(with: id).setValue("child", forKey: "title") }
    parent.performAndWait {
      parent.object(with: id).setValue("parent", forKey: "title")
      parent.object(with: id).setValue(2, forKey: "pages")
    }
    try child.performAndWait { try child.save() }
    try parent.performAndWait { try parent.save() }
    try #expect(store.sql("SELECT ZTITLE, ZPAGES FROM ZBOOK") == [["child", "2"]])
  }

  @Test func aRelationshipThatBothLevelsChangedEndsConsistent() throws {
    let store = try TemporaryStore()
    let objects = try store.save { context in
      ["Ada", "Bob", "Eve"].map { context.make("Author", ["name": $0]) } + [context.make("Book", ["title": "One"])]
    }
    let ids = objects.map(\.objectID)
    let parent = store.context()
    let child = parent.child()
    child.performAndWait { child.object(with: ids[3]).setValue(child.object(with: ids[0]), forKey: "author") }
    parent.performAndWait { parent.object(with: ids[3]).setValue(parent.object(with: ids[1]), forKey: "author") }
    try child.performAndWait { try child.save() }
    try parent.performAndWait {
      #expect(parent.object(with: ids[0]).members("books").count == 1)
      #expect(parent.object(with: ids[1]).members("books").isEmpty)
      try parent.save()
    }
    try #expect(store.sql("SELECT ZAUTHOR FROM ZBOOK") == [["1"]])
  }

  @Test func toManysArePushedUpWithAdditionsAndRemovals() throws {
    let store = try TemporaryStore()
    let book = try store.save { context in
      context.make("Book", ["title": "One", "tags": Set(["a", "b"].map { context.make("Tag", ["label": $0]) })])
    }
    let id = book.objectID
    let parent = store.context()
    let child = parent.child()
    try child.performAndWait {
      let book = child.object(with: id)
      let gone = try child.all("Tag", where: "label == 'a'")[0]
      book.mutableSetValue(forKey: "tags").remove(gone)
      book.mutableSetValue(forKey: "tags").add(child.make("Tag", ["label": "c"]))
      try child.save()
      #expect(Set(book.members("tags").map { $0.text("label") }) == ["b", "c"])
    }
    try parent.performAndWait {
      #expect(Set(parent.object(with: id).members("tags").map { $0.text("label") }) == ["b", "c"])
      try parent.save()
    }
    try #expect(
      store.sql("SELECT t.ZLABEL FROM Z_2TAGS j JOIN ZTAG t ON t.Z_PK = j.Z_5TAGS ORDER BY 1") == [["b"], ["c"]])
    child.performAndWait {
      #expect(Set(child.object(with: id).members("tags").map { $0.text("label") }) == ["b", "c"])
    }
  }

  @Test func aChangeOfWhatTheParentDeletedFailsAndChangesNothingThere() throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Book", ["title": "One"]) }.objectID
    let parent = store.context()
    let child = parent.child()
    child.performAndWait { child.object(with: id).setValue("Two", forKey: "title") }
    parent.performAndWait { parent.delete(parent.object(with: id)) }
    child.performAndWait {
      child.make("Book", ["title": "new"])
      #expect { try child.save() } throws: { ($0 as NSError).code == 133000 }
      #expect(child.hasChanges && child.insertedObjects.count == 1)
    }
    parent.performAndWait { #expect(parent.insertedObjects.isEmpty) }
  }

  @Test func rollbackAndResetOfAChildLeaveTheParentAlone() throws {
    let store = try TemporaryStore()
    let parent = store.context()
    let child = parent.child()
    let id = parent.performAndWait { parent.make("Book", ["title": "parent's"]).objectID }
    child.performAndWait {
      let book = child.object(with: id)
      book.setValue("child's", forKey: "title")
      child.rollback()
      #expect(book.text("title") == "parent's")
      child.make("Tag")
      child.reset()
      #expect(!child.hasChanges)
    }
    parent.performAndWait { #expect(parent.insertedObjects.count == 1) }
  }

  @Test func transientValuesReachTheParentWithTheChildsSave() throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Book", ["title": "One"]) }.objectID
    let parent = store.context()
    let child = parent.child()
    try child.performAndWait {
      child.object(with: id).setValue("transient", forKey: "note")
      try child.save()
    }
    parent.performAndWait { #expect(parent.object(with: id).text("note") == "transient") }
  }

  @Test func aBatchSizeInAChildGivesTheParentsValues() throws {
    let store = try TemporaryStore()
    try store.save { context in for number in 0..<10 { context.make("Book", ["title": "\(number)", "pages": number]) } }
    let parent = store.context()
    let child = parent.child()
    try parent.performAndWait {
      for book in try parent.all("Book") { book.setValue("changed", forKey: "title") }
    }
    try child.performAndWait {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.fetchBatchSize = 4
      try #expect(child.fetch(request).allSatisfy { $0.text("title") == "changed" })
    }
  }

  @Test func anObjectSavedIntoItsParentsGetsItsPermanentIDInTheChild() throws {
    let store = try TemporaryStore()
    let root = store.context()
    let middle = root.child()
    let child = middle.child()
    let id = try child.performAndWait { () throws -> NSManagedObjectID in
      let book = child.make("Book", ["title": "One"])
      try child.save()
      try middle.performAndWait { try middle.save() }
      #expect(book.objectID.isTemporaryID)
      try child.obtainPermanentIDs(for: [book])
      #expect(!book.objectID.isTemporaryID && !child.hasChanges)
      return book.objectID
    }
    try middle.performAndWait { try #expect(middle.existingObject(with: id).text("title") == "One") }
    try root.performAndWait {
      #expect(root.insertedObjects.map(\.objectID) == [id])
      try root.save()
    }
    try store.read { try #expect($0.existingObject(with: id).text("title") == "One") }
  }

  @Test func permanentIDsObtainedInAChildHoldThroughAllSaves() throws {
    let store = try TemporaryStore()
    let parent = store.context()
    let child = parent.child()
    let id: NSManagedObjectID = try child.performAndWait {
      let author = child.make("Author", ["name": "Ada"])
      let book = child.make("Book", ["title": "One", "author": author])
      try child.obtainPermanentIDs(for: [book, author])
      #expect(!book.objectID.isTemporaryID && book.isInserted)
      #expect(book.object("author") === author)
      try child.save()
      return book.objectID
    }
    try parent.performAndWait {
      #expect(parent.object(with: id).isInserted)
      try parent.save()
    }
    try #expect(store.sql("SELECT Z_PK, ZAUTHOR FROM ZBOOK") == [["1", "1"]])
    child.performAndWait { #expect(child.object(with: id).text("title") == "One") }
  }

  @Test func everyFormOfFetchWorksInAChild() throws {
    let store = try TemporaryStore()
    try store.save { context in for number in 0..<6 { context.make("Book", ["title": "b\(number)", "pages": number]) } }
    let parent = store.context()
    let child = parent.child()
    try parent.performAndWait {
      parent.delete(try parent.all("Book", where: "pages == 0")[0])
      try parent.all("Book", where: "pages == 5")[0].setValue(-5, forKey: "pages")
    }
    try child.performAndWait {
      child.make("Book", ["title": "child's", "pages": 2])
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.sortDescriptors = [
        NSSortDescriptor(key: "pages", ascending: true), NSSortDescriptor(key: "title", ascending: true),
      ]
      request.fetchLimit = 3
      request.fetchOffset = 1
      try #expect(child.fetch(request).map { $0.text("title") } == ["b1", "b2", "child's"])
      try #expect(child.count(for: request) == 3)
      let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Book")
      ids.resultType = .managedObjectIDResultType
      try #expect(child.fetch(ids).count == 6)
      let rows = NSFetchRequest<NSDictionary>(entityName: "Book")
      rows.resultType = .dictionaryResultType
      try #expect(child.fetch(rows).count == 6)
    }
  }

  @Test func aChildOfAMainQueueContextSavesThroughIt() async throws {
    let store = try TemporaryStore()
    let parent = NSManagedObjectContext(.mainQueue)
    parent.persistentStoreCoordinator = store.coordinator
    let child = parent.child()
    try await child.perform {
      child.make("Book", ["title": "One"])
      try child.save()
    }
    try await parent.perform { try parent.save() }
    try #expect(store.sql("SELECT ZTITLE FROM ZBOOK") == [["One"]])
  }

  @Test func callbacksRunInTheLevelsThatSave() throws {
    let store = try TemporaryStore(LibraryModel.makeWithClasses())
    let parent = store.context()
    let child = parent.child()
    let book = try child.performAndWait { () -> RecordingBook in
      let book = try #require(child.make("Book", ["title": "One"]) as? RecordingBook)
      try child.save()
      return book
    }
    #expect(book.calls == ["awakeFromInsert", "willSave", "validateForInsert", "didSave"])
    try parent.performAndWait {
      let mine = try #require(parent.insertedObjects.first as? RecordingBook)
      #expect(mine.calls.isEmpty && mine.text("note") == "set when inserted")
      try parent.save()
      #expect(mine.calls == ["willSave", "validateForInsert", "didSave"])
    }
  }

  @Test func aStoreFailureInTheParentLeavesBothLevelsAsTheyWere() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Tag"]?.uniquenessConstraints = [["label"]]
    let store = try TemporaryStore(model)
    try store.save { $0.make("Tag", ["label": "taken"]) }
    let parent = store.context()
    let child = parent.child()
    let tag = try child.performAndWait { () -> NSManagedObject in
      let tag = child.make("Tag", ["label": "taken"])
      try child.save()
      return tag
    }
    parent.performAndWait {
      #expect { try parent.save() } throws: { ($0 as NSError).code == 133021 }
      #expect(parent.insertedObjects.count == 1)
    }
    try child.performAndWait {
      #expect(tag.objectID.isTemporaryID)
      tag.setValue("free", forKey: "label")
      try child.save()
    }
    try parent.performAndWait { try parent.save() }
    child.performAndWait { #expect(!tag.objectID.isTemporaryID) }
    try #expect(store.sql("SELECT ZLABEL FROM ZTAG ORDER BY Z_PK") == [["taken"], ["free"]])
  }
}
