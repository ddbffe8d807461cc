import CoreData
import Testing

/// Books with unique titles, authors with unique names, tags with unique labels, and two stacks on one file.
struct UniqueLibrary {
  let store: TemporaryStore

  init() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.uniquenessConstraints = [["title"]]
    model.entitiesByName["Author"]?.uniquenessConstraints = [["name"]]
    model.entitiesByName["Tag"]?.uniquenessConstraints = [["label"]]
    store = try TemporaryStore(model)
  }

  func context(_ policy: NSMergePolicyType, on coordinator: NSPersistentStoreCoordinator? = nil)
    -> NSManagedObjectContext
  {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator ?? store.coordinator
    context.mergePolicy = NSMergePolicy(merge: policy)
    return context
  }

  /// Key, version, pages and rating of each book, by title.
  func books() throws -> [[String?]] {
    try store.sql("SELECT ZTITLE, Z_PK, Z_OPT, ZPAGES, ZRATING FROM ZBOOK ORDER BY ZTITLE")
  }
}

@Suite struct ConstraintConflictTests {
  typealias Policy = NSMergePolicyType

  static let winning: [Policy] = [.mergeByPropertyObjectTrumpMergePolicyType, .overwriteMergePolicyType]
  static let yielding: [Policy] = [.mergeByPropertyStoreTrumpMergePolicyType, .rollbackMergePolicyType]
  static let resolving = winning + yielding

  // MARK: A new object and a row

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

  @Test(arguments: winning, [false, true])
  func aNewObjectThatWinsTakesOverTheRow(_ policy: Policy, _ inAnotherCoordinator: Bool) throws {
    let library = try UniqueLibrary()
    let context = library.context(policy)
    let rival = library.context(
      .errorMergePolicyType, on: inAnotherCoordinator ? try library.store.otherCoordinator() : nil)
    try context.performAndWait {
      // context                 | rival
      // ------------------------+----------------------
      // makes "One"             |
      //                         | makes "One" and saves
      // saves: updates that row |
      let book = context.make("Book", ["title": "One", "pages": 7])
      let other = context.make("Book", ["title": "Two"])
      try rival.performAndWait {
        rival.make("Book", ["title": "One", "pages": 1, "rating": 5.0])
        try rival.save()
      }
      try context.save()
      // A value that was not given is a value, too.
      try #expect(library.books() == [["One", "1", "2", "7", nil], ["Two", "2", "1", "0", nil]])
      #expect(!context.hasChanges && !book.hasChanges && !other.hasChanges)
      #expect(book.objectID.uriRepresentation().lastPathComponent == "p1")
      #expect(context.object(with: book.objectID) === book && book.value(forKey: "pages") as? Int == 7)
      try #expect(context.all("Book", sort: "title") == [book, other])
      // The object has the row's version: it can be saved again.
      book.setValue(8, forKey: "pages")
      try context.save()
    }
    try #expect(library.books().first == ["One", "1", "3", "8", nil])
  }

  @Test(arguments: yielding, [false, true])
  func aNewObjectThatYieldsIsDroppedAndTheRowStays(_ policy: Policy, _ inAnotherCoordinator: Bool) throws {
    let library = try UniqueLibrary()
    let context = library.context(policy)
    let rival = library.context(
      .errorMergePolicyType, on: inAnotherCoordinator ? try library.store.otherCoordinator() : nil)
    try context.performAndWait {
      let book = context.make("Book", ["title": "One", "pages": 7])
      let other = context.make("Book", ["title": "Two"])
      try rival.performAndWait {
        rival.make("Book", ["title": "One", "pages": 1, "rating": 5.0])
        try rival.save()
      }
      try context.save()
      try #expect(library.books() == [["One", "1", "1", "1", "5.0"], ["Two", "2", "1", "0", nil]])
      #expect(!context.hasChanges && book.managedObjectContext == nil && !book.isInserted)
      let found = try context.all("Book", sort: "title")
      #expect(found.count == 2 && found[1] === other && found[0] !== book)
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
      // To-one relationships are values: the new object has no author. Members of to-many relationships stay.
      #expect(new.object("author") == nil && author.members("books").isEmpty)
      #expect(tag.members("books") == [new] && new.members("tags") == [tag])
      try #expect(library.books() == [["One", "1", "2", "2", nil]])
      try #expect(library.store.sql("SELECT count(*), sum(ZAUTHOR IS NULL) FROM ZBOOK") == [["1", "1"]])
      try #expect(library.store.sql("SELECT count(*) FROM Z_2TAGS") == [["1"]])
    }
  }

