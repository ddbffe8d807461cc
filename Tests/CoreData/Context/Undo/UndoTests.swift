import CoreData
import Testing

/// Undo and redo in a context, of every kind of change, with and without saves in between.
@Suite struct UndoTests {
  /// Runs the body in a context with an undo manager, on a file with Ada, her books One and Two, and the tag "old" on
  /// One.
  private func withLibrary(
    _ body: (TemporaryStore, NSManagedObjectContext, Library) throws -> Void
  ) throws {
    let store = try TemporaryStore(LibraryModel.makeWithClasses())
    try store.save { context in
      let author = context.make("Author", ["name": "Ada"])
      let books = ["One", "Two"].map { context.make("Book", ["title": $0, "pages": 7, "author": author]) }
      books[0].setValue(Set([context.make("Tag", ["label": "old"])]), forKey: "tags")
    }
    try store.read { context in
      context.undoManager = UndoManager()
      let library = Library(
        author: try #require(context.all("Author").first),
        one: try #require(context.all("Book", where: "title == 'One'").first),
        two: try #require(context.all("Book", where: "title == 'Two'").first),
        tag: try #require(context.all("Tag").first))
      try body(store, context, library)
    }
  }

  private struct Library {
    let author: NSManagedObject
    let one: NSManagedObject
    let two: NSManagedObject
    let tag: NSManagedObject

    /// The object's primary key.
    func key(_ object: NSManagedObject) -> Substring {
      object.objectID.uriRepresentation().lastPathComponent.dropFirst()
    }
  }

  /// A store with Ada and her book One, and a context with an undo manager. The delete rule leaves the book's reference
  /// to the deleted author, for which the save is refused while there is the book.
  private func withDenyingLibrary(
    _ body: (TemporaryStore, NSManagedObjectContext, _ author: NSManagedObject, _ book: NSManagedObject) throws -> Void
  ) throws {
    let model = LibraryModel.makeWithClasses()
    model.entitiesByName["Author"]?.relationshipsByName["books"]?.deleteRule = .denyDeleteRule
    let store = try TemporaryStore(model)
    try store.save { context in
      context.make("Book", ["title": "One", "author": context.make("Author", ["name": "Ada"])])
    }
    try store.read { context in
      context.undoManager = UndoManager()
      try body(store, context, #require(context.all("Author").first), #require(context.all("Book").first))
    }
  }

  @Test(arguments: [false, true])
  func anObjectThatIsDeletedAfterItsOwnerComesBackToIt(isSaved: Bool) throws {
    try withDenyingLibrary { store, context, author, book in
      for object in [author, book] {
        context.delete(object)
        context.processPendingChanges()
      }
      if isSaved { try context.save() }
      context.undo()
      #expect(!book.isDeleted && book.managedObjectContext === context)
      context.undo()
      #expect(book.value(forKey: "author") as? NSManagedObject === author)
      #expect(author.value(forKey: "books") as? Set<NSManagedObject> == [book])
      context.redo()
      context.redo()
      #expect(try context.all("Book").isEmpty && context.all("Author").isEmpty)
      context.undo()
      context.undo()
      #expect(book.value(forKey: "author") as? NSManagedObject === author)
      try context.save()
      try store.read { context in
        let name = try context.all("Book").first?.value(forKeyPath: "author.name") as? String
        #expect(name == "Ada")
      }
    }
  }

  @Test func anObjectThatLeavesItsDeletedOwnerComesBackToIt() throws {
    try withDenyingLibrary { _, context, author, book in
      context.delete(author)
      context.processPendingChanges()
      book.setValue(nil, forKey: "author")
      context.undo()
      #expect(author.isDeleted && book.value(forKey: "author") as? NSManagedObject === author)
      context.undo()
      #expect(!author.isDeleted && book.value(forKey: "author") as? NSManagedObject === author)
      #expect(!context.hasChanges)
    }
  }

  @Test func thereIsNoUndoManagerUnlessOneIsSet() throws {
    let context = try TemporaryStore().context()
    context.performAndWait {
      #expect(context.undoManager == nil)
      context.make("Tag")
      context.undo()
      #expect(context.insertedObjects.count == 1)
    }
  }

  @Test func aChangedValueComesBackAndIsNotWorthSavingThen() throws {
    try withLibrary { _, context, library in
      library.one.setValue("Changed", forKey: "title")
      library.one.setValue(8, forKey: "pages")
      context.undo()
      #expect(library.one.text("title") == "One" && library.one.value(forKey: "pages") as? Int == 7)
      #expect(!library.one.hasChanges && !context.hasChanges)
      context.redo()
      #expect(library.one.text("title") == "Changed" && library.one.value(forKey: "pages") as? Int == 8)
      #expect(context.updatedObjects == [library.one])
      context.undo()
      #expect(library.one.text("title") == "One")
    }
  }

  @Test func processPendingChangesClosesAGroup() throws {
    try withLibrary { _, context, library in
      for title in ["A", "B", "C"] {
        library.one.setValue(title, forKey: "title")
        context.processPendingChanges()
      }
      #expect(context.undoManager?.undoCount == 3)
      context.undo()
      #expect(library.one.text("title") == "B")
      context.undo()
      context.undo()
      #expect(library.one.text("title") == "One")
      context.redo()
      #expect(library.one.text("title") == "A")
    }
  }

  @Test func aGroupOfOnesOwnTakesInAllEventsOfItsTime() throws {
    try withLibrary { _, context, library in
      let manager = try #require(context.undoManager)
      library.two.setValue("Before", forKey: "title")
      manager.beginUndoGrouping()
      library.one.setValue("A", forKey: "title")
      context.processPendingChanges()
      library.one.setValue("B", forKey: "title")
      manager.setActionName("Rename")
      manager.endUndoGrouping()
      #expect(manager.undoCount == 2 && manager.undoActionName == "Rename")
      context.undo()
      #expect(library.one.text("title") == "One" && library.two.text("title") == "Before")
      context.undo()
      #expect(library.two.text("title") == "Two")
    }
  }

  @Test func aNestedGroupIsUndoneAndRedoneWithoutItsOuterOne() throws {
    try withLibrary { _, context, library in
      func values() -> [AnyHashable?] { [library.one.text("title"), library.one.value(forKey: "pages") as? Int] }
      let manager = try #require(context.undoManager)
      manager.beginUndoGrouping()
      library.one.setValue("A", forKey: "title")
      manager.beginUndoGrouping()
      library.one.setValue(9, forKey: "pages")
      manager.endUndoGrouping()
      manager.undoNestedGroup()
      #expect(values() == ["A", 7] && manager.canRedo)
      context.redo()
      #expect(values() == ["A", 9])
      manager.endUndoGrouping()
      context.undo()
      #expect(values() == ["One", 7])
      context.redo()
      #expect(values() == ["A", 9])
    }
  }

  @Test func anInsertionIsUndoneAndRedoneWithItsValuesAndRelationships() throws {
    try withLibrary { store, context, library in
      let book = context.make("Book", ["title": "Three", "author": library.author])
      book.setValue(Set([library.tag]), forKey: "tags")
      context.undo()
      #expect(context.insertedObjects.isEmpty && book.managedObjectContext == nil)
      #expect(!context.hasChanges)
      #expect(library.author.members("books") == [library.one, library.two])
      #expect(library.tag.members("books") == [library.one])
      context.redo()
      #expect(context.insertedObjects == [book])
      #expect(book.text("title") == "Three" && book.object("author") == library.author)
      #expect(library.author.members("books") == [library.one, library.two, book])
      #expect(library.tag.members("books") == [library.one, book])
      try context.save()
      try #expect(
        store.read { try $0.all("Book", where: "author.name == 'Ada' AND ANY tags.label == 'old'").count } == 2)
    }
  }

  @Test func aSavedInsertionIsUndoneByDeletingTheRowAndRedoneUnderTheSameID() throws {
    try withLibrary { store, context, library in
      let book = context.make("Book", ["title": "Three", "author": library.author])
      try context.save()
      let id = book.objectID
      context.undo()
      #expect(context.deletedObjects == [book])
      try context.save()
      try #expect(store.sql("SELECT count(*) FROM ZBOOK") == [["2"]])
      context.redo()
      #expect(context.insertedObjects == [book] && book.objectID == id && book.managedObjectContext == context)
      try context.save()
      try #expect(store.sql("SELECT ZTITLE FROM ZBOOK WHERE Z_PK = 3") == [["Three"]])
      #expect(library.author.members("books").contains(book))
    }
  }

  @Test func aDeletionIsUndoneWithAllThatItTookAlong() throws {
    try withLibrary { store, context, library in
      context.delete(library.author)
      context.processPendingChanges()
      #expect(context.deletedObjects == [library.author, library.one, library.two])
      context.undo()
      #expect(context.deletedObjects.isEmpty && !context.hasChanges)
      #expect(library.author.members("books") == [library.one, library.two])
      #expect(library.one.object("author") == library.author)
      #expect(library.tag.members("books") == [library.one])
      context.redo()
      #expect(context.deletedObjects == [library.author, library.one, library.two])
      #expect(library.tag.members("books").isEmpty)
      context.undo()
      library.one.setValue("Saved", forKey: "title")
      try context.save()
      try #expect(store.sql("SELECT ZTITLE, ZAUTHOR FROM ZBOOK ORDER BY Z_PK") == [["Saved", "1"], ["Two", "1"]])
    }
  }

  @Test func aSavedDeletionIsUndoneByWritingTheRowsAgain() throws {
    try withLibrary { store, context, library in
      let ids = [library.author, library.one, library.two].map(\.objectID)
      context.delete(library.author)
      try context.save()
      try #expect(store.sql("SELECT count(*) FROM ZBOOK") == [["0"]])
      context.undo()
      #expect(context.insertedObjects == [library.author, library.one, library.two])
      #expect([library.author, library.one, library.two].map(\.objectID) == ids)
      #expect(library.one.text("title") == "One" && library.one.members("tags") == [library.tag])
      try context.save()
      try store.read { fresh in
        let book = try #require(fresh.all("Book", where: "title == 'One'").first)
        #expect(book.objectID == ids[1])
        #expect(book.object("author")?.text("name") == "Ada")
        #expect(book.members("tags").map { $0.text("label") } == ["old"])
        #expect(book.object("author")?.members("books").count == 2)
      }
      context.redo()
      try context.save()
      try #expect(store.sql("SELECT (SELECT count(*) FROM ZBOOK) || (SELECT count(*) FROM ZAUTHOR)") == [["00"]])
    }
  }

  @Test func aDeletionOfWhatWasNeverSavedIsUndone() throws {
    try withLibrary { _, context, library in
      let book = context.make("Book", ["title": "Three", "author": library.author])
      context.processPendingChanges()
      context.delete(book)
      context.processPendingChanges()
      #expect(context.insertedObjects.isEmpty && library.author.members("books") == [library.one, library.two])
      context.undo()
      #expect(context.insertedObjects == [book] && book.text("title") == "Three")
      #expect(library.author.members("books") == [library.one, library.two, book])
      context.undo()
      #expect(!context.hasChanges)
    }
  }

  @Test func aDeletionIsUndoneToWhatWasNotSavedYet() throws {
    try withLibrary { _, context, library in
      library.one.setValue("Not saved", forKey: "title")
      context.processPendingChanges()
      context.delete(library.one)
      context.undo()
      #expect(library.one.text("title") == "Not saved" && context.updatedObjects == [library.one])
      context.undo()
      #expect(library.one.text("title") == "One" && !context.hasChanges)
    }
  }

  @Test func aMemberThatLeftAndCameBackWithinAnEventStays() throws {
    try withLibrary { _, context, library in
      library.one.setValue(nil, forKey: "author")
      library.one.setValue(library.author, forKey: "author")
      library.one.setValue("Changed", forKey: "title")
      context.undo()
      #expect(library.one.text("title") == "One" && library.one.object("author") == library.author)
      #expect(library.author.members("books") == [library.one, library.two] && !library.one.hasChanges)
    }
  }

  @Test func changesAreUndoneAcrossSaves() throws {
    try withLibrary { store, context, library in
      library.one.setValue("Saved", forKey: "title")
      try context.save()
      library.one.setValue(99, forKey: "pages")
      try context.save()
      context.undo()
      #expect(library.one.value(forKey: "pages") as? Int == 7 && library.one.text("title") == "Saved")
      context.undo()
      #expect(library.one.text("title") == "One" && context.updatedObjects == [library.one])
      try context.save()
      try #expect(
        store.sql("SELECT ZTITLE, ZPAGES FROM ZBOOK WHERE Z_PK = \(library.key(library.one))") == [["One", "7"]])
      context.redo()
      try context.save()
      try #expect(store.sql("SELECT ZTITLE FROM ZBOOK WHERE Z_PK = \(library.key(library.one))") == [["Saved"]])
    }
  }

