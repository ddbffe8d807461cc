import Testing

@testable import CoreData

/// Elements of composite attributes in predicates, sort descriptors, dictionary results, batch requests, indexes and
/// history.
@Suite struct CompositeFetchTests {
  private func filled(
    options: [AnyHashable: Any]? = nil, _ change: (NSManagedObjectModel) -> Void = { _ in }
  ) throws -> TemporaryStore {
    let model = PlacesModel.make()
    change(model)
    let store = try TemporaryStore(model, options: options)
    try store.save { context in
      let rome = context.make(
        "Place", ["name": "A", "address": ["city": "Rome", "number": 3, "position": ["lat": 41.5]] as [String: Any]])
      let bari = context.make("Shop", ["name": "B", "address": ["city": "Bari", "number": 12] as [String: Any]])
      context.make("Place", ["name": "C"])
      context.make("Place", ["name": "D", "address": ["position": ["lat": 45.25, "lon": 9.0]]])
      context.make("Visitor", ["name": "V", "home": rome])
      context.make("Visitor", ["name": "W", "home": bari])
      context.make("Visitor", ["name": "X"])
    }
    return store
  }

  // MARK: Predicates and order

  @Test(
    "The file finds what memory finds",
    arguments: [
      ("address.city == 'Rome'", "A"), ("address.city BEGINSWITH[c] 'b'", "B"), ("address.number > 3", "B"),
      ("address.position.lat > 42", "D"), ("address.city == nil", "CD"), ("address.position == nil", "BC"),
      ("address == nil", "C"), ("address != nil", "ABD"), ("address.position.lon != nil", "D"),
      ("address.city.length == 4 AND address.number + 1 == 4", "A"), ("address.city IN {'Bari', 'Rome'}", "AB"),
      ("ANY guests.home.address.city == 'Bari'", "B"),
      ("SUBQUERY(guests, $g, $g.home.address.number < 5).@count > 0", "A"),
    ])
  func predicates(format: String, expected: String) throws {
    try filled().read { context in
      let names = try context.all("Place", where: format, sort: "name").compactMap { $0.text("name") }
      #expect(names.joined() == expected)
      let predicate = NSPredicate(format: format)
      let inMemory = try context.all("Place", sort: "name").filter { predicate.evaluate(with: $0) }
      #expect(inMemory.compactMap { $0.text("name") }.joined() == expected)
    }
  }

  @Test func placesAreSortedByAnElementInTheFileAndInMemory() throws {
    try filled().read { context in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Place")
      request.sortDescriptors = [
        NSSortDescriptor(key: "address.number", ascending: false), NSSortDescriptor(key: "name", ascending: true),
      ]
      let sorted = try context.fetch(request).compactMap { $0.text("name") }
      #expect(sorted == ["B", "A", "C", "D"])
      // An unsaved change makes the context sort in memory.
      try context.all("Place", where: "name == 'C'")[0].setValue(5, forKeyPath: "address.number")
      try #expect(context.fetch(request).compactMap { $0.text("name") } == ["B", "C", "A", "D"])
      let visitors = try context.all("Visitor", where: "home.address.city != nil", sort: "home.address.city")
      #expect(visitors.compactMap { $0.text("name") } == ["W", "V"])
    }
  }

  @Test func aWholeCompositeIsOnlyToldFromNilAndUnknownElementsAreErrors() throws {
    try filled().read { context in
      for format in ["address == 'Rome'", "address.street == 'Via'", "address.city.x == 1", "address.position > 1"] {
        #expect(throws: (any Error).self, "\(format)") { try context.all("Place", where: format) }
      }
    }
  }

  // MARK: Dictionaries

  private func rows(_ properties: [Any]?, _ entity: String = "Place") throws -> [[String: Any]] {
    try filled().read { context in
      let request = NSFetchRequest<NSDictionary>(entityName: entity)
      request.resultType = .dictionaryResultType
      request.propertiesToFetch = properties
      request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
      return try context.fetch(request).map { $0 as? [String: Any] ?? [:] }
    }
  }

