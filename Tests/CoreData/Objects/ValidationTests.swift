import CoreData
import Testing

@Suite struct ValidationTests {
  private static func model() -> NSManagedObjectModel {
    let model = LibraryModel.makeWithClasses()
    let pages = model.entitiesByName["Book"]?.attributesByName["pages"]
    pages?.setValidationPredicates(
      [NSPredicate(format: "SELF >= 0"), NSPredicate(format: "SELF <= 10000")],
      withValidationWarnings: [NSNumber(value: 1620), "That is no book any more."])
    model.entitiesByName["Book"]?.attributesByName["note"]?.setValidationPredicates(
      [NSPredicate(format: "length < 30")], withValidationWarnings: [NSNumber(value: 1660)])
    model.entitiesByName["Book"]?.relationshipsByName["tags"]?.maxCount = 2
    return model
  }

  private func failure(_ context: NSManagedObjectContext) -> NSError? {
    do {
      try context.save()
      return nil
    } catch {
      return error as NSError
    }
  }

  @Test(arguments: [(0, nil), (1, 1570)] as [(Int, Int?)])
  func aMandatoryToManyMayBeEmptyUnlessItHasAMinimum(minimum: Int, code: Int?) throws {
    let model = LibraryModel.make()
    let books = try #require(model.entitiesByName["Author"]?.relationshipsByName["books"])
    books.isOptional = false
    books.minCount = minimum
    let store = try TemporaryStore(model)
    try store.read { context in
      context.make("Author", ["name": "Ada"])
      var thrown: NSError?
      do { try context.save() } catch { thrown = error as NSError }
      #expect(thrown?.code == code)
    }
  }

  @Test func oneFailureIsReportedWithObjectKeyAndValue() throws {
    let store = try TemporaryStore(Self.model())
    try store.read { context in
      let book = context.make("Book", ["title": "T", "pages": -1])
      let error = try #require(failure(context))
      #expect(error.domain == NSCocoaErrorDomain && error.code == 1620)
      #expect(error.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === book)
      #expect(error.userInfo[NSValidationKeyErrorKey] as? String == "pages")
      #expect(error.userInfo[NSValidationValueErrorKey] as? Int == -1)
      #expect(error.userInfo[NSValidationPredicateErrorKey] is NSPredicate)
      book.setValue(20_000, forKey: "pages")
      #expect(failure(context)?.localizedDescription == "That is no book any more.")
      book.setValue(200, forKey: "pages")
      #expect(failure(context) == nil)
      book.setValue(-5, forKey: "pages")
      #expect(failure(context)?.code == 1620)
      #expect(book.isUpdated && book.value(forKey: "pages") as? Int == -5)
    }
    try #expect(store.sql("SELECT ZPAGES FROM ZBOOK") == [["200"]])
  }

  @Test func aMandatoryValueMustBeThereButMayBeEmpty() throws {
    let store = try TemporaryStore(Self.model())
    try store.read { context in
      let book = context.make("Book")
      let error = try #require(failure(context))
      #expect(error.code == 1570 && error.userInfo[NSValidationKeyErrorKey] as? String == "title")
      book.setValue("", forKey: "title")
      #expect(failure(context) == nil)
    }
  }

  @Test func severalFailuresAreOneErrorWithAllOfThem() throws {
    let store = try TemporaryStore(Self.model())
    try store.read { context in
      context.make("Book", ["pages": -1])
      context.make("Author").setValue(nil, forKey: "name")
      let error = try #require(failure(context))
      #expect(error.code == 1560)
      let details = try #require(error.userInfo[NSDetailedErrorsKey] as? [NSError])
      #expect(details.map(\.code).sorted() == [1570, 1570, 1620])
      #expect(details.allSatisfy { $0.userInfo[NSValidationObjectErrorKey] is NSManagedObject })
    }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK") == [["0"]])
  }