  @Test func relationshipsAreUndoneAtBothEnds() throws {
    try withLibrary { _, context, library in
      let other = context.make("Author", ["name": "Bob"])
      try context.save()
      library.one.setValue(other, forKey: "author")
      library.one.mutableSetValue(forKey: "tags").remove(library.tag)
      context.processPendingChanges()
      library.tag.mutableSetValue(forKey: "books").add(library.two)
      context.undo()
      #expect(library.two.members("tags").isEmpty && library.tag.members("books").isEmpty)
      context.undo()
      #expect(library.one.object("author") == library.author && other.members("books").isEmpty)
      #expect(library.author.members("books") == [library.one, library.two])
      #expect(library.one.members("tags") == [library.tag] && library.tag.members("books") == [library.one])
      #expect(!context.hasChanges)
      context.redo()
      context.redo()
      #expect(other.members("books") == [library.one] && library.two.members("tags") == [library.tag])
    }
  }

  @Test func theOrderOfMembersIsUndone() throws {
    try withLibrary { store, context, library in
      let members = ["a", "b", "c"].map { context.make("Tag", ["label": $0]) }
      library.tag.setValue(NSOrderedSet(array: members), forKey: "ordered")
      try context.save()
      let ordered = library.tag.mutableOrderedSetValue(forKey: "ordered")
      ordered.moveObjects(at: [2], to: 0)
      context.processPendingChanges()
      ordered.remove(members[0])
      context.undo()
      #expect(ordered.array as? [NSManagedObject] == [members[2], members[0], members[1]])
      context.undo()
      #expect(ordered.array as? [NSManagedObject] == members)
      context.redo()
      context.redo()
      #expect(ordered.array as? [NSManagedObject] == [members[2], members[1]])
      context.undo()
      try context.save()
      try store.read { fresh in
        let tag = fresh.object(with: library.tag.objectID)
        let labels = (tag.value(forKey: "ordered") as? NSOrderedSet)?.array.map {
          ($0 as? NSManagedObject)?.text("label")
        }
        #expect(labels == ["c", "a", "b"])
      }
    }
  }