  @Test func dictionariesHaveTheCompositeAsADictionaryAndElementsUnderTheirKeyPaths() throws {
    let all = try rows(nil)
    #expect(
      all.map { $0.keys.sorted() } == [["address", "name"], ["address", "name"], ["name"], ["address", "name"]])
    let address = all[0]["address"] as? [String: Any]
    #expect(CompositeValue.isEqual(address, ["city": "Rome", "number": 3, "position": ["lat": 41.5]] as [String: Any]))
    let some = try rows(["address.position", "address.city"])
    #expect(
      CompositeValue.isEqual(some[0]["address.position"], ["lat": 41.5]) && some[0]["address.city"] as? String == "Rome"
    )
    #expect(some[1]["address.position"] == nil && some[1]["address.city"] as? String == "Bari")
    let visitors = try rows(["name", "home.address"], "Visitor")
    #expect((visitors[1]["home.address"] as? [String: Any])?["city"] as? String == "Bari")
    #expect(visitors[2]["home.address"] == nil)
  }

  @Test func elementsCanBeAggregatedAndGroupedBy() throws {
    let sum = NSExpressionDescription()
    sum.name = "sum"
    sum.expression = CoreData.NSExpression(format: "sum:(address.number)")
    sum.expressionResultType = .integer64AttributeType
    let whole = NSExpressionDescription()
    whole.name = "whole"
    whole.expression = CoreData.NSExpression(forKeyPath: "address")
    try filled().read { context in
      let request = NSFetchRequest<NSDictionary>(entityName: "Place")
      request.resultType = .dictionaryResultType
      request.propertiesToFetch = [sum]
      try #expect(context.fetch(request).first?["sum"] as? Int == 15)
      request.propertiesToFetch = ["address.city", sum]
      request.propertiesToGroupBy = ["address.city"]
      request.sortDescriptors = [NSSortDescriptor(key: "address.city", ascending: true)]
      try #expect(context.fetch(request).map { $0["address.city"] as? String } == [nil, "Bari", "Rome"])
      request.propertiesToGroupBy = nil
      request.propertiesToFetch = [whole]
      try #expect((context.fetch(request).last?["whole"] as? [String: Any])?["city"] as? String == "Rome")
    }
  }

  // MARK: Batches

  @Test func batchesInsertAndUpdateCompositesAndTheirElements() throws {
    let store = try filled()
    try store.read { context in
      try context.execute(
        NSBatchInsertRequest(
          entityName: "Place", objects: [["name": "N", "address": ["city": "Pisa", "number": 1] as [String: Any]]]))
      let update = NSBatchUpdateRequest(entityName: "Place")
      update.predicate = NSPredicate(format: "address.city == 'Pisa'")
      update.propertiesToUpdate = [
        "address.number": CoreData.NSExpression(format: "address.number + 41"), "address.rent": 2.5,
        "address.position.lat": 1,
      ]
      try context.execute(update)
      let pisa = try context.all("Place", where: "name == 'N'")[0]
      #expect(pisa.address("number") as? Int == 42 && pisa.address("position.lat") as? Double == 1)
      #expect(pisa.address("rent") as? NSDecimalNumber == 2.5 && pisa.address("city") as? String == "Pisa")
      update.propertiesToUpdate = ["address": ["city": "Lucca"]]
      update.resultType = .updatedObjectsCountResultType
      try #expect((context.execute(update) as? NSBatchUpdateResult)?.result as? Int == 1)
      update.predicate = NSPredicate(format: "address.city == 'Lucca'")
      update.propertiesToUpdate = ["address.city": NSNull()]
      try #expect((context.execute(update) as? NSBatchUpdateResult)?.result as? Int == 1)
      for wrong: [AnyHashable: Any] in [["address.street": 1], ["address.since": "now"], ["address": 1]] {
        update.propertiesToUpdate = wrong
        #expect(throws: (any Error).self) { try context.execute(update) }
      }
      expectError(134070) {
        try context.execute(NSBatchInsertRequest(entityName: "Place", objects: [["address": ["street": "Via"]]]))
      }
    }
    try #expect(
      store.sql("SELECT ZADDRESS_CITY, ZADDRESS_NUMBER FROM ZPLACE WHERE ZNAME = 'N'") == [[nil, nil]])
  }

  // MARK: Constraints, indexes, history

  @Test func elementsCanBeUniqueAndIndexed() throws {
    let store = try filled { model in
      let place = model.entitiesByName["Place"]
      place?.uniquenessConstraints = [["address.city"]]
      place?.compoundIndexes = [["address.number", "name"]]
    }
    let indexes = try store.sql("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql LIKE '%ADDRESS%'")
    #expect(indexes.contains { $0[0]?.contains("UNIQUE") == true && $0[0]?.contains("(ZADDRESS_CITY COLLATE") == true })
    #expect(indexes.contains { $0[0]?.contains("(ZADDRESS_NUMBER COLLATE BINARY ASC, ZNAME") == true })
    try store.read { context in
      let second = context.make("Place", ["name": "2", "address": ["city": "Rome"]])
      do {
        try context.save()
        Issue.record("The second Rome was saved.")
      } catch let error as NSError {
        #expect(error.code == 133021)
        let conflicts = error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSConstraintConflict]
        #expect(conflicts?.first?.constraintValues["address.city"] as? String == "Rome")
        #expect(
          conflicts?.first?.databaseObject?.text("name") == "A" && conflicts?.first?.conflictingObjects == [second])
      }
      context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      try context.save()
      try #expect(context.all("Place", where: "address.city == 'Rome'").map { $0.text("name") } == ["2"])
    }
  }

  @Test func historyNamesTheCompositeAndKeepsItsValue() throws {
    let store = try filled(options: [NSPersistentHistoryTrackingKey: true]) { model in
      model.entitiesByName["Place"]?.attributesByName["address"]?.preservesValueInHistoryOnDeletion = true
    }
    try store.save { try $0.all("Place", where: "name == 'A'")[0].setValue("Bari", forKeyPath: "address.city") }
    try store.save { context in try context.delete(context.all("Place", where: "name == 'A'")[0]) }
    try store.read { context in
      let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
      let result = try context.execute(request) as? NSPersistentHistoryResult
      let changes = try #require(result?.result as? [NSPersistentHistoryTransaction]).flatMap { $0.changes ?? [] }
      let update = try #require(changes.first { $0.changeType == .update })
      #expect(update.updatedProperties?.map(\.name) == ["address"])
      let tombstone = try #require(changes.first { $0.changeType == .delete }?.tombstone)
      #expect(
        CompositeValue.isEqual(
          tombstone["address"], ["city": "Bari", "number": 3, "position": ["lat": 41.5]] as [String: Any]),
        "\(tombstone)")
    }
  }
}