  @Test func transientValuesAreValidatedAndCountsOfMembers() throws {
    let store = try TemporaryStore(Self.model())
    try store.read { context in
      let book = context.make("Book", ["title": "T"])
      book.setValue(String(repeating: "x", count: 40), forKey: "note")
      #expect(failure(context)?.code == 1660)
      book.setValue(nil, forKey: "note")
      book.setValue(Set((0..<3).map { context.make("Tag", ["label": "\($0)"]) }), forKey: "tags")
      #expect(failure(context)?.code == 1590)
      book.removeObject(try #require(book.members("tags").first), fromRelationship: "tags")
      #expect(failure(context) == nil)
    }
    // The rule also holds if the row itself was never read.
    try store.read { context in
      let book = context.object(with: try context.all("Book")[0].objectID)
      book.addObject(context.make("Tag"), toRelationship: "tags")
      #expect(failure(context)?.code == 1590)
    }
  }

  @Test func tooFewMembersAreAFailureOfTheirOwn() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Author"]?.relationshipsByName["books"]?.minCount = 2
    try TemporaryStore(model).read { context in
      let author = context.make("Author", ["name": "Ada"])
      context.make("Book", ["title": "One", "author": author])
      let error = try #require(failure(context))
      #expect(error.code == 1580 && error.userInfo[NSValidationKeyErrorKey] as? String == "books")
      #expect(error.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === author)
      context.make("Book", ["title": "Two", "author": author])
      #expect(failure(context) == nil)
    }
  }