  @Test func whatChangesWhileRegistrationIsDisabledAndFlushedStays() throws {
    try withLibrary { _, context, library in
      library.one.setValue("Undoable", forKey: "title")
      context.processPendingChanges()
      context.undoManager?.disableUndoRegistration()
      library.two.setValue("Stays", forKey: "title")
      context.processPendingChanges()
      context.undoManager?.enableUndoRegistration()
      context.undo()
      #expect(library.one.text("title") == "One" && library.two.text("title") == "Stays")
    }
  }

  @Test func rollbackAndResetEmptyTheStack() throws {
    try withLibrary { _, context, library in
      library.one.setValue("A", forKey: "title")
      context.processPendingChanges()
      context.rollback()
      #expect(context.undoManager?.canUndo == false && context.undoManager?.canRedo == false)
      library.one.setValue("B", forKey: "title")
      context.processPendingChanges()
      context.reset()
      #expect(context.undoManager?.canUndo == false)
      context.undo()
    }
  }

  @Test func aSaveIsOneGroupWithWhatWillSaveChanges() throws {
    try withLibrary { store, context, library in
      let book = try #require(library.one as? RecordingBook)
      book.onWillSave = { book in
        if book.value(forKey: "pages") as? Int != 100 { book.setValue(100, forKey: "pages") }
      }
      book.setValue("Saved", forKey: "title")
      try context.save()
      book.onWillSave = nil
      context.undo()
      #expect(book.text("title") == "One" && book.value(forKey: "pages") as? Int == 7)
    }
  }

