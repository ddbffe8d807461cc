import Testing

@testable import CoreData

/// Saves that several stores take part in, and results that are about several rows.
extension StoreConformanceTests {
  @Test(arguments: StoreKind.allCases, [true, false])
  func aSaveToTwoStoresIsInBothOrInNone(kind: StoreKind, isLast: Bool) throws {
    // Given a store of the kind, and one in memory, whose row another save has changed since it was read.
    let subject = try StoreSubject(kind)
    try subject.coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    let other = try #require(subject.coordinator.objectStores.last)
    var insertion = StoreSubject.changes
    insertion.inserted = [RowChanges.Insertion(key: -1, values: try subject.row("Tag", ["label": "a"]), members: [])]
    var inserted: [SavedRows] = []
    try subject.coordinator.save([(other, insertion)]) { inserted = $0 }
    let id = NSManagedObjectID(storedEntity: try #require(other.storedEntities.byName["Tag"]), key: inserted[0].keys[0])
    let row = try other.row(id, in: nil)
    let read = try #require(row)
    let changed = read.copy()
    try subject.set(["label": "b"], in: changed)
    var update = StoreSubject.changes
    update.updated = [
      RowChanges.Update(storedEntity: id.storedEntity, key: id.key, base: read, values: changed, members: [])
    ]
    try subject.coordinator.save([(other, update)]) { _ in }
    // When one save inserts into the one and changes the row in the other, then neither is written.
    let parts: [(store: any ObjectStore, rows: RowChanges)] = [(subject.store, insertion), (other, update)]
    #expect(throws: RowConflicts.self) {
      try subject.coordinator.save(isLast ? parts : parts.reversed()) { _ in Issue.record("Nothing was saved.") }
    }
    try #expect(subject.store.count(RowFetch(entityName: "Tag")) == 0)
    // And without the conflict both are.
    let (first, second) = (parts[0], (store: other, rows: insertion))
    try subject.coordinator.save(isLast ? [first, second] : [second, first]) { #expect($0.count == 2) }
    try #expect(subject.store.count(RowFetch(entityName: "Tag")) == 1 && other.count(RowFetch(entityName: "Tag")) == 2)
  }

  @Test(arguments: StoreKind.grouping)
  func groupsHaveTheAggregatesOfTheirRows(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    _ = try subject.insert("Book", (0..<6).map { ["title": "\($0)", "pages": $0 % 3, "rating": Double($0)] })
    let total = NSExpressionDescription()
    total.name = "total"
    total.expression = NSExpression(forFunction: "sum:", arguments: [NSExpression(forKeyPath: "rating")])
    total.expressionResultType = .doubleAttributeType
    var settings = FetchSettings()
    settings.propertiesToFetch = ["pages", total]
    settings.propertiesToGroupBy = ["pages"]
    settings.havingPredicate = NSPredicate(format: "pages > 0")
    let order = [NSSortDescriptor(key: "pages", ascending: false)]
    let rows = try subject.store.dictionaries(settings, RowFetch(entityName: "Book", sortDescriptors: order))
    #expect(rows == [["pages": 2, "total": 7.0], ["pages": 1, "total": 5.0]] as [NSDictionary])
  }

  /// An object without relationships stays a fault when it is deleted, and has the values that the fetch named.
  @Test(arguments: StoreKind.allCases)
  func anObjectOfWhichAFetchReadSomeValuesIsDeletedOnlyAsItWasRead(kind: StoreKind) throws {
    let entity = NSEntityDescription()
    entity.name = "Note"
    entity.properties = ["title", "text"].map { name in
      let attribute = NSAttributeDescription()
      (attribute.name, attribute.attributeType) = (name, .stringAttributeType)
      return attribute
    }
    let model = NSManagedObjectModel()
    model.entities = [entity]
    let stack = try StoreStack(kind, model)
    let id = try stack.perform { context in
      let note = context.make("Note", ["title": "a", "text": "b"])
      try context.save()
      return note.objectID
    }
    let context = stack.context()
    try context.performAndWait {
      // Given an object whose title was read
      let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
      request.propertiesToFetch = ["title"]
      let note = try #require(try context.fetch(request).first)
      #expect(note.value(forKey: "title") as? String == "a")
      context.delete(note)
      // When another context changes it and saves
      try stack.perform { other in
        try other.existingObject(with: id).setValue("c", forKey: "title")
        try other.save()
      }
      // Then it is not deleted.
      expectError(133020) { try context.save() }
    }
    try stack.perform { context in
      let count = try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Note"))
      #expect(count == 1)
    }
  }
}