  @Test func predicatesOfAToManyRelationshipAreRules() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Book"]?.relationshipsByName["tags"]?.setValidationPredicates(
      [NSPredicate(format: "@count != 2")], withValidationWarnings: ["Two are a crowd."])
    try TemporaryStore(model).read { context in
      let book = context.make("Book", ["title": "One"])
      book.setValue(Set((0..<2).map { _ in context.make("Tag") }), forKey: "tags")
      let error = try #require(failure(context))
      #expect(error.code == 1550 && error.localizedDescription == "Two are a crowd.")
      #expect(error.userInfo[NSValidationKeyErrorKey] as? String == "tags")
      book.addObject(context.make("Tag"), toRelationship: "tags")
      #expect(failure(context) == nil)
    }
  }

  @Test func aChangedObjectThatWasNeverReadIsValidatedToo() throws {
    let store = try TemporaryStore(LibraryModel.makeWithClasses())
    let id = try store.save { $0.make("Book", ["title": "One"]) }.objectID
    try store.read { context in
      let book = try #require(context.object(with: id) as? RecordingBook)
      context.make("Tag", ["label": "t", "books": Set<NSManagedObject>([book])])
      #expect(book.isFault && book.isUpdated)
      try context.save()
      #expect(book.calls == ["willSave", "validateForUpdate", "didSave"] && book.isFault)
    }
  }

  @Test func whatWasRefreshedAndNotChangedIsNotValidated() throws {
    let store = try TemporaryStore(Self.model())
    try store.save { $0.make("Book", ["title": "T", "pages": 1]) }
    try store.read { context in
      let book = try context.all("Book")[0]
      #expect(book.text("title") == "T")
      _ = try store.sql("UPDATE ZBOOK SET ZPAGES = -1, Z_OPT = Z_OPT + 1")
      context.refresh(book, mergeChanges: true)
      #expect(book.value(forKey: "pages") as? Int == -1)
      context.make("Tag")
      #expect(failure(context) == nil)
      book.setValue("U", forKey: "title")
      #expect(failure(context)?.code == 1620)
    }
  }

  @Test func onesOwnChecksRunAfterTheModels() throws {
    struct Refused: Error {}
    let store = try TemporaryStore(Self.model())
    try store.read { context in
      let book = try #require(context.make("Book", ["title": "T"]) as? RecordingBook)
      book.onValidate = { _ in throw Refused() }
      #expect(throws: Refused.self) { try context.save() }
      #expect(book.isInserted && book.objectID.isTemporaryID)
      book.onValidate = nil
      book.calls = []
      try context.save()
      #expect(book.calls == ["willSave", "validateForInsert", "didSave"])
      book.calls = []
      book.setValue("U", forKey: "title")
      try context.save()
      #expect(book.calls == ["willSave", "validateForUpdate", "didSave"])
    }
  }

  @Test func whatWillSaveChangesIsSavedToo() throws {
    let store = try TemporaryStore(Self.model())
    try store.read { context in
      let first = try #require(context.make("Book", ["title": "first"]) as? RecordingBook)
      let second = try #require(context.make("Book", ["title": "second"]) as? RecordingBook)
      try context.save()
      first.calls = []
      second.calls = []
      first.onWillSave = { book in
        if book.value(forKey: "pages") as? Int != 5 { book.setValue(5, forKey: "pages") }
        if second.text("title") != "by first" { second.setValue("by first", forKey: "title") }
        if book.object("author") == nil { book.setValue(context.make("Author", ["name": "late"]), forKey: "author") }
      }
      second.onWillSave = { $0.setPrimitiveValue(6, forKey: "pages") }
      first.setValue("first!", forKey: "title")
      try context.save()
      #expect(!context.hasChanges)
      #expect(first.calls == ["willSave", "willSave", "validateForUpdate", "didSave"])
      #expect(second.calls == ["willSave", "validateForUpdate", "didSave"])
    }
    try #expect(
      store.sql("SELECT ZTITLE, ZPAGES, ZAUTHOR, Z_OPT FROM ZBOOK ORDER BY Z_PK") == [
        ["first!", "5", "1", "2"], ["by first", "6", nil, "2"],
      ])
  }

  @Test func willSaveThatNeverStopsChangingFailsTheSave() throws {
    let store = try TemporaryStore(Self.model())
    try store.read { context in
      let book = try #require(context.make("Book", ["title": "T"]) as? RecordingBook)
      book.onWillSave = { $0.setValue(1, forKey: "pages") }
      #expect { try context.save() } throws: { ($0 as NSError).domain == NSCocoaErrorDomain }
      #expect(context.hasChanges)
    }
  }

  @Test func callbacksMayDeleteInsertAndChangeOthers() throws {
    let store = try TemporaryStore(Self.model())
    try store.save { context in for title in ["a", "b", "c"] { context.make("Book", ["title": title]) } }
    try store.read { context in
      let books = try context.all("Book", sort: "title").compactMap { $0 as? RecordingBook }
      books[0].onPrepareForDeletion = { _ in context.delete(books[1]) }
      books[0].onWillSave = { _ in
        if !books[2].hasChanges { books[2].setValue("c!", forKey: "title") }
      }
      books[2].onValidate = { book in
        if book.text("title") == "c!" { book.setValue("c!!", forKey: "title") }
      }
      context.delete(books[0])
      try context.save()
      #expect(!context.hasChanges)
    }
    try #expect(store.sql("SELECT ZTITLE FROM ZBOOK") == [["c!!"]])
  }

  @Test func aFailedSaveInTheStoreLeavesEverythingAsItWas() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Tag"]?.uniquenessConstraints = [["label"]]
    let store = try TemporaryStore(model)
    let id = try store.save { $0.make("Tag", ["label": "taken"]) }.objectID
    try store.read { context in
      let book = context.make("Book", ["title": "T"])
      let tag = context.make("Tag", ["label": "taken", "books": Set([book])])
      let old = context.object(with: id)
      old.addObject(book, toRelationship: "books")
      #expect { try context.save() } throws: { ($0 as NSError).code == 133021 }
      #expect(context.insertedObjects == [book, tag] && context.updatedObjects == [old])
      #expect(book.objectID.isTemporaryID && book.members("tags") == [tag, old])
      try #expect(store.sql("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Book'") == [["0"]])
      tag.setValue("free", forKey: "label")
      try context.save()
    }
    try #expect(store.sql("SELECT count(*) FROM Z_2TAGS") == [["2"]])
  }

  @Test func aUniqueValueCanBeFreedAndTakenInOneSave() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Tag"]?.uniquenessConstraints = [["label"]]
    let store = try TemporaryStore(model)
    try store.save { context in for label in ["a", "b"] { context.make("Tag", ["label": label]) } }
    try store.save { context in
      let tags = try context.all("Tag", sort: "label")
      context.delete(tags[0])
      context.make("Tag", ["label": "a"])
      tags[1].setValue("c", forKey: "label")
      context.make("Tag", ["label": "b"])
    }
    try #expect(store.sql("SELECT ZLABEL FROM ZTAG ORDER BY 1") == [["a"], ["b"], ["c"]])
  }
}