  @Test func whatIsMergedFromElsewhereIsNotUndone() throws {
    try withLibrary { store, context, library in
      let other = store.context()
      let id = library.one.objectID
      let saved = Saved()
      let token = NotificationCenter.default.addObserver(
        forName: .NSManagedObjectContextDidSave, object: other, queue: nil
      ) { saved.notification = $0 }
      defer { NotificationCenter.default.removeObserver(token) }
      try other.performAndWait {
        other.object(with: id).setValue("Theirs", forKey: "title")
        other.make("Tag", ["label": "new"])
        try other.save()
      }
      library.two.setValue("Mine", forKey: "title")
      context.processPendingChanges()
      context.mergeChanges(fromContextDidSave: try #require(saved.notification))
      context.undo()
      #expect(library.one.text("title") == "Theirs" && library.two.text("title") == "Two")
      #expect(context.undoManager?.canUndo == false)
    }
  }

  /// `@unchecked Sendable`: everything happens on the thread of one test.
  private final class Saved: @unchecked Sendable { var notification: Notification? }

  @Test func aChildsSaveIsUndoneInTheParent() throws {
    try withLibrary { store, context, library in
      let child = context.child()
      let id = library.one.objectID
      try child.performAndWait {
        let book = child.object(with: id)
        book.setValue("Child's", forKey: "title")
        book.setValue(NSSet(), forKey: "tags")
        child.make("Book", ["title": "New", "author": book.object("author") as Any])
        try child.save()
      }
      #expect(library.one.text("title") == "Child's" && context.insertedObjects.count == 1)
      context.undo()
      #expect(library.one.text("title") == "One" && library.one.members("tags") == [library.tag])
      #expect(!context.hasChanges && library.author.members("books") == [library.one, library.two])
    }
  }

  @Test func objectsAreToldThatTheirValuesWereReplaced() throws {
    try withLibrary { _, context, library in
      let book = try #require(library.one as? RecordingBook)
      book.setValue("A", forKey: "title")
      context.undo()
      #expect(book.snapshotEvents == [.undoUpdate])
      context.delete(book)
      context.undo()
      #expect(book.snapshotEvents == [.undoUpdate, .undoDeletion])
      let new = try #require(context.make("Book", ["title": "New"]) as? RecordingBook)
      context.undo()
      #expect(new.snapshotEvents == [.undoInsertion])
      book.setValue("B", forKey: "title")
      context.rollback()
      #expect(book.snapshotEvents.last == .rollback)
      book.setValue("C", forKey: "title")
      context.refresh(book, mergeChanges: true)
      #expect(book.snapshotEvents.last == .refresh)
    }
  }

  @Test func oneManagerServesSeveralContextsAndActionsOfOnesOwn() throws {
    try withLibrary { store, context, library in
      let manager = try #require(context.undoManager)
      let log = Log()
      manager.beginUndoGrouping()
      manager.registerUndo(withTarget: log) { $0.entries.append("selection") }
      library.one.setValue("A", forKey: "title")
      manager.endUndoGrouping()
      context.undo()
      #expect(log.entries == ["selection"] && library.one.text("title") == "One")
      context.undoManager = nil
      library.one.setValue("B", forKey: "title")
      context.processPendingChanges()
      #expect(!manager.canUndo && context.undoManager == nil)
    }
  }

  private final class Log { var entries: [String] = [] }
}
