import Testing

@testable import CoreData

/// What every store promises to coordinators and contexts.
///
/// A rule that a kind of store may leave out says so in `StoreKind`.
@Suite struct StoreConformanceTests {
  private static var byTitle: [NSSortDescriptor] { [NSSortDescriptor(key: "title", ascending: true)] }

  // MARK: Reading

  @Test(arguments: StoreKind.allCases)
  func rowsComeInOrderInsideTheirWindow(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    _ = try subject.insert("Book", ["c", "a", "d", "b"].map { ["title": $0] })
    var fetch = RowFetch(entityName: "Book", sortDescriptors: Self.byTitle)
    try #expect(subject.titles(fetch) == ["a", "b", "c", "d"])
    try #expect(subject.store.count(fetch) == 4)
    fetch.offset = 1
    fetch.limit = 2
    try #expect(subject.titles(fetch) == ["b", "c"])
    try #expect(subject.store.count(fetch) == 2)
    fetch.predicate = NSPredicate(format: "title > 'b'")
    try #expect(subject.titles(fetch) == ["d"])
  }

  @Test(arguments: StoreKind.allCases)
  func aFetchWithoutValuesGivesKeysAlone(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let keys = try subject.insert("Tag", [["label": "a"], ["label": "b"]])
    var found: [Int64] = []
    try subject.store.fetch(RowFetch(entityName: "Tag", includesValues: false)) { home, key, row in
      #expect(home.layout.name == "Tag" && row == nil)
      found.append(key)
    }
    #expect(Set(found) == Set(keys))
  }

  @Test(arguments: StoreKind.allCases)
  func rowsOfSubentitiesComeAsTheirOwnEntity(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let book = try subject.insert("Book", [["title": "one"]])
    let comic = try subject.insert("Comic", [["title": "two", "artist": "Ada"]])
    // Keys are unique in a hierarchy.
    #expect(Set(book + comic).count == 2)
    var names: [Int64: String] = [:]
    try subject.store.fetch(RowFetch(entityName: "Book")) { home, key, _ in names[key] = home.layout.name }
    #expect(names == [book[0]: "Book", comic[0]: "Comic"])
    try #expect(subject.store.count(RowFetch(entityName: "Book", includesSubentities: false)) == 1)
    try #expect(subject.text(subject.store.row(subject.id("Comic", comic[0]), in: nil), "artist") == "Ada")
  }

  @Test(arguments: StoreKind.allCases)
  func rowsThatAreNotThereAreLeftOut(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let keys = try subject.insert("Book", [["title": "a"], ["title": "b"]])
    try #expect(subject.store.row(subject.id("Book", 4711), in: nil) == nil)
    var found: [Int64: String?] = [:]
    try subject.store.rows(keys + [4711], of: subject.home("Book"), in: nil) { key, row in
      found[key] = try? subject.text(row, "title")
    }
    #expect(found == [keys[0]: "a", keys[1]: "b"])
  }

  @Test(arguments: StoreKind.allCases)
  func aPredicateThatTheStoreCannotEvaluateIsRefusedOrAnError(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let fetch = RowFetch(entityName: "Book", predicate: NSPredicate { _, _ in true })
    if try subject.store.understands(fetch) { expectError(134070) { try subject.titles(fetch) } }
    try #expect(subject.store.understands(RowFetch(entityName: "Book", predicate: NSPredicate(format: "pages > 1"))))
  }

  // MARK: Relationships

  @Test(arguments: StoreKind.allCases)
  func temporaryKeysOfOneSaveBecomePermanentWhereverTheyStand(kind: StoreKind) throws {
    // Given a new author, and a new book that refers to it by its temporary key.
    let subject = try StoreSubject(kind)
    var changes = StoreSubject.changes
    let book = try subject.row("Book", ["title": "one", "author": RelatedKey(key: -7, number: 0)])
    changes.inserted = [
      RowChanges.Insertion(key: -8, values: book, members: []),
      RowChanges.Insertion(key: -7, values: try subject.row("Author", ["name": "Ada"]), members: []),
    ]
    // When they are saved.
    let saved = try subject.save(changes)
    // Then the answer and the row name the permanent one.
    let author = RelatedKey(key: saved.keys[1], number: Int64(try subject.home("Author").number))
    #expect(saved.keys.allSatisfy { $0 > 0 } && saved.assigned[-7] == author)
    let row = try subject.store.row(subject.id("Book", saved.keys[0]), in: nil)
    try #expect(row?.version == 1 && subject.related(row, "author") == author)
  }

