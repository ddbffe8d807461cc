import CoreData
import Testing

/// Conflicts of unique values among the objects of one save and among stored ones, and the kinds of constraints.
@Suite struct ConstraintKindTests {
  // MARK: Objects of one save

  @Test(arguments: [NSSQLiteStoreType, NSInMemoryStoreType]) func aConstraintOnNothingIsNone(_ type: String) throws {
    let model = LibraryModel.make()
    for entity in model.entities { entity.uniquenessConstraints = [[]] }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: URL(fileURLWithPath: "/dev/null"))
    let context = coordinator.context()
    try context.performAndWait {
      for title in ["One", "Two", "One"] { context.make("Book", ["title": title]) }
      try context.save()
      try #expect(context.all("Book").count == 3)
    }
  }

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

  @Test(arguments: ConstraintPolicies.resolving)
  func ofSeveralNewObjectsTheLastOrTheFirstStays(_ policy: NSMergePolicyType) throws {
    let library = try UniqueLibrary()
    let context = library.context(policy)
    try context.performAndWait {
      let tag = context.make("Tag", ["label": "T"])
      let books = (1...3).map { context.make("Book", ["title": "One", "pages": $0, "tags": Set([tag])]) }
      try context.save()
      let winner = books[ConstraintPolicies.winning.contains(policy) ? 2 : 0]
      #expect(books.filter { $0.managedObjectContext != nil } == [winner] && tag.members("books") == [winner])
      try #expect(
        library.books() == [
          [
            "One", winner.objectID.uriRepresentation().lastPathComponent.dropFirst().description, "1",
            ConstraintPolicies.winning.contains(policy) ? "3" : "1", nil,
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

  @Test(arguments: ConstraintPolicies.resolving)
  func aStoredObjectThatTakesAValueKeepsItOrGivesItBack(_ policy: NSMergePolicyType) throws {
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

  @Test(arguments: ConstraintPolicies.resolving)
  func twoStoredObjectsThatTakeTheSameFreeValue(_ policy: NSMergePolicyType) throws {
    let library = try UniqueLibrary()
    try library.store.save { context in for title in ["a", "b"] { context.make("Book", ["title": title]) } }
    let context = library.context(policy)
    try context.performAndWait {
      for book in try context.all("Book", sort: "title") { book.setValue("free", forKey: "title") }
      try context.save()
    }
    try #expect(library.books().map { $0[0] } == [ConstraintPolicies.winning.contains(policy) ? "a" : "b", "free"])
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
      #expect(context.deletedObjects.isEmpty && context.updatedObjects.map { $0.text("name") } == ["b"])
      try #expect(context.all("Author", sort: "name").count == 2)
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
      // One NULL is not equal to another.
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

  @Test(arguments: ConstraintPolicies.resolving)
  func aConstraintHoldsForSubentitiesToo(_ policy: NSMergePolicyType) throws {
    let library = try UniqueLibrary()
    try library.store.save { $0.make("Book", ["title": "One", "pages": 1]) }
    let context = library.context(policy)
    try context.performAndWait {
      context.make("Comic", ["title": "One", "pages": 2])
      try context.save()
    }
    // A row cannot change its entity: if the new object wins, the old row is deleted.
    let expected: [[String?]] = ConstraintPolicies.winning.contains(policy) ? [["3", "2"]] : [["2", "1"]]
    try #expect(library.store.sql("SELECT Z_ENT, ZPAGES FROM ZBOOK") == expected)
  }
}