  @Test(arguments: winning)
  func membersOfARowThatIsTakenOverStayAndNewOnesCome(_ policy: Policy) throws {
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

  @Test(arguments: yielding)
  func whatReferredToADroppedObjectRefersToTheRow(_ policy: Policy) throws {
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

  @Test(arguments: resolving)
  func aChildsNewObjectFindsItsRowThroughTheParent(_ policy: Policy) throws {
    let library = try UniqueLibrary()
    try library.store.save { $0.make("Book", ["title": "One", "pages": 1]) }
    let parent = library.context(policy)
    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    child.parent = parent
    try child.performAndWait {
      let book = child.make("Book", ["title": "One", "pages": 2])
      try child.save()
      try parent.performAndWait { try parent.save() }
      if Self.winning.contains(policy) {
        #expect(book.objectID.uriRepresentation().lastPathComponent == "p1")
        book.setValue(3, forKey: "pages")
        try child.save()
        try parent.performAndWait { try parent.save() }
      }
    }
    try #expect(library.books().map { $0[3] } == [Self.winning.contains(policy) ? "3" : "1"])
  }

  @Test(arguments: winning + yielding)
  func aConflictResolvedInASaveLeavesUndoUsable(_ policy: Policy) throws {
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

  // MARK: Objects of one save

  @Test func conflictsInsideOneSaveHaveNoDatabaseObject() throws {
    let library = try UniqueLibrary()
    let context = library.context(.errorMergePolicyType)
    context.performAndWait {
      let books = Set((1...3).map { context.make("Book", ["title": "One", "pages": $0]) })
      #expect {
        try context.save()
      } throws: { error in
        let conflicts = (error as NSError).userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSConstraintConflict]
        return (error as NSError).code == 133021 && conflicts?.count == 1 && conflicts?[0].databaseObject == nil
          && conflicts?[0].databaseSnapshot == nil && Set(conflicts?[0].conflictingObjects ?? []) == books
      }
    }
  }

  @Test(arguments: resolving)
  func ofSeveralNewObjectsTheLastOrTheFirstStays(_ policy: Policy) throws {
    let library = try UniqueLibrary()
    let context = library.context(policy)
    try context.performAndWait {
      let tag = context.make("Tag", ["label": "T"])
      let books = (1...3).map { context.make("Book", ["title": "One", "pages": $0, "tags": Set([tag])]) }
      try context.save()
      let winner = books[Self.winning.contains(policy) ? 2 : 0]
      #expect(books.filter { $0.managedObjectContext != nil } == [winner] && tag.members("books") == [winner])
      try #expect(
        library.books() == [
          [
            "One", winner.objectID.uriRepresentation().lastPathComponent.dropFirst().description, "1",
            Self.winning.contains(policy) ? "3" : "1", nil,
          ]
        ])
    }
    try #expect(library.store.sql("SELECT count(*) FROM Z_2TAGS") == [["1"]])
  }