  @Test(arguments: StoreKind.allCases)
  func membersAreThoseWhoseToOneLeadsToTheOwner(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let authors = try subject.insert("Author", [["name": "Ada"], ["name": "Bob"], ["name": "none"]])
    let number = Int64(try subject.home("Author").number)
    let books = try subject.insert(
      "Book",
      [("a", 0), ("b", 1), ("c", 0)].map { title, owner in
        ["title": title, "author": RelatedKey(key: authors[owner], number: number)]
      })
    let relationship = try subject.relationship("Author", "books")
    var members: Set<Int64> = []
    try subject.store.members(of: subject.id("Author", authors[0]), relationship, in: nil) { _, key, _ in
      members.insert(key)
    }
    #expect(members == [books[0], books[2]])
    var byOwner: [Int64: Set<Int64>] = [:]
    try subject.store.members(ofEach: authors, subject.home("Author"), relationship, in: nil) { owner, _, key, _ in
      byOwner[owner, default: []].insert(key)
    }
    #expect(byOwner == [authors[0]: [books[0], books[2]], authors[1]: [books[1]]])
  }

  @Test(arguments: StoreKind.allCases)
  func orderedMembersKeepTheirOrder(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let tags = try subject.insert("Tag", ["owner", "a", "b", "c"].map { ["label": $0] })
    let relationship = try subject.relationship("Tag", "ordered")
    func change(_ change: MemberChange) throws {
      let row = try subject.store.row(subject.id("Tag", tags[0]), in: nil)
      var changes = StoreSubject.changes
      changes.updated = [
        RowChanges.Update(home: try subject.home("Tag"), key: tags[0], base: row, values: row, members: [change])
      ]
      try subject.save(changes)
    }
    func members() throws -> [Int64] {
      var members: [Int64] = []
      try subject.store.members(of: subject.id("Tag", tags[0]), relationship, in: nil) { _, key, _ in
        members.append(key)
      }
      return members
    }
    try change(MemberChange(relationship: relationship, added: [tags[3], tags[1]], order: [tags[3], tags[1]]))
    try #expect(members() == [tags[3], tags[1]])
    // Where the members were not read, new ones come behind.
    try change(MemberChange(relationship: relationship, added: [tags[2]], order: [tags[2]], isWhole: false))
    try #expect(members() == [tags[3], tags[1], tags[2]])
    try change(MemberChange(relationship: relationship, removed: [tags[3]], order: [tags[2], tags[1]]))
    try #expect(members() == [tags[2], tags[1]])
    // A change of members is a new version of the owner's row.
    try #expect(subject.store.row(subject.id("Tag", tags[0]), in: nil)?.version == 4)
  }

  // MARK: Keys

  @Test(arguments: StoreKind.allCases)
  func aReservedKeyIsGivenOnce(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let layout = try subject.home("Tag").layout
    let reserved = try subject.store.newIDs(for: [layout, layout])
    let others = try subject.insert("Tag", [["label": "other"]])
    #expect(Set(reserved.map(\.key) + others).count == 3)
    var changes = StoreSubject.changes
    let row = try subject.row("Tag", ["label": "reserved"])
    changes.inserted = [RowChanges.Insertion(key: reserved[1].key, values: row, members: [])]
    try #expect(subject.save(changes).keys == [reserved[1].key])
    try #expect(subject.text(subject.store.row(reserved[1], in: nil), "label") == "reserved")
    try #expect(subject.store.row(reserved[0], in: nil) == nil)
  }

  // MARK: Conflicts

