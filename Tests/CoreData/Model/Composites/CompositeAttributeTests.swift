import Testing

@testable import CoreData

/// Composite attributes in objects, and in the rows of a file.
@Suite struct CompositeAttributeTests {
  private func places(_ change: (NSCompositeAttributeDescription) -> Void = { _ in }) throws -> TemporaryStore {
    try TemporaryStore(PlacesModel.make(change))
  }

  private func element(_ name: String, _ address: NSCompositeAttributeDescription) throws -> NSAttributeDescription {
    try #require(address.elements.first { $0.name == name })
  }

  // MARK: Values

  @Test func everyElementComesBackFromTheFileAsItWasSaved() throws {
    let store = try places()
    try store.save { context in
      context.make("Place", ["name": "full", "address": PlacesModel.full])
      context.make("Place", ["name": "none"])
    }
    try store.read { context in
      let place = try context.all("Place", sort: "name")[0]
      let address = try #require(place.value(forKey: "address") as? [String: Any])
      #expect(CompositeValue.isEqual(address, PlacesModel.full), "\(address)")
      #expect(place.value(forKey: "address") is NSDictionary)
      #expect(place.address("number") as? Int == 7 && place.address("isOpen") as? Bool == true)
      #expect(place.address("position.lat") as? Double == 41.5)
      #expect(place.address("key") as? UUID == PlacesModel.key)
      #expect(place.address("rent") as? NSDecimalNumber == NSDecimalNumber(string: "10.25"))
      #expect(place.address("tags") as? [String] == ["x", "y"])
      let empty = try context.all("Place", sort: "name")[1]
      #expect(empty.value(forKey: "address") == nil && empty.address("position.lat") == nil)
    }
  }

  @Test func aTextOfAnElementIsSavedInAnotherForm() throws {
    let store = try places()
    try store.save { $0.make("Place", ["name": "A", "address": ["city": "Orle\u{301}ans"]]) }
    try store.save { try $0.all("Place")[0].setValue(["city": "Orl\u{e9}ans"], forKey: "address") }
    try store.read { context in
      let city = try context.all("Place")[0].address("city") as? String
      #expect(city?.unicodeScalars.count == 7)
    }
  }

