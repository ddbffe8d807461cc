import Testing

@testable import CoreData

/// Conflicts, transactions and batches.
extension StoreConformanceTests {
  @Test(arguments: StoreKind.allCases)
  func aRowThatChangedSinceItWasReadIsAConflictAndNothingIsWritten(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let keys = try subject.insert("Book", ["a", "b", "c", "d"].map { ["title": $0] })
    let read = try keys.map { try subject.store.row(subject.id("Book", $0), in: nil) }
    for key in keys.prefix(3) { try subject.update("Book", key, ["pages": 9]) }
    // When a save changes the first row, deletes the second, relies on the third, and changes the fourth, which is as
    // it was.
    var changes = StoreSubject.changes
    let storedEntity = try subject.storedEntity("Book")
    changes.updated = [
      try subject.update("Book", keys[3], from: read[3], ["title": "mine"]),
      try subject.update("Book", keys[0], from: read[0], ["title": "mine too"]),
    ]
    changes.deleted = [RowChanges.Deletion(storedEntity: storedEntity, key: keys[1], version: read[1]?.version)]
    // Of the second check it is enough that the row is there.
    changes.checked = [false, true].map { mayHaveChanged in
      RowChanges.Check(
        storedEntity: storedEntity, key: keys[2], version: read[2]?.version, mayHaveChanged: mayHaveChanged)
    }
    // Then the three are named, with the rows as they are now.
    let error = #expect(throws: RowConflicts.self) { try subject.save(changes) }
    #expect(Set(error?.conflicts.map(\.place) ?? []) == [.updated(1), .deleted(0), .checked(0)])
    let version = try #require(read[0]).version + 1
    #expect(error?.store === subject.store && error?.conflicts.allSatisfy { $0.stored?.version == version } ?? false)
    try #expect(
      subject.titles(RowFetch(entityName: "Book", sortDescriptors: Self.byTitle)) == ["a", "b", "c", "d"])
  }

  @Test(arguments: StoreKind.allCases)
  func aDeletedRowIsAConflictForAChangeAndNoneForADeletion(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let key = try subject.insert("Book", [["title": "a"]])[0]
    let read = try subject.store.row(subject.id("Book", key), in: nil)
    var deletion = StoreSubject.changes
    deletion.deleted = [
      RowChanges.Deletion(storedEntity: try subject.storedEntity("Book"), key: key, version: read?.version)
    ]
    try subject.save(deletion)
    try subject.save(deletion)
    var changes = StoreSubject.changes
    changes.updated = [try subject.update("Book", key, from: read, ["title": "b"])]
    let error = #expect(throws: RowConflicts.self) { try subject.save(changes) }
    #expect(error?.conflicts.count == 1 && error?.conflicts.first?.stored == nil)
  }

  @Test(arguments: StoreKind.constrained)
  func aUniqueValueThatAnotherRowHasIsRefused(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let keys = try subject.insert("Book", [["title": "taken"], ["title": "free"]])
    var changes = StoreSubject.changes
    let read = try subject.store.row(subject.id("Book", keys[1]), in: nil)
    changes.updated = [try subject.update("Book", keys[1], from: read, ["title": "taken"])]
    changes.inserted = [
      RowChanges.Insertion(key: -1, values: try subject.row("Book", ["title": "new"]), members: [])
    ]
    // Then the rejected row is named, and the row that has the value.
    let rejected = try #require(#expect(throws: RejectedRows.self) { try subject.save(changes) })
    #expect(rejected.places == [.updated(0)] && !rejected.message.isEmpty)
    let violations = try subject.store.violations(of: rejected.places, in: changes)
    #expect(violations.count == 1 && violations[0].names == ["title"] && violations[0].rivals == [.updated(0)])
    try #expect(violations[0].stored?.id == subject.id("Book", keys[0]))
    try #expect(subject.store.count(RowFetch(entityName: "Book")) == 2)
  }

  @Test(arguments: StoreKind.constrained)
  func twoRowsMayExchangeTheirUniqueValues(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let keys = try subject.insert("Book", [["title": "a"], ["title": "b"]])
    var changes = StoreSubject.changes
    changes.updated = try zip(keys, ["b", "a"]).map { key, title in
      try subject.update("Book", key, from: subject.store.row(subject.id("Book", key), in: nil), ["title": title])
    }
    try #expect(subject.save(changes).versions == [2, 2])
    try #expect(
      keys.map { try subject.text(subject.store.row(subject.id("Book", $0), in: nil), "title") } == ["b", "a"])
  }

  // MARK: Transactions

  @Test(arguments: StoreKind.rollingBack)
  func anErrorInATransactionTakesItBack(kind: StoreKind) throws {
    struct Stop: Error {}
    let subject = try StoreSubject(kind)
    var changes = StoreSubject.changes
    changes.inserted = [RowChanges.Insertion(key: -1, values: try subject.row("Tag", ["label": "a"]), members: [])]
    #expect(throws: Stop.self) {
      try subject.store.writeScope.transaction("Saving") {
        _ = try subject.store.write(changes)
        throw Stop()
      }
    }
    try #expect(subject.store.count(RowFetch(entityName: "Tag")) == 0)
  }

  @Test(arguments: StoreKind.allCases)
  func aPinnedStateStaysAsItWas(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let key = try subject.insert("Book", [["title": "before"]])[0]
    let generation = try QueryGeneration([subject.store], of: subject.coordinator)
    try subject.update("Book", key, ["title": "after"])
    #expect((generation.pinned(subject.store) != nil) == kind.canBePinned)
    let seen = try subject.text(subject.store.row(subject.id("Book", key), in: generation), "title")
    #expect(seen == (kind.canBePinned ? "before" : "after"))
    try #expect(subject.text(subject.store.row(subject.id("Book", key), in: nil), "title") == "after")
  }

  // MARK: Batches

  /// Rows of books with these titles and 100 pages.
  private static func books(_ titles: [String], _ onDuplicate: BatchRows.OnDuplicate) -> BatchRows {
    var remainingTitles = titles[...]
    return BatchRows(entityName: "Book", onDuplicate: onDuplicate, keepsIDs: true) { row, named in
      guard let title = remainingTitles.popFirst() else { return false }
      for (name, value) in [("title", title), ("pages", 100)] as [(String, Any)] {
        guard let slot = row.layout.slot(name), row.assignConverted(value, slot: slot) else { continue }
        named[slot] = true
      }
      return true
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aBatchInsertionDoesWithDuplicatesAsItIsTold(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    try #require((subject.store is any BatchStore) == kind.takesBatchRequests)
    guard kind.takesBatchRequests else { return }
    let origin = StoreSubject.changes.origin
    let key = try subject.insert("Book", [["title": "old", "pages": 1]])[0]
    func pages() throws -> Int? {
      let storedRow = try subject.store.row(subject.id("Book", key), in: nil)
      let row = try #require(storedRow)
      return row.value(try #require(row.layout.slot("pages"))) as? Int
    }
    expectError(133021) { try subject.batches().insert(Self.books(["new", "old"], .fail), by: origin) }
    try #expect(subject.store.count(RowFetch(entityName: "Book")) == 1)
    let skipped = try subject.batches().insert(Self.books(["one", "old"], .skip), by: origin)
    try #expect(skipped.count == 1 && skipped.ids.count == 1 && pages() == 1)
    let updated = try subject.batches().insert(Self.books(["two", "old"], .update), by: origin)
    try #expect(updated.ids.map(\.key).contains(key) && updated.count == 2 && pages() == 100)
    try #expect(subject.store.count(RowFetch(entityName: "Book")) == 3)
  }

  @Test(arguments: StoreKind.batching)
  func batchesUpdateAndDeleteWhatMatches(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let origin = StoreSubject.changes.origin
    let keys = try subject.insert("Book", ["a", "b", "c"].map { ["title": $0] })
    subject.store.rowCache.add(
      [(keys[0], try subject.storedEntity("Book").table, try subject.row("Book", ["title": "cached"]))],
      since: subject.store.rowCache.epoch)
    let request = NSBatchUpdateRequest(entityName: "Book")
    request.predicate = NSPredicate(format: "title < 'c'")
    request.propertiesToUpdate = ["pages": 7]
    request.resultType = .updatedObjectIDsResultType
    let updated = try subject.batches().update(request, of: "Book", by: origin)
    #expect(Set(updated.ids.map(\.key)) == Set(keys.prefix(2)))
    // Nothing that was read before counts as known.
    try #expect(subject.store.rowCache.find(keys[0], subject.storedEntity("Book").table) == nil)
    let fetch = RowFetch(entityName: "Book", predicate: NSPredicate(format: "pages == 7"))
    try #expect(subject.batches().delete(fetch, by: origin).count == 2)
    try #expect(subject.titles(RowFetch(entityName: "Book")) == ["c"])
  }

  @Test(arguments: StoreKind.batching)
  func aBatchUpdatesNoMoreRowsThanItsLimit(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    _ = try subject.insert("Book", ["a", "b", "c", "d"].map { ["title": $0] })
    let request = NSBatchUpdateRequest(entityName: "Book")
    request.propertiesToUpdate = ["pages": 7]
    request.resultType = .updatedObjectIDsResultType
    (request.limit, request.order) = (2, [NSSortDescriptor(key: "title", ascending: false)])
    // All rows, then those that match.
    for (predicate, titles) in [(nil, ["c", "d"]), (NSPredicate(format: "pages != 7"), ["a", "b", "c", "d"])] {
      request.predicate = predicate
      try #expect(subject.batches().update(request, of: "Book", by: StoreSubject.changes.origin).ids.count == 2)
      let changed = RowFetch(entityName: "Book", predicate: NSPredicate(format: "pages == 7"))
      try #expect(Set(subject.titles(changed)) == Set(titles))
    }
  }
}