  @Test(arguments: StoreKind.allCases)
  func aRowThatChangedSinceItWasReadIsAConflictAndNothingIsWritten(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let keys = try subject.insert("Book", ["a", "b", "c", "d"].map { ["title": $0] })
    let read = try keys.map { try subject.store.row(subject.id("Book", $0), in: nil) }
    for key in keys.prefix(3) { try subject.update("Book", key, ["pages": 9]) }
    // When a save changes the first row, deletes the second, relies on the third, and changes the fourth, which is as it was.
    var changes = StoreSubject.changes
    let home = try subject.home("Book")
    changes.updated = [
      try subject.update("Book", keys[3], from: read[3], ["title": "mine"]),
      try subject.update("Book", keys[0], from: read[0], ["title": "mine too"]),
    ]
    changes.deleted = [RowChanges.Deletion(home: home, key: keys[1], version: read[1]?.version)]
    changes.checked = [RowChanges.Check(home: home, key: keys[2], version: read[2]?.version)]
    // Then the three are named, with the rows as they are now.
    let found = #expect(throws: RowConflicts.self) { try subject.save(changes) }
    #expect(Set(found?.conflicts.map(\.place) ?? []) == [.updated(1), .deleted(0), .checked(0)])
    #expect(found?.store === subject.store && found?.conflicts.allSatisfy { $0.stored?.version == 2 } ?? false)
    try #expect(
      subject.titles(RowFetch(entityName: "Book", sortDescriptors: Self.byTitle)) == ["a", "b", "c", "d"])
  }

  @Test(arguments: StoreKind.allCases)
  func aDeletedRowIsAConflictForAChangeAndNoneForADeletion(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let key = try subject.insert("Book", [["title": "a"]])[0]
    let read = try subject.store.row(subject.id("Book", key), in: nil)
    var deletion = StoreSubject.changes
    deletion.deleted = [RowChanges.Deletion(home: try subject.home("Book"), key: key, version: read?.version)]
    try subject.save(deletion)
    try subject.save(deletion)
    var changes = StoreSubject.changes
    changes.updated = [try subject.update("Book", key, from: read, ["title": "b"])]
    let found = #expect(throws: RowConflicts.self) { try subject.save(changes) }
    #expect(found?.conflicts.count == 1 && found?.conflicts.first?.stored == nil)
  }

  @Test(arguments: StoreKind.allCases)
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

  @Test(arguments: StoreKind.allCases)
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

  @Test(arguments: StoreKind.allCases)
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

  // MARK: The store as a whole

  @Test(arguments: StoreKind.lasting)
  func whatWasSavedIsThereWhenTheStoreIsOpenedAgain(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let keys = try subject.insert("Tag", [["label": "a"]])
    subject.coordinator.setMetadata(["app": "mine"], for: subject.store)
    try subject.save(StoreSubject.changes)
    let again = try subject.openedAgain()
    #expect(again.store.identifier == subject.store.identifier)
    #expect(again.store.metadata["app"] as? String == "mine")
    try #expect(again.text(again.store.row(again.id("Tag", keys[0]), in: nil), "label") == "a")
    // Cached rows are given up once somebody else has written.
    let epoch = subject.store.rowCache.epoch
    subject.store.validateRowCache()
    #expect(subject.store.rowCache.epoch == epoch)
    try again.update("Tag", keys[0], ["label": "b"])
    subject.store.validateRowCache()
    #expect(subject.store.rowCache.epoch != epoch)
  }

  @Test(arguments: StoreKind.lasting)
  func aStoreIsOpenOnceInACoordinator(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    expectError(134080) {
      try subject.coordinator.addPersistentStore(
        ofType: kind.type, configurationName: nil, at: subject.store.url, options: nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func historyIsKeptWhereTheOptionsAskForIt(kind: StoreKind) throws {
    let without = try StoreSubject(kind)
    try #expect(!without.store.keepsHistory && without.store.lastTransactionNumber() == nil)
    let subject = try StoreSubject(kind, options: [NSPersistentHistoryTrackingKey: true])
    let key = try subject.insert("Tag", [["label": "a"]])[0]
    try subject.update("Tag", key, ["label": "b"])
    try #expect(subject.store.keepsHistory && subject.store.lastTransactionNumber() == 2)
    let query = HistoryQuery(place: .token(nil), includesChanges: true, changesAreAlone: false)
    let found = try subject.store.history(query)
    #expect(found.map { $0.changes?.map(\.changeType) } == [[.insert], [.update]])
    try #expect(subject.store.deleteHistory(before: .token(found[1].token)) == 1)
    try #expect(subject.store.history(query).count == 1)
  }
}
