import CoreData
import Testing

/// The state flags of an object, and how long it keeps its values.
@Suite struct ObjectStateTests {
  private func storeWithBook() throws -> (TemporaryStore, NSManagedObjectID) {
    let store = try TemporaryStore()
    let id = try store.save { context in
      context.make("Book", ["title": "One", "rating": 1.0, "author": context.make("Author", ["name": "Ada"])])
    }.objectID
    return (store, id)
  }

  @Test func aContextHoldsWhatIsToBeSavedAndLetsGoOfItAfterwards() throws {
    let store = try TemporaryStore()
    let ids = try store.save { context in ["a", "b"].map { context.make("Tag", ["label": $0]) } }.map(\.objectID)
    try store.read { context in
      context.make("Tag", ["label": "new"])
      context.object(with: ids[0]).setValue("changed", forKey: "label")
      context.delete(context.object(with: ids[1]))
      #expect(context.registeredObjects.count == 3)
      try context.save()
      #expect(context.registeredObjects.isEmpty)
    }
    try #expect(store.sql("SELECT ZLABEL FROM ZTAG ORDER BY 1") == [["changed"], ["new"]])
  }

  @Test func aPrimitiveChangeTellsNobodyAndLeavesTheOtherEndAlone() throws {
    let (store, id) = try storeWithBook()
    try store.read { context in
      let book = try context.existingObject(with: id)
      let author = try #require(book.object("author"))
      #expect(author.members("books") == [book])
      let log = NotificationLog(context)
      book.setPrimitiveValue("Two", forKey: "title")
      book.setPrimitiveValue(nil, forKey: "author")
      context.processPendingChanges()
      #expect(log.names.isEmpty && !context.hasChanges && book.changedValues().isEmpty)
      #expect(book.text("title") == "Two" && book.object("author") == nil)
      #expect(author.members("books") == [book])
    }
  }

  @Test func changedValuesAreTheNewOnesWithTransientsAndNSNullForNil() throws {
    let (store, id) = try storeWithBook()
    try store.read { context in
      let book = try context.existingObject(with: id)
      book.setValue(nil, forKey: "rating")
      book.setValue("by hand", forKey: "note")
      let changes = book.changedValues()
      #expect(Set(changes.keys) == ["rating", "note"])
      #expect(changes["rating"] is NSNull && changes["note"] as? String == "by hand")
      let committed = book.committedValues(forKeys: nil)
      #expect(committed["rating"] as? Double == 1 && committed["title"] as? String == "One")
      #expect(committed["price"] is NSNull && committed["note"] == nil)
      #expect((committed["author"] as? NSManagedObject)?.text("name") == "Ada")
    }
  }

  @Test func anEqualValueMakesTheObjectUpdatedButNotWorthSaving() throws {
    let (store, id) = try storeWithBook()
    try store.read { context in
      let book = try context.existingObject(with: id)
      book.setValue("One", forKey: "title")
      #expect(book.isUpdated && book.hasChanges && context.hasChanges && context.updatedObjects == [book])
      #expect(!book.hasPersistentChangedValues && book.changedValues().isEmpty)
      try context.save()
      #expect(!context.hasChanges)
    }
    try #expect(store.sql("SELECT Z_OPT FROM ZBOOK") == [["1"]])
  }

  @Test func aDeletedFaultIsWorthSavingAndStaysAFault() throws {
    let (store, id) = try storeWithBook()
    try store.read { context in
      let book = context.object(with: id)
      context.delete(book)
      #expect(book.isFault && book.isDeleted && book.hasPersistentChangedValues)
      #expect(book.isFault, "the question has fired the fault")
      context.rollback()
      #expect(!book.hasPersistentChangedValues)
      context.delete(book)
      try context.save()
      #expect(!book.hasPersistentChangedValues)
    }
  }

