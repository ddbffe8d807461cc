import CoreData
import Testing

/// A new object with the unique values of a stored row.
@Suite struct ConstraintConflictTests {
  @Test(arguments: [false, true])
  func theErrorPolicySaysWhichObjectsAreInConflict(inAnotherCoordinator: Bool) throws {
    let library = try UniqueLibrary()
    let context = library.context(.errorMergePolicyType)
    let rival = library.context(
      .errorMergePolicyType, on: inAnotherCoordinator ? try library.store.otherCoordinator() : nil)
    try context.performAndWait {
      // context              | rival
      // ---------------------+----------------------
      // makes "One"          |
      //                      | makes "One" and saves
      // saves: error         |
      let book = context.make("Book", ["title": "One", "pages": 7])
      try rival.performAndWait {
        rival.make("Book", ["title": "One", "pages": 1])
        try rival.save()
      }
      #expect {
        try context.save()
      } throws: { error in
        let error = error as NSError
        let conflicts = error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSConstraintConflict]
        guard let conflict = conflicts?.first, conflicts?.count == 1 else { return false }
        return error.domain == NSCocoaErrorDomain && error.code == 133021 && conflict.constraint == ["title"]
          && conflict.constraintValues["title"] as? String == "One" && conflict.constraintValues.count == 1
          && conflict.databaseObject?.objectID.uriRepresentation().lastPathComponent == "p1"
          && conflict.databaseObject?.managedObjectContext === context
          && conflict.databaseSnapshot?["pages"] as? Int == 1 && conflict.databaseSnapshot?["rating"] is NSNull
          && conflict.conflictingObjects == [book] && conflict.conflictingSnapshots.count == 1
      }
      #expect(book.isInserted && book.objectID.isTemporaryID && context.insertedObjects == [book])
    }
    try #expect(library.books() == [["One", "1", "1", "1", nil]])
  }

  /// Saves the new books "One" and "Two" after a rival saved a book "One":
  ///
  ///     context                    | rival
  ///     ---------------------------+----------------------
  ///     makes "One"                |
  ///                                | makes "One" and saves
  ///     saves: meets the other row |
  private func saveAfterARival(
    _ context: NSManagedObjectContext, _ library: UniqueLibrary, _ inAnotherCoordinator: Bool
  ) throws -> (book: NSManagedObject, other: NSManagedObject) {
    let rival = library.context(
      .errorMergePolicyType, on: inAnotherCoordinator ? try library.store.otherCoordinator() : nil)
    let book = context.make("Book", ["title": "One", "pages": 7])
    let other = context.make("Book", ["title": "Two"])
    try rival.performAndWait {
      rival.make("Book", ["title": "One", "pages": 1, "rating": 5.0])
      try rival.save()
    }
    try context.save()
    return (book, other)
  }

  @Test(arguments: ConstraintPolicies.winning, [false, true])
  func aNewObjectThatWinsTakesOverTheRow(_ policy: NSMergePolicyType, _ inAnotherCoordinator: Bool) throws {
    let library = try UniqueLibrary()
    let context = library.context(policy)
    try context.performAndWait {
      let (book, other) = try saveAfterARival(context, library, inAnotherCoordinator)
      // A value that nobody set counts as a value too.
      try #expect(library.books() == [["One", "1", "2", "7", nil], ["Two", "2", "1", "0", nil]])
      #expect(!context.hasChanges && !book.hasChanges && !other.hasChanges)
      #expect(book.objectID.uriRepresentation().lastPathComponent == "p1")
      #expect(context.object(with: book.objectID) === book && book.value(forKey: "pages") as? Int == 7)
      try #expect(context.all("Book", sort: "title") == [book, other])
      // The object has the row's version, so it can be saved again.
      book.setValue(8, forKey: "pages")
      try context.save()
    }
    try #expect(library.books().first == ["One", "1", "3", "8", nil])
  }

  @Test(arguments: ConstraintPolicies.yielding, [false, true])
  func aNewObjectThatYieldsIsDroppedAndTheRowStays(_ policy: NSMergePolicyType, _ inAnotherCoordinator: Bool) throws {
    let library = try UniqueLibrary()
    let context = library.context(policy)
    try context.performAndWait {
      let (book, other) = try saveAfterARival(context, library, inAnotherCoordinator)
      try #expect(library.books() == [["One", "1", "1", "1", "5.0"], ["Two", "2", "1", "0", nil]])
      #expect(!context.hasChanges && book.managedObjectContext == nil && !book.isInserted)
      let books = try context.all("Book", sort: "title")
      #expect(books.count == 2 && books[1] === other && books[0] !== book)
    }
  }

  @Test func theObjectThatHadTheRowLeavesTheContextToTheOneThatTakesItOver() throws {
    let library = try UniqueLibrary()
    let context = library.context(.mergeByPropertyObjectTrumpMergePolicyType)
    try context.performAndWait {
      let old = context.make("Book", ["title": "One", "pages": 1])
      let author = context.make("Author", ["name": "A", "books": Set([old])])
      let tag = context.make("Tag", ["label": "T", "books": Set([old])])
      try context.save()
      #expect(author.members("books") == [old] && tag.members("books") == [old])
      old.setValue(99, forKey: "pages")
      let id = old.objectID
      let new = context.make("Book", ["title": "One", "pages": 2])
      try context.save()
      #expect(new.objectID == id && old.managedObjectContext == nil && context.registeredObject(for: id) === new)
      // To-one relationships count as values: the new object has no author. Members of to-many relationships stay.
      #expect(new.object("author") == nil && author.members("books").isEmpty)
      #expect(tag.members("books") == [new] && new.members("tags") == [tag])
      try #expect(library.books() == [["One", "1", "2", "2", nil]])
      try #expect(library.store.sql("SELECT count(*), sum(ZAUTHOR IS NULL) FROM ZBOOK") == [["1", "1"]])
      try #expect(library.store.sql("SELECT count(*) FROM Z_2TAGS") == [["1"]])
    }
  }

  @Test(arguments: ConstraintPolicies.winning)
  func membersOfARowThatIsTakenOverStayAndNewOnesCome(_ policy: NSMergePolicyType) throws {
    let library = try UniqueLibrary()
    try library.store.save { context in
      let book = context.make("Book", ["title": "Old"])
      context.make("Author", ["name": "A", "books": Set([book])])
      context.make(
        "Tag", ["label": "first", "ordered": NSOrderedSet(array: [context.make("Tag", ["label": "member"])])])
    }
    let context = library.context(policy)
    try context.performAndWait {
      let author = context.make("Author", ["name": "A", "books": Set([context.make("Book", ["title": "New"])])])
      let tag = context.make(
        "Tag", ["label": "first", "ordered": NSOrderedSet(array: [context.make("Tag", ["label": "later"])])])
      try context.save()
      #expect(Set(author.members("books").map { $0.text("title") }) == ["Old", "New"])
      let ordered = tag.value(forKey: "ordered") as? NSOrderedSet
      #expect(ordered?.array.map { ($0 as? NSManagedObject)?.text("label") } == ["member", "later"])
    }
    try #expect(library.store.sql("SELECT count(*) FROM ZAUTHOR") == [["1"]])
    try #expect(library.store.sql("SELECT count(*) FROM ZBOOK WHERE ZAUTHOR = 1") == [["2"]])
  }

  @Test(arguments: ConstraintPolicies.yielding)
  func whatReferredToADroppedObjectRefersToTheRow(_ policy: NSMergePolicyType) throws {
    let library = try UniqueLibrary()
    try library.store.save { context in
      context.make("Author", ["name": "A", "books": Set([context.make("Book", ["title": "Old"])])])
      context.make("Tag", ["label": "T"])
    }
    let context = library.context(policy)
    try context.performAndWait {
      let book = context.make("Book", ["title": "New"])
      let author = context.make("Author", ["name": "A", "books": Set([book])])
      author.setValue(context.make("Passport", ["number": "1"]), forKey: "passport")
      book.setValue(Set([context.make("Tag", ["label": "T"])]), forKey: "tags")
      try context.save()
      #expect(book.object("author")?.objectID.uriRepresentation().lastPathComponent == "p1")
      #expect(book.object("author")?.members("books").count == 2 && book.members("tags").count == 1)
    }
    try #expect(library.store.sql("SELECT ZNAME, ZPASSPORT FROM ZAUTHOR") == [["A", nil]])
    try #expect(library.store.sql("SELECT ZHOLDER FROM ZPASSPORT") == [[nil]])
    try #expect(library.store.sql("SELECT ZTITLE FROM ZBOOK WHERE ZAUTHOR = 1 ORDER BY 1") == [["New"], ["Old"]])
    try #expect(library.store.sql("SELECT count(*) FROM ZTAG") == [["1"]])
    try #expect(library.store.sql("SELECT count(*) FROM Z_2TAGS") == [["1"]])
  }

  @Test func anIDThatWasObtainedBeforeGivesWayToTheRows() throws {
    let library = try UniqueLibrary()
    try library.store.save { $0.make("Author", ["name": "A"]) }
    let context = library.context(.mergeByPropertyObjectTrumpMergePolicyType)
    try context.performAndWait {
      let author = context.make("Author", ["name": "A"])
      try context.obtainPermanentIDs(for: [author])
      let book = context.make("Book", ["title": "New", "author": author])
      try context.save()
      #expect(book.object("author") === author)
    }
    try #expect(library.store.sql("SELECT Z_PK FROM ZAUTHOR") == [["1"]])
    try #expect(library.store.sql("SELECT ZAUTHOR FROM ZBOOK") == [["1"]])
  }

  @Test(arguments: ConstraintPolicies.resolving)
  func aChildsNewObjectFindsItsRowThroughTheParent(_ policy: NSMergePolicyType) throws {
    let library = try UniqueLibrary()
    try library.store.save { $0.make("Book", ["title": "One", "pages": 1]) }
    let parent = library.context(policy)
    let child = parent.child()
    try child.performAndWait {
      let book = child.make("Book", ["title": "One", "pages": 2])
      try child.save()
      try parent.performAndWait { try parent.save() }
      if ConstraintPolicies.winning.contains(policy) {
        #expect(book.objectID.uriRepresentation().lastPathComponent == "p1")
        book.setValue(3, forKey: "pages")
        try child.save()
        try parent.performAndWait { try parent.save() }
      }
    }
    try #expect(library.books().map { $0[3] } == [ConstraintPolicies.winning.contains(policy) ? "3" : "1"])
  }

  @Test(arguments: ConstraintPolicies.resolving)
  func aConflictResolvedInASaveLeavesUndoUsable(_ policy: NSMergePolicyType) throws {
    let library = try UniqueLibrary()
    try library.store.save { $0.make("Book", ["title": "One", "pages": 1]) }
    let context = library.context(policy)
    context.undoManager = UndoManager()
    try context.performAndWait {
      context.make("Book", ["title": "One", "pages": 2])
      context.make("Book", ["title": "Two", "pages": 2])
      try context.save()
      let two = try #require(try context.all("Book", where: "title == 'Two'").first)
      context.processPendingChanges()
      two.setValue(3, forKey: "pages")
      context.undo()
      #expect(two.value(forKey: "pages") as? Int == 2)
      try context.save()
    }
    try #expect(library.books().map { $0[0] } == ["One", "Two"])
  }
}
