import Testing

@testable import CoreData

/// What every store promises to coordinators and contexts.
///
/// A rule that a kind of store may leave out says so in `StoreKind`.
@Suite struct StoreConformanceTests {
  static var byTitle: [NSSortDescriptor] { [NSSortDescriptor(key: "title", ascending: true)] }

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
    var fetchedKeys: [Int64] = []
    try subject.store.fetch(RowFetch(entityName: "Tag", includesValues: false)) { storedEntity, key, row in
      #expect(storedEntity.layout.name == "Tag" && row == nil)
      fetchedKeys.append(key)
    }
    #expect(Set(fetchedKeys) == Set(keys))
  }

  /// A row may be of an entity that another program has added meanwhile: its number is beyond those of the model.
  @Test(arguments: StoreKind.allCases)
  func anUnknownEntitysNumberIsNoEntity(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let tag = try subject.storedEntity("Tag")
    let storedEntities = subject.store.storedEntities
    #expect(
      storedEntities[tag.number] === tag && storedEntities[-1] == nil && storedEntities[1000] == nil
        && storedEntities[.max] == nil)
  }

  @Test(arguments: StoreKind.allCases)
  func rowsOfSubentitiesComeAsTheirOwnEntity(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let book = try subject.insert("Book", [["title": "one"]])
    let comic = try subject.insert("Comic", [["title": "two", "artist": "Ada"]])
    // Keys are unique in a hierarchy.
    #expect(Set(book + comic).count == 2)
    var names: [Int64: String] = [:]
    try subject.store.fetch(RowFetch(entityName: "Book")) { storedEntity, key, _ in
      names[key] = storedEntity.layout.name
    }
    #expect(names == [book[0]: "Book", comic[0]: "Comic"])
    try #expect(subject.store.count(RowFetch(entityName: "Book", includesSubentities: false)) == 1)
    try #expect(subject.text(subject.store.row(subject.id("Comic", comic[0]), in: nil), "artist") == "Ada")
  }

  @Test(arguments: StoreKind.allCases)
  func rowsThatAreNotThereAreLeftOut(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let keys = try subject.insert("Book", [["title": "a"], ["title": "b"]])
    try #expect(subject.store.row(subject.id("Book", 4711), in: nil) == nil)
    var titlesByKey: [Int64: String?] = [:]
    try subject.store.rows(keys + [4711], of: subject.storedEntity("Book"), in: nil) { key, row in
      titlesByKey[key] = try? subject.text(row, "title")
    }
    #expect(titlesByKey == [keys[0]: "a", keys[1]: "b"])
  }

  @Test(arguments: StoreKind.allCases)
  func dictionariesHaveTheColumnsThatAreAskedForAndNoNil(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    _ = try subject.insert("Book", [["title": "a", "pages": 3, "rating": 1.5], ["title": "b", "pages": 4]])
    var settings = FetchSettings()
    settings.propertiesToFetch = ["title", "pages", "rating"]
    let fetch = RowFetch(entityName: "Book", sortDescriptors: Self.byTitle)
    let rows = try subject.store.dictionaries(settings, fetch)
    #expect(rows == [["title": "a", "pages": 3, "rating": 1.5], ["title": "b", "pages": 4]] as [NSDictionary])
  }

  @Test(arguments: StoreKind.allCases)
  func aPredicateThatTheStoreCannotEvaluateIsRefusedOrAnError(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let fetch = RowFetch(entityName: "Book", predicate: NSPredicate { _, _ in true })
    if kind.runsCode {
      try #expect(subject.titles(fetch).isEmpty)
    } else if try subject.store.understands(fetch) {
      expectError(134070) { try subject.titles(fetch) }
    }
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
    let author = RelatedKey(key: saved.keys[1], number: Int64(try subject.storedEntity("Author").number))
    #expect(saved.keys.allSatisfy { $0 > 0 } && saved.assigned[-7] == author)
    let row = try subject.store.row(subject.id("Book", saved.keys[0]), in: nil)
    #expect(saved.insertedVersions.isEmpty == kind.countsVersions)
    try #expect(row?.version == saved.insertedVersions.first ?? 1 && subject.related(row, "author") == author)
  }

  @Test(arguments: StoreKind.allCases)
  func membersAreThoseWhoseToOneLeadsToTheOwner(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let authors = try subject.insert("Author", [["name": "Ada"], ["name": "Bob"], ["name": "none"]])
    let number = Int64(try subject.storedEntity("Author").number)
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
    try subject.store.members(ofEach: authors, subject.storedEntity("Author"), relationship, in: nil) {
      owner, _, key, _ in
      byOwner[owner, default: []].insert(key)
    }
    #expect(byOwner == [authors[0]: [books[0], books[2]], authors[1]: [books[1]]])
  }

  @Test(arguments: StoreKind.allCases)
  func orderedMembersKeepTheirOrder(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let tags = try subject.insert("Tag", ["owner", "a", "b", "c"].map { ["label": $0] })
    let relationship = try subject.relationship("Tag", "ordered")
    let first = try subject.store.row(subject.id("Tag", tags[0]), in: nil)
    func change(_ change: MemberChange) throws {
      let row = try subject.store.row(subject.id("Tag", tags[0]), in: nil)
      var changes = StoreSubject.changes
      changes.updated = [
        RowChanges.Update(
          storedEntity: try subject.storedEntity("Tag"), key: tags[0], base: row, values: row, members: [change])
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
    try #expect(subject.store.row(subject.id("Tag", tags[0]), in: nil)?.version == #require(first).version + 3)
  }

  // MARK: Keys

  @Test(arguments: StoreKind.allCases)
  func aReservedKeyIsGivenOnce(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    let rows = try ["one", "two"].map { try subject.row("Tag", ["label": $0]) }
    let reserved = try subject.store.newIDs(for: rows)
    let others = try subject.insert("Tag", [["label": "other"]])
    #expect(Set(reserved.map(\.key) + others).count == 3)
    var changes = StoreSubject.changes
    let row = try subject.row("Tag", ["label": "reserved"])
    changes.inserted = [RowChanges.Insertion(key: reserved[1].key, values: row, members: [])]
    try #expect(subject.save(changes).keys == [reserved[1].key])
    try #expect(subject.text(subject.store.row(reserved[1], in: nil), "label") == "reserved")
    try #expect(subject.store.row(reserved[0], in: nil) == nil)
  }
}