  @Test func eachElementHasAColumnOfItsTypeNamedAfterItsKeyPath() throws {
    let store = try places()
    try store.save { $0.make("Place", ["name": "A", "address": ["city": "Rome", "number": 7] as [String: Any]]) }
    try #expect(
      store.sql("SELECT ZADDRESS_CITY, ZADDRESS_NUMBER, ZADDRESS_POSITION_LAT FROM ZPLACE") == [["Rome", "7", nil]])
    let columns = try store.sql("SELECT name, type FROM pragma_table_info('ZPLACE') WHERE name LIKE 'ZADDRESS%'")
    #expect(columns.count == 12)
    #expect(columns.contains(["ZADDRESS_POSITION_LON", "FLOAT"]) && columns.contains(["ZADDRESS_SINCE", "TIMESTAMP"]))
    #expect(columns.contains(["ZADDRESS_RENT", "DECIMAL"]) && columns.contains(["ZADDRESS_TAGS", "BLOB"]))
  }

  @Test func elementsAreSetByKeyPath() throws {
    let store = try places()
    try store.save { context in
      let place = context.make("Place", ["name": "A"])
      let visitor = context.make("Visitor", ["home": place])
      place.setValue("Rome", forKeyPath: "address.city")
      visitor.setValue(3, forKeyPath: "home.address.position.lat")
      let address = try #require(place.value(forKey: "address") as? [String: Any])
      #expect(
        CompositeValue.isEqual(address, ["city": "Rome", "position": ["lat": 3.0]] as [String: Any]), "\(address)")
      place.setValue(nil, forKeyPath: "address.position.lat")
      #expect((place.value(forKey: "address") as? [String: Any])?.keys.sorted() == ["city"])
      context.make("Visitor").setValue("nobody's", forKeyPath: "home.address.city")
    }
    try #expect(store.sql("SELECT ZADDRESS_CITY FROM ZPLACE") == [["Rome"]])
  }

  @Test func aValueTakesTheTypesOfItsElements() throws {
    let store = try places()
    store.context().performAndWaitWith { context in
      let place = context.make(
        "Place", ["address": ["number": Int64(7), "share": 1, "rent": 2.5, "since": NSNull()] as [String: Any]])
      #expect(place.address("number") as? NSNumber == 7 && place.address("share") as? Float == 1)
      #expect(place.address("rent") is NSDecimalNumber && place.address("since") == nil)
      place.setValue(["city": nil as String?], forKey: "address")
      #expect(place.value(forKey: "address") == nil)
      place.setValue(["position": [:] as [String: Any]], forKey: "address")
      #expect(place.value(forKey: "address") == nil)
    }
  }

  @Test func whatIsNoElementOrNoValueOfItTraps() async {
    let unknown = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore(PlacesModel.make())
      store.context().performAndWaitWith { _ = $0.make("Place", ["address": ["street": "Via"]]) }
    }
    expectSentence(unknown, "Place.address", "a dictionary with values for its elements")
    let wrong = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore(PlacesModel.make())
      store.context().performAndWaitWith { _ = $0.make("Place", ["address": ["since": "yesterday"]]) }
    }
    expectSentence(wrong, "Place.address")
    let path = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore(PlacesModel.make())
      store.context().performAndWaitWith { $0.make("Place").setValue("Via", forKeyPath: "address.street") }
    }
    expectSentence(path, "address.street")
  }

  @Test func defaultsOfElementsAreThereInANewObject() throws {
    let store = try places { address in
      address.elements[0].defaultValue = "Rome"
      (address.elements.last as? NSCompositeAttributeDescription)?.elements[0].defaultValue = 1.5
    }
    try store.save { context in
      let place = context.make("Place")
      #expect(place.address("city") as? String == "Rome" && place.address("position.lat") as? Double == 1.5)
      #expect(place.address("number") == nil && place.changedValues().isEmpty)
    }
    try #expect(store.sql("SELECT ZADDRESS_CITY, ZADDRESS_POSITION_LAT FROM ZPLACE") == [["Rome", "1.5"]])
  }

  // MARK: Changes

  @Test func aChangeOfOneElementIsAChangeOfTheAttribute() throws {
    let store = try places()
    try store.save { $0.make("Place", ["name": "A", "address": PlacesModel.full]) }
    try store.read { context in
      let place = try context.all("Place")[0]
      place.setValue(place.value(forKey: "address"), forKey: "address")
      #expect(place.hasChanges && !place.hasPersistentChangedValues && place.changedValues().isEmpty)
      place.setValue("Bari", forKeyPath: "address.city")
      #expect(place.hasPersistentChangedValues && Array(place.changedValues().keys) == ["address"])
      #expect((place.changedValues()["address"] as? [String: Any])?["city"] as? String == "Bari")
      let committed = place.committedValues(forKeys: ["address"])["address"] as? [String: Any]
      #expect(committed?["city"] as? String == "Rome")
      try context.save()
      place.setValue(nil, forKey: "address")
      #expect(place.changedValues()["address"] is NSNull)
      context.rollback()
      #expect(place.address("city") as? String == "Bari" && place.address("number") as? Int == 7)
    }
    try #expect(store.sql("SELECT ZADDRESS_CITY, ZADDRESS_NUMBER, Z_OPT FROM ZPLACE") == [["Bari", "7", "2"]])
  }

  @Test func aMergeTakesTheAttributeAsAWhole() throws {
    let store = try places()
    try store.save { $0.make("Place", ["name": "A", "address": ["city": "Rome", "number": 1] as [String: Any]]) }
    let (mine, theirs) = (store.context(), store.context())
    let place = try mine.performAndWait {
      let place = try mine.all("Place")[0]
      place.setValue("Bari", forKeyPath: "address.city")
      return place.objectID
    }
    try theirs.performAndWait {
      let object = try theirs.existingObject(with: place)
      object.setValue(2, forKeyPath: "address.number")
      object.setValue("B", forKey: "name")
      try theirs.save()
    }
    try mine.performAndWait {
      expectError(133020) { try mine.save() }
      mine.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      try mine.save()
    }
    try #expect(store.sql("SELECT ZNAME, ZADDRESS_CITY, ZADDRESS_NUMBER FROM ZPLACE") == [["B", "Bari", "1"]])
  }

  @Test func aChildContextHasItAndUndoBringsItBack() throws {
    let store = try places()
    let parent = store.context()
    parent.undoManager = UndoManager()
    let child = parent.child()
    try child.performAndWait {
      child.make("Place", ["name": "A", "address": ["city": "Rome"]])
      try child.save()
    }
    try parent.performAndWait {
      let place = try parent.all("Place", where: "address.city == 'Rome'")[0]
      try parent.save()
      parent.undoManager?.removeAllActions()
      place.setValue("Bari", forKeyPath: "address.city")
      parent.processPendingChanges()
      parent.undo()
      #expect(place.address("city") as? String == "Rome" && !place.hasPersistentChangedValues)
    }
  }

  // MARK: Validation

  @Test func mandatoryElementsAreNeededWhereThereIsAnAddressAtAll() throws {
    let store = try places { $0.elements[0].isOptional = false }
    store.context().performAndWaitWith { context in
      let place = context.make("Place")
      #expect(throws: Never.self) { try place.validateForInsert() }
      place.setValue(["number": 1], forKey: "address")
      expectError(1570) { try context.save() }
      do { try place.validateForInsert() } catch let error as NSError {
        #expect(error.userInfo[NSValidationKeyErrorKey] as? String == "address.city")
      }
      place.setValue("Rome", forKeyPath: "address.city")
      #expect(throws: Never.self) { try context.save() }
    }
  }

  @Test func aMandatoryCompositeNeedsAnElementAndPredicatesOfElementsHold() throws {
    let store = try places { address in
      address.isOptional = false
      address.elements[1].setValidationPredicates(
        [NSPredicate(format: "SELF < 100")], withValidationWarnings: [NSNumber(value: 1610)])
      let position = address.elements.last as? NSCompositeAttributeDescription
      position?.elements[0].isOptional = false
    }
    store.context().performAndWaitWith { context in
      let place = context.make("Place")
      expectError(1570) { try context.save() }
      place.setValue([:] as [String: Any], forKey: "address")
      expectError(1570) { try context.save() }
      place.setValue(["number": 100], forKey: "address")
      expectError(1610) { try context.save() }
      place.setValue(["number": 100, "position": ["lon": 1.0]] as [String: Any], forKey: "address")
      expectError(1560) { try context.save() }
      place.setValue(["number": 99, "position": ["lat": 1.0]] as [String: Any], forKey: "address")
      #expect(throws: Never.self) { try context.save() }
    }
  }

  // MARK: Models

  @Test func elementsBelongToTheirEntityAndAreCopiedWithTheModel() throws {
    let store = try places()
    let address = try #require(store.model.entitiesByName["Place"]?.attributesByName["address"])
    let city = try #require((address as? NSCompositeAttributeDescription)?.elements.first)
    #expect(city.entity === store.model.entitiesByName["Place"])
    let copy = try #require(store.model.copy() as? NSManagedObjectModel)
    let copied = try #require(
      copy.entitiesByName["Place"]?.attributesByName["address"] as? NSCompositeAttributeDescription)
    #expect(copied.elements.map(\.name) == (address as? NSCompositeAttributeDescription)?.elements.map(\.name))
    #expect(copied.elements[0] !== city && copied.elements[0].entity === copy.entitiesByName["Place"])
    #expect(copy.versionChecksum == store.model.versionChecksum)
    copied.elements[0].isOptional = false
    #expect(copy.versionChecksum != store.model.versionChecksum)
  }

  @Test func elementsThatCannotBeKeptAreRefusedByName() throws {
    #expect(throws: (any Error).self) { try places { $0.elements = [] } }
    let error = #expect(throws: (any Error).self) {
      try places { $0.elements += [LibraryModel.attribute("owner", .objectIDAttributeType)] }
    }
    #expect(error.map { "\($0)" }?.contains("Place.owner") == true)
  }
}
