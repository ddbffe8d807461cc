import CoreData
import Testing

@Suite struct DeleteRuleTests {
  /// Owners with things under one rule each.
  private static func model(_ rule: NSDeleteRule, isToMany: Bool = true, isMandatory: Bool = false)
    -> NSManagedObjectModel
  {
    let owner = LibraryModel.entity("Owner", [LibraryModel.attribute("name", .stringAttributeType)])
    let thing = LibraryModel.entity("Thing", [LibraryModel.attribute("name", .stringAttributeType)])
    LibraryModel.relate(owner, "things", thing, "owner", toMany: (isToMany, false), rules: (rule, .nullifyDeleteRule))
    if isMandatory { thing.relationshipsByName["owner"]?.isOptional = false }
    let model = NSManagedObjectModel()
    model.entities = [owner, thing]
    return model
  }

  private func storeWithOwner(_ model: NSManagedObjectModel) throws -> TemporaryStore {
    let store = try TemporaryStore(model)
    try store.save { context in
      let owner = context.make("Owner", ["name": "o"])
      for name in ["a", "b"] { context.make("Thing", ["name": name, "owner": owner]) }
    }
    return store
  }

  @Test func cascadeTakesRelatedObjectsAlong() throws {
    let store = try storeWithOwner(Self.model(.cascadeDeleteRule))
    try store.save { context in
      context.delete(try context.all("Owner")[0])
      context.processPendingChanges()
      #expect(context.deletedObjects.count == 3)
    }
    try #expect(store.sql("SELECT (SELECT count(*) FROM ZOWNER), (SELECT count(*) FROM ZTHING)") == [["0", "0"]])
  }

  @Test func cascadeIsAppliedByTheSaveAtTheLatest() throws {
    let store = try storeWithOwner(Self.model(.cascadeDeleteRule))
    try store.save { context in
      context.propagatesDeletesAtEndOfEvent = false
      context.delete(try context.all("Owner")[0])
      context.processPendingChanges()
      #expect(context.deletedObjects.count == 1)
    }
    try #expect(store.sql("SELECT count(*) FROM ZTHING") == [["0"]])
  }

  @Test func nullifyClearsTheOtherEnd() throws {
    let store = try storeWithOwner(Self.model(.nullifyDeleteRule))
    try store.save { context in
      let things = try context.all("Thing")
      context.delete(try context.all("Owner")[0])
      context.processPendingChanges()
      #expect(things.allSatisfy { $0.object("owner") == nil && $0.isUpdated })
    }
    try #expect(store.sql("SELECT count(*) FROM ZTHING WHERE ZOWNER IS NULL") == [["2"]])
  }