  @Test func twoObjectsMayExchangeTheirUniqueValues() throws {
    let library = try UniqueLibrary()
    try library.store.save { context in for title in ["a", "b", "c"] { context.make("Book", ["title": title]) } }
    let context = library.context(.errorMergePolicyType)
    try context.performAndWait {
      let books = try context.all("Book", sort: "title")
      for (book, title) in zip(books, ["b", "c", "a"]) { book.setValue(title, forKey: "title") }
      try context.save()
    }
    try #expect(
      library.books().map { [$0[0], $0[1], $0[2]] } == [["a", "3", "2"], ["b", "1", "2"], ["c", "2", "2"]])
  }

  // MARK: A changed object and a row

  @Test(arguments: resolving)
  func aStoredObjectThatTakesAValueKeepsItOrGivesItBack(_ policy: Policy) throws {
    let library = try UniqueLibrary()
    try library.store.save { context in
      for title in ["a", "b"] { context.make("Book", ["title": title, "pages": 1]) }
    }
    let context = library.context(policy)
    try context.performAndWait {
      let books = try context.all("Book", sort: "title")
      books[0].setValue("b", forKey: "title")
      books[0].setValue(9, forKey: "pages")
      try context.save()
      #expect(!context.hasChanges)
      switch policy {
      case .mergeByPropertyStoreTrumpMergePolicyType:
        try #expect(library.books() == [["a", "1", "2", "9", nil], ["b", "2", "1", "1", nil]])
      case .rollbackMergePolicyType:
        try #expect(library.books() == [["a", "1", "1", "1", nil], ["b", "2", "1", "1", nil]])
        #expect(books[0].text("title") == "a")
      default:
        try #expect(library.books() == [["b", "1", "2", "9", nil]])
        #expect(books[1].managedObjectContext == nil)
      }
    }
  }

  @Test(arguments: resolving)
  func twoStoredObjectsThatTakeTheSameFreeValue(_ policy: Policy) throws {
    let library = try UniqueLibrary()
    try library.store.save { context in for title in ["a", "b"] { context.make("Book", ["title": title]) } }
    let context = library.context(policy)
    try context.performAndWait {
      for book in try context.all("Book", sort: "title") { book.setValue("free", forKey: "title") }
      try context.save()
    }
    try #expect(library.books().map { $0[0] } == [Self.winning.contains(policy) ? "a" : "b", "free"])
  }

  @Test func aRowThatMustNotBeDeletedFailsTheSave() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Author"]?.uniquenessConstraints = [["name"]]
    model.entitiesByName["Author"]?.relationshipsByName["books"]?.deleteRule = .denyDeleteRule
    let store = try TemporaryStore(model)
    try store.save { context in
      context.make("Author", ["name": "a"])
      context.make("Author", ["name": "b", "books": Set([context.make("Book", ["title": "T"])])])
    }
    try store.read { context in
      context.mergePolicy = NSMergePolicy.overwrite
      try context.all("Author", sort: "name")[0].setValue("b", forKey: "name")
      #expect { try context.save() } throws: { ($0 as NSError).code == 1600 }
    }
    try #expect(store.sql("SELECT ZNAME FROM ZAUTHOR ORDER BY 1") == [["a"], ["b"]])
  }

  // MARK: Kinds of constraints

  @Test func constraintsOfSeveralPropertiesAreAboutAllOfThem() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.uniquenessConstraints = [["title", "pages"], ["author", "rating"]]
    let store = try TemporaryStore(model)
    let author = try store.save { $0.make("Author", ["name": "A"]) }.objectID
    try store.save { context in
      context.make("Book", ["title": "One", "pages": 1])
      context.make("Book", ["title": "One", "pages": 2])
      // NULL is unlike NULL.
      context.make("Book", ["title": "Three", "rating": 1.0])
      context.make("Book", ["title": "Four", "rating": 1.0])
      context.make("Book", ["title": "Five", "rating": 1.0, "author": context.object(with: author)])
    }
    try store.read { context in
      context.make("Book", ["title": "One", "pages": 2, "rating": 3.0])
      context.make("Book", ["title": "Six", "rating": 1.0, "author": context.object(with: author)])
      #expect {
        try context.save()
      } throws: { error in
        let conflicts = (error as NSError).userInfo["conflictList"] as? [NSConstraintConflict] ?? []
        return Set(conflicts.map(\.constraint)) == [["title", "pages"], ["author", "rating"]]
          && conflicts.contains {
            $0.constraintValues["author"] as? NSManagedObjectID == author
              && $0.constraintValues["rating"] as? Double == 1
          }
      }
      context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      try context.save()
    }
    try #expect(
      store.sql("SELECT ZTITLE, ZPAGES, ZRATING FROM ZBOOK ORDER BY Z_PK") == [
        ["One", "1", nil], ["One", "2", "3.0"], ["Three", "0", "1.0"], ["Four", "0", "1.0"], ["Six", "0", "1.0"],
      ])
  }

  @Test func anObjectMayBeInConflictWithTwoRowsAtOnce() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.uniquenessConstraints = [["title"], ["rating"]]
    let store = try TemporaryStore(model)
    try store.save { context in
      context.make("Book", ["title": "One", "rating": 1.0])
      context.make("Book", ["title": "Two", "rating": 2.0])
    }
    try store.read { context in
      context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      context.make("Book", ["title": "One", "rating": 2.0])
      try context.save()
    }
    try #expect(store.sql("SELECT Z_PK, ZTITLE, ZRATING FROM ZBOOK") == [["1", "One", "2.0"]])
  }

  @Test(arguments: resolving)
  func aConstraintHoldsForSubentitiesToo(_ policy: Policy) throws {
    let library = try UniqueLibrary()
    try library.store.save { $0.make("Book", ["title": "One", "pages": 1]) }
    let context = library.context(policy)
    try context.performAndWait {
      context.make("Comic", ["title": "One", "pages": 2])
      try context.save()
    }
    // A row cannot become one of another entity: where the new object wins, the old one goes.
    let expected: [[String?]] = Self.winning.contains(policy) ? [["3", "2"]] : [["2", "1"]]
    try #expect(library.store.sql("SELECT Z_ENT, ZPAGES FROM ZBOOK") == expected)
  }

  @Test func aVersionConflictIsResolvedBeforeAConstraintConflict() throws {
    final class Noting: NSMergePolicy, @unchecked Sendable {
      nonisolated(unsafe) var calls: [String] = []
      override func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
        calls.append("versions \(list.count)")
        try super.resolve(optimisticLockingConflicts: list)
      }
      override func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
        calls.append("constraints \(list.count)")
        try super.resolve(constraintConflicts: list)
      }
    }
    let library = try UniqueLibrary()
    let id = try library.store.save { $0.make("Book", ["title": "One"]) }.objectID
    let context = library.context(.errorMergePolicyType)
    let policy = Noting(merge: .mergeByPropertyObjectTrumpMergePolicyType)
    context.mergePolicy = policy
    try context.performAndWait {
      // context                      | another
      // -----------------------------+---------------------------
      // changes "One", makes "Two"   |
      //                              | changes "One", makes "Two"
      // saves                        |
      context.object(with: id).setValue(5, forKey: "pages")
      context.make("Book", ["title": "Two", "pages": 6])
      try library.store.save { another in
        another.object(with: id).setValue(2.0, forKey: "rating")
        another.make("Book", ["title": "Two", "rating": 3.0])
      }
      try context.save()
    }
    #expect(policy.calls == ["versions 1", "constraints 1"])
    try #expect(library.books() == [["One", "1", "3", "5", "2.0"], ["Two", "2", "2", "6", nil]])
  }

  // MARK: Policies of one's own

  /// What apps do to keep what the new object does not say.
  @Test func aPolicyMayTakeOverValuesOfTheRowAndCallSuper() throws {
    final class Preserving: NSMergePolicy, @unchecked Sendable {
      override func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
        for conflict in list {
          guard let row = conflict.databaseObject else { continue }
          for object in conflict.conflictingObjects {
            for key in object.entity.propertiesByName.keys where object.value(forKey: key) == nil {
              object.setValue(row.value(forKey: key), forKey: key)
            }
            let tags = row.members("tags").union(object.members("tags"))
            object.setValue(tags, forKey: "tags")
          }
        }
        try super.resolve(constraintConflicts: list)
      }
    }
    let library = try UniqueLibrary()
    try library.store.save { context in
      let book = context.make("Book", ["title": "One", "pages": 1, "rating": 5.0])
      book.setValue(context.make("Author", ["name": "A"]), forKey: "author")
      book.setValue(Set([context.make("Tag", ["label": "T"])]), forKey: "tags")
    }
    let context = library.context(.errorMergePolicyType)
    context.mergePolicy = Preserving(merge: .mergeByPropertyObjectTrumpMergePolicyType)
    try context.performAndWait {
      let book = context.make("Book", ["title": "One", "pages": 2])
      try context.save()
      #expect(book.object("author")?.text("name") == "A" && book.members("tags").count == 1)
      #expect(book.object("author")?.members("books") == [book])
    }
    try #expect(library.books() == [["One", "1", "2", "2", "5.0"]])
    try #expect(library.store.sql("SELECT (SELECT count(*) FROM Z_2TAGS), ZAUTHOR FROM ZBOOK") == [["1", "1"]])
  }

  @Test func aPolicyMayMakeTheValuesDifferent() throws {
    final class Renaming: NSMergePolicy, @unchecked Sendable {
      override func resolve(mergeConflicts list: [Any]) throws {
        for case let conflict as NSConstraintConflict in list {
          for object in conflict.conflictingObjects {
            object.setValue("\(object.text("title") ?? "")+", forKey: "title")
          }
        }
        try super.resolve(mergeConflicts: list)
      }
    }
    let library = try UniqueLibrary()
    try library.store.save { context in for title in ["a", "a+"] { context.make("Book", ["title": title]) } }
    let context = library.context(.errorMergePolicyType)
    context.mergePolicy = Renaming(merge: .overwriteMergePolicyType)
    try context.performAndWait {
      context.make("Book", ["title": "a"])
      try context.save()
    }
    try #expect(library.books().map { $0[0] } == ["a", "a+", "a++"])
  }

  @Test func aPolicyThatDoesNothingEndsInTheError() throws {
    final class Idle: NSMergePolicy, @unchecked Sendable {
      override func resolve(mergeConflicts list: [Any]) throws {}
    }
    let library = try UniqueLibrary()
    try library.store.save { $0.make("Book", ["title": "a"]) }
    let context = library.context(.errorMergePolicyType)
    context.mergePolicy = Idle(merge: .overwriteMergePolicyType)
    context.performAndWait {
      context.make("Book", ["title": "a"])
      #expect { try context.save() } throws: { ($0 as NSError).code == 133021 }
    }
  }

  // MARK: Many

  @Test func manyWritersOfTheSameUniqueValuesLeaveOneRowEach() async throws {
    let library = try UniqueLibrary()
    let stacks = try (0..<3).map { _ in try library.store.otherCoordinator() } + [library.store.coordinator]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for stack in stacks {
        group.addTask {
          let context = library.context(.mergeByPropertyObjectTrumpMergePolicyType, on: stack)
          try await context.perform {
            for round in 0..<20 {
              for title in 0..<5 { context.make("Book", ["title": "\(title)", "pages": round]) }
              try context.save()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    try #expect(
      library.store.sql("SELECT ZTITLE, count(*), ZPAGES FROM ZBOOK GROUP BY 1 ORDER BY 1")
        == (0..<5).map { ["\($0)", "1", "19"] })
  }

  @Test(.timeLimit(.minutes(1)))
  func thousandsOfConflictsInOneSaveAreResolvedTogether() throws {
    let library = try UniqueLibrary()
    try library.store.save { context in for number in 0..<5000 { context.make("Book", ["title": "\(number)"]) } }
    let context = library.context(.mergeByPropertyObjectTrumpMergePolicyType)
    try context.performAndWait {
      for number in 0..<6000 { context.make("Book", ["title": "\(number)", "pages": 1]) }
      try context.save()
    }
    try #expect(library.store.sql("SELECT count(*), sum(ZPAGES), max(Z_PK) FROM ZBOOK") == [["6000", "6000", "6000"]])
  }
}