  @Test func keyValueCodingGivesNumbersAndSetsAndNeverNSNull() throws {
    let types: [(String, NSAttributeType)] = [
      ("short", .integer16AttributeType), ("middle", .integer32AttributeType), ("long", .integer64AttributeType),
      ("flag", .booleanAttributeType), ("real", .doubleAttributeType), ("half", .floatAttributeType),
      ("exact", .decimalAttributeType),
    ]
    let numbers = LibraryModel.entity("Numbers", types.map { LibraryModel.attribute($0.0, $0.1) })
    let model = LibraryModel.make()
    model.entities += [numbers]
    let store = try TemporaryStore(model)
    let id = try store.save { context in
      let object = context.make("Numbers")
      for (name, _) in types { object.setValue(NSDecimalNumber(value: 1), forKey: name) }
      return object
    }.objectID
    try store.read { context in
      let object = try context.existingObject(with: id)
      for (name, type) in types {
        let value = try #require(object.value(forKey: name))
        #expect(Swift.type(of: value) is NSNumber.Type, "\(name)")
        #expect(value as? Int == 1 && value as? Double == 1, "\(name)")
        if type == .booleanAttributeType { #expect(value as? Bool == true) }
        if type == .decimalAttributeType { #expect(value is NSDecimalNumber) }
        object.setValue(NSNull(), forKey: name)
        #expect(object.value(forKey: name) == nil, "\(name)")
      }
      let book = context.make("Book", ["title": "One"])
      #expect(book.value(forKey: "author") == nil)
      #expect(book.value(forKey: "tags") is NSSet)
      #expect(context.make("Tag").value(forKey: "ordered") is NSOrderedSet)
    }
  }

  @Test func aTransientValueLastsThroughASaveAndGoesWithAFaultOrAReset() throws {
    let (store, id) = try storeWithBook()
    try store.read { context in
      let book = try context.existingObject(with: id)
      book.setValue("kept", forKey: "note")
      try context.save()
      #expect(book.text("note") == "kept")
      book.setValue("Two", forKey: "title")
      try context.save()
      context.processPendingChanges()
      #expect(book.text("note") == "kept")
      context.refreshAllObjects()
      #expect(book.isFault && book.text("note") == nil)
      book.setValue("again", forKey: "note")
      context.reset()
      #expect(context.object(with: id).text("note") == nil)
    }
  }

  @Test func aChangeInsideAMutableValueIsNotSaved() throws {
    let store = try TemporaryStore()
    let list = NSMutableArray(array: ["a"])
    let id = try store.save { $0.make("Book", ["title": "One", "extra": list]) }.objectID
    try store.read { context in
      let book = try context.existingObject(with: id)
      (book.value(forKey: "extra") as? NSMutableArray)?.add("b")
      list.add("c")
      #expect(!book.hasChanges && !context.hasChanges)
      try context.save()
    }
    let context = try store.otherCoordinator().context()
    try context.performAndWait { try #expect(context.all("Book")[0].value(forKey: "extra") as? NSArray == ["a"]) }
  }

  @Test func anObjectOfAContextThatIsGoneCannotBeRead() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore()
      let id = try store.save { $0.make("Tag", ["label": "a"]) }.objectID
      // `nonisolated(unsafe)`: the misuse that has to trap.
      nonisolated(unsafe) let tag = try store.read { $0.object(with: id) }
      _ = tag.value(forKey: "label")
    }
    expectSentence(result, "cannot be read", "context is gone")
  }

  // MARK: IDs

  @Test func anIDIsEqualInEveryContextAndATemporaryOneIsNeverThePermanentOne() throws {
    let store = try TemporaryStore()
    try store.read { context in
      let tag = context.make("Tag")
      let temporary = tag.objectID
      try context.save()
      #expect(temporary.isTemporaryID && !tag.objectID.isTemporaryID)
      #expect(tag.objectID != temporary && !temporary.isEqual(tag.objectID))
      try store.read { other in
        let theirs = try other.all("Tag")[0]
        #expect(theirs !== tag && theirs.objectID == tag.objectID && theirs.objectID.hash == tag.objectID.hash)
      }
    }
  }

  @Test func aTemporaryURIHasNoHostAndEndsInAUUIDAndACounter() throws {
    try TemporaryStore().read { context in
      let uris = ["Book", "Comic"].map { context.make($0).objectID.uriRepresentation() }
      for (uri, entity) in zip(uris, ["Book", "Comic"]) {
        #expect((uri.host ?? "").isEmpty)
        let tail = try #require(uri.absoluteString.split(separator: "x-coredata:///\(entity)/t").first)
        #expect(UUID(uuidString: String(tail.prefix(36))) != nil && Int(tail.dropFirst(36)) != nil, "\(uri)")
      }
      #expect(uris[0].lastPathComponent != uris[1].lastPathComponent)
    }
  }
}