  @Test func nullifyOfAMandatoryEndMakesTheSaveFail() throws {
    let store = try storeWithOwner(Self.model(.nullifyDeleteRule, isMandatory: true))
    try store.read { context in
      context.delete(try context.all("Owner")[0])
      #expect {
        try context.save()
      } throws: { error in
        let error = error as NSError
        let details = error.userInfo[NSDetailedErrorsKey] as? [NSError]
        return error.code == 1560 && details?.map(\.code) == [1570, 1570]
      }
    }
    try #expect(store.sql("SELECT count(*) FROM ZOWNER") == [["1"]])
  }

  @Test func denyKeepsAnObjectThatStillHasOthers() throws {
    let store = try storeWithOwner(Self.model(.denyDeleteRule))
    try store.read { context in
      let owner = try context.all("Owner")[0]
      context.delete(owner)
      #expect {
        try context.save()
      } throws: { error in
        let error = error as NSError
        return error.code == 1600 && error.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === owner
          && error.userInfo[NSValidationKeyErrorKey] as? String == "things"
      }
      #expect(owner.isDeleted && context.hasChanges)
      for thing in try context.all("Thing") { context.delete(thing) }
      try context.save()
    }
    try #expect(store.sql("SELECT (SELECT count(*) FROM ZOWNER), (SELECT count(*) FROM ZTHING)") == [["0", "0"]])
  }

  @Test func noActionLeavesTheOthersAsTheyAre() throws {
    let store = try storeWithOwner(Self.model(.noActionDeleteRule))
    try store.save { $0.delete(try $0.all("Owner")[0]) }
    try #expect(store.sql("SELECT count(*) FROM ZTHING WHERE ZOWNER = 1") == [["2"]])
  }

  @Test func theToOneEndLetsGoOfItsOwner() throws {
    let store = try storeWithOwner(Self.model(.nullifyDeleteRule))
    try store.save { context in
      let owner = try context.all("Owner")[0]
      #expect(owner.members("things").count == 2)
      context.delete(try context.all("Thing", where: "name == 'a'")[0])
      context.processPendingChanges()
      #expect(owner.members("things").count == 1)
    }
    try store.read { context in
      let owner = try context.all("Owner")[0]
      #expect(owner.members("things").map { $0.text("name") } == ["b"])
    }
  }

  @Test func rowsOfJoinTablesGoWithEitherEnd() throws {
    let store = try TemporaryStore()
    try store.save { context in
      let tags = Set((0..<3).map { context.make("Tag", ["label": "\($0)"]) })
      context.make("Book", ["title": "One", "tags": tags])
      context.make("Book", ["title": "Two", "tags": tags])
    }
    try store.save { $0.delete(try $0.all("Tag")[0]) }
    try #expect(store.sql("SELECT count(*) FROM Z_2TAGS") == [["4"]])
    try store.save { $0.delete(try $0.all("Book")[0]) }
    try #expect(store.sql("SELECT count(*) FROM Z_2TAGS") == [["2"]])
  }

  @Test func anObjectIsDeletedUntilTheSaveAndBelongsToNobodyAfter() throws {
    let store = try TemporaryStore(LibraryModel.makeWithClasses())
    let id = try store.save { $0.make("Book", ["title": "One"]) }.objectID
    try store.read { context in
      let book = try #require(context.object(with: id) as? RecordingBook)
      context.delete(book)
      context.delete(book)
      #expect(book.isDeleted && book.managedObjectContext === context)
      try context.save()
      #expect(!book.isDeleted && book.managedObjectContext == nil && !book.hasChanges)
      #expect(
        book.calls.filter { $0 != "awakeFromFetch" } == [
          "prepareForDeletion", "prepareForDeletion", "willSave", "validateForDelete", "didSave",
        ])
    }
  }

  @Test func aNewObjectThatIsDeletedNeverReachesTheStoreAndIsForgotten() throws {
    let store = try TemporaryStore()
    try store.read { context in
      let book = context.make("Book", ["title": "One"])
      let tag = context.make("Tag", ["label": "t", "books": Set([book])])
      context.delete(book)
      #expect(context.insertedObjects == [tag] && context.deletedObjects.isEmpty)
      context.processPendingChanges()
      #expect(tag.members("books").isEmpty)
      #expect(book.managedObjectContext == nil && !book.isDeleted)
      #expect(context.registeredObjects == [tag])
      try context.save()
    }
    try #expect(store.sql("SELECT (SELECT count(*) FROM ZBOOK), (SELECT count(*) FROM Z_2TAGS)") == [["0", "0"]])
    try #expect(store.sql("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Book'") == [["0"]])
  }

  @Test func aDeletedObjectCanBeInsertedAgainBeforeTheSave() throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Book", ["title": "One"]) }.objectID
    try store.read { context in
      let book = context.object(with: id)
      context.delete(book)
      context.insert(book)
      #expect(!book.isDeleted && context.deletedObjects.isEmpty)
      let new = context.make("Book", ["title": "New"])
      context.delete(new)
      context.insert(new)
      #expect(new.isInserted && context.insertedObjects == [new])
      try context.save()
    }
    try #expect(store.sql("SELECT ZTITLE FROM ZBOOK ORDER BY Z_PK") == [["One"], ["New"]])
  }

  @Test func aCascadeFollowsTheGraphToItsEnd() throws {
    let node = LibraryModel.entity("Node", [LibraryModel.attribute("name", .stringAttributeType)])
    LibraryModel.relate(
      node, "children", node, "parent", toMany: (true, false), rules: (.cascadeDeleteRule, .nullifyDeleteRule))
    let model = NSManagedObjectModel()
    model.entities = [node]
    let store = try TemporaryStore(model)
    try store.save { context in
      var parent = context.make("Node", ["name": "top"])
      for depth in 0..<20 { parent = context.make("Node", ["name": "\(depth)", "parent": parent]) }
      context.make("Node", ["name": "alone"])
    }
    try store.save { context in
      context.delete(try context.all("Node", where: "name == '4'")[0])
      context.processPendingChanges()
      #expect(context.deletedObjects.count == 16)
    }
    try #expect(store.sql("SELECT count(*) FROM ZNODE") == [["6"]])
  }

  @Test func prepareForDeletionRunsAtOnceAndBeforeTheObjectCountsAsDeleted() throws {
    let store = try TemporaryStore(LibraryModel.makeWithClasses())
    try store.read { context in
      let book = try #require(context.make("Book", ["title": "One"]) as? RecordingBook)
      try context.save()
      var states: [Bool] = []
      book.onPrepareForDeletion = { states.append($0.isDeleted) }
      context.delete(book)
      #expect(states == [false] && book.isDeleted)
      context.processPendingChanges()
      try context.save()
      #expect(states == [false])
    }
  }

  @Test func denyLetsAnObjectGoThatHasNoOthers() throws {
    let store = try TemporaryStore(Self.model(.denyDeleteRule))
    try store.save { $0.make("Owner", ["name": "alone"]) }
    try store.save { $0.delete(try $0.all("Owner")[0]) }
    try #expect(store.sql("SELECT count(*) FROM ZOWNER") == [["0"]])
  }

  @Test func afterNoActionTheOthersReferToAnObjectThatIsNotThere() throws {
    let store = try storeWithOwner(Self.model(.noActionDeleteRule))
    try store.save { $0.delete(try $0.all("Owner")[0]) }
    try store.read { context in
      let owner = try #require(context.all("Thing")[0].object("owner"))
      #expect(owner.isFault && owner.text("name") == nil && owner.isDeleted)
      #expect { try context.existingObject(with: owner.objectID) } throws: { ($0 as NSError).code == 133000 }
    }
  }
}
