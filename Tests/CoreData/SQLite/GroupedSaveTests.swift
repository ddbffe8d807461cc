import CSQLite
import TestFiles
import Testing

@testable import CoreData

/// A save writes many rows with one statement, and leaves what a save row by row leaves.
@Suite struct GroupedSaveTests {
  @Test(
    arguments: 0..<tries(15, inDebug: 5),
    [
      NSMergePolicyType.errorMergePolicyType, .mergeByPropertyObjectTrumpMergePolicyType,
      .mergeByPropertyStoreTrumpMergePolicyType,
    ])
  func aRandomSaveInGroupsLeavesWhatASaveRowByRowLeaves(seed: Int, _ policy: NSMergePolicyType) throws {
    let inGroups = try RandomSaves(seed: seed, policy, WriteGroups())
    let rowByRow = try RandomSaves(seed: seed, policy, .rowByRow)

    try inGroups.run(saves: 8)
    try rowByRow.run(saves: 8)

    #expect(inGroups.outcomes == rowByRow.outcomes)
    let (left, right) = (try inGroups.content(), try rowByRow.content())
    #expect(left.keys == right.keys && left["ZBOOK"]?.isEmpty == false && left["ACHANGE"]?.isEmpty == false)
    for table in left.keys.sorted() { #expect(left[table] == right[table], "\(table)") }
    #expect(try inGroups.isIntact && rowByRow.isIntact)
  }

  @Test func theRandomSavesMeetConflictsAndDuplicates() throws {
    var outcomes: [String] = []
    for seed in 0..<10 {
      let saves = try RandomSaves(seed: seed, .errorMergePolicyType, WriteGroups())
      try saves.run(saves: 8)
      outcomes += saves.outcomes
    }
    // 133020: a row that the rival wrote. 133021: a title that another book has.
    for start in ["saved", "133020: [\"", "133021: [\""] {
      #expect(outcomes.count { $0.hasPrefix(start) } > 3, "\(start): \(outcomes)")
    }
  }

  @Test func manyRowsNeedFewStatements() throws {
    let store = try TemporaryStore()
    let context = store.context()
    try context.performAndWait {
      try context.save()
      let before = store.statementRuns
      let tags = (0..<640).map { context.make("Tag", ["label": "tag \($0)"]) }
      try context.save()
      #expect(store.statementRuns - before < 100, "640 inserts")

      let inserted = store.statementRuns
      for tag in tags { tag.setValue("another", forKey: "label") }
      try context.save()
      #expect(store.statementRuns - inserted < 120, "640 updates")

      let updated = store.statementRuns
      for tag in tags { context.delete(tag) }
      try context.save()
      #expect(store.statementRuns - updated < 80, "640 deletions")
    }
    try #expect(store.sql("SELECT count(*) FROM ZTAG") == [["0"]])
  }

  /// Both ends of a many-to-many relationship report a change: a book's and each tag's.
  @Test func aPairOfAJoinTableIsWrittenOnce() throws {
    let store = try TemporaryStore()
    let context = store.context()
    try context.performAndWait {
      let tags = (0..<64).map { context.make("Tag", ["label": "tag \($0)"]) }
      let book = context.make("Book", ["title": "a"])
      try context.save()
      func cost(of change: () -> Void) throws -> Int {
        change()
        let before = store.statementRuns
        try context.save()
        return store.statementRuns - before
      }
      // When 64 tags join the book and leave it, then beside their pairs only groups of changed rows are written.
      try #expect(cost { book.setValue(Set(tags), forKey: "tags") } < 64 + 30)
      try #expect(store.sql("SELECT Z_OPT FROM ZBOOK") == [["2"]])
      try #expect(store.sql("SELECT DISTINCT Z_OPT FROM ZTAG") == [["2"]])
      try store.read { context in try #expect(context.all("Book")[0].members("tags").count == 64) }
      try #expect(cost { book.setValue(NSSet(), forKey: "tags") } < 64 + 30)
      try store.read { context in try #expect(context.all("Book")[0].members("tags").isEmpty) }
      // A relationship of one entity with itself, which is ordered at one end: both ends of it are in one table.
      try #expect(cost { tags[0].setValue(NSOrderedSet(array: tags), forKey: "ordered") } < 128 + 40)
      try store.read { context in
        let first = context.object(with: tags[0].objectID)
        let ordered = (first.value(forKey: "ordered") as? NSOrderedSet)?.compactMap { $0 as? NSManagedObject } ?? []
        #expect(ordered.map { $0.text("label") } == (0..<64).map { "tag \($0)" })
        #expect(first.members("orderedBy").map(\.objectID) == [tags[0].objectID])
      }
    }
  }

  /// Context and rival, which writes one row of the group:
  ///
  ///     context                   | rival
  ///     --------------------------+-------------------------------
  ///     reads and changes 16 rows |
  ///                               | changes or deletes one of them
  ///     saves: error              |
  @Test(arguments: [false, true], [false, true])
  func aConflictInAGroupNamesItsRowAndNothingIsWritten(rivalDeletes: Bool, contextDeletes: Bool) throws {
    let store = try TemporaryStore()
    try store.save { context in for number in 0..<16 { context.make("Tag", ["label": "\(number)"]) } }
    let context = store.context()
    let rival = try store.otherCoordinator().context()
    try context.performAndWait {
      let tags = try context.all("Tag", sort: "label")
      for tag in tags { if contextDeletes { context.delete(tag) } else { tag.setValue("mine", forKey: "label") } }
      try rival.performAndWait {
        // The rival's row gets the version that the context would give it.
        let tag = try #require(try rival.all("Tag", where: "label == '7'").first)
        if rivalDeletes { rival.delete(tag) } else { tag.setValue("theirs", forKey: "label") }
        try rival.save()
      }
      if rivalDeletes && contextDeletes {
        // Both wanted the same.
        try context.save()
        try #expect(store.sql("SELECT count(*) FROM ZTAG") == [["0"]])
        return
      }
      #expect {
        try context.save()
      } throws: { error in
        let conflicts = (error as NSError).userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict]
        return conflicts?.map { $0.sourceObject.committedValues(forKeys: ["label"])["label"] as? String } == ["7"]
      }
      try #expect(store.sql("SELECT count(*) FROM ZTAG WHERE ZLABEL = 'mine'") == [["0"]])
      try #expect(store.sql("SELECT count(*) FROM ZTAG") == [[rivalDeletes ? "15" : "16"]])
    }
  }

  @Test func aDuplicateInAGroupNamesItsObjectAndTheOthersAreSavedWithoutIt() throws {
    let library = try UniqueLibrary()
    let context = library.context(.errorMergePolicyType)
    try context.performAndWait {
      let books = (0..<20).map { context.make("Book", ["title": "book \($0 == 13 ? 4 : $0)"]) }
      #expect {
        try context.save()
      } throws: { error in
        let conflicts = (error as NSError).userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSConstraintConflict]
        return conflicts?.map { Set($0.conflictingObjects) } == [[books[4], books[13]]]
      }
      try #expect(library.books().isEmpty)
      context.delete(books[13])
      try context.save()
      try #expect(library.books().count == 19)
    }
  }

  /// context                    | another program
  /// ---------------------------+--------------------------------------
  /// reads and deletes 16 books |
  ///                            | relates all books and tags, by SQL
  /// saves                      |
  @Test func aDeletionInAGroupTakesAlongTheJoinRowsThatTheContextDoesNotKnow() throws {
    let store = try TemporaryStore()
    try store.save { context in
      for number in 0..<20 { context.make("Book", ["title": "\(number)"]) }
      for number in 0..<3 { context.make("Tag", ["label": "\(number)"]) }
    }
    let join =
      try store.sql(
        "SELECT m.name, a.name, b.name FROM sqlite_master m, pragma_table_info(m.name) a, pragma_table_info(m.name) b "
          + "WHERE m.type = 'table' AND a.name LIKE '%BOOKS' AND b.name LIKE '%TAGS'"
      ).first?.compactMap(\.self) ?? []
    try #require(join.count == 3)
    let context = store.context()
    try context.performAndWait {
      for book in try context.all("Book", sort: "title").prefix(16) { context.delete(book) }
      // Delete rules read the members now, of which there are none yet.
      context.processPendingChanges()
      _ = try store.sql(
        "INSERT INTO \(join[0]) (\(join[1]), \(join[2])) SELECT b.Z_PK, t.Z_PK FROM ZBOOK b, ZTAG t")
      try context.save()
    }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK") == [["4"]])
    try #expect(store.sql("SELECT count(*) FROM \(join[0])") == [["12"]])
  }

  @Test func wideRowsAreUpdatedInGroupsToo() throws {
    let names = (0..<8).map { "a\($0)" }
    let model = NSManagedObjectModel()
    model.entities = [LibraryModel.entity("Wide", names.map { LibraryModel.attribute($0, .integer64AttributeType) })]
    let store = try TemporaryStore(model)
    let context = store.context()
    try context.performAndWait {
      let rows = (0..<160).map { context.make("Wide", ["a0": $0]) }
      try context.save()
      let before = store.statementRuns
      for (number, row) in rows.enumerated() {
        for (place, name) in names.enumerated() { row.setValue(number * 10 + place + 1, forKey: name) }
      }
      try context.save()
      #expect(store.statementRuns - before < 40, "160 updates of eight columns")
    }
    try #expect(store.sql("SELECT count(*) FROM ZWIDE WHERE ZA7 = ZA0 + 7 AND Z_OPT = 2") == [["160"]])
    try #expect(store.sql("SELECT count(*), sum(ZA0) FROM ZWIDE") == [["160", "127360"]])
  }

  @Test func aTriggerThatRunsBeforeInsertsHearsOfNoUpdate() throws {
    let store = try TemporaryStore()
    try store.save { context in for number in 0..<16 { context.make("Tag", ["label": "\(number)"]) } }
    for sql in [
      "CREATE TABLE heard (number)",
      "CREATE TRIGGER hear BEFORE INSERT ON ZTAG BEGIN INSERT INTO heard VALUES (NEW.Z_PK); END",
    ] { _ = try StoreFixtures.rows(sql, inFile: store.url) }
    try store.save { context in for tag in try context.all("Tag") { tag.setValue("new", forKey: "label") } }
    try #expect(store.sql("SELECT count(*) FROM ZTAG WHERE ZLABEL = 'new' AND Z_OPT = 2") == [["16"]])
    try #expect(store.sql("SELECT count(*) FROM heard") == [["0"]])
  }

  @Test func textsOfAGroupAreStoredWhateverTheirSize() throws {
    let store = try TemporaryStore()
    let texts = (0..<40).map { $0 % 4 == 0 ? "" : String(repeating: "äb\($0)", count: $0 * $0 * 10) }
    try store.save { context in for text in texts { context.make("Tag", ["label": text]) } }
    try #expect(store.sql("SELECT ZLABEL FROM ZTAG ORDER BY Z_PK").map(\.first) == texts)
    try store.save { context in
      for tag in try context.all("Tag") { tag.setValue("\(tag.text("label") ?? "")!", forKey: "label") }
    }
    try #expect(store.sql("SELECT ZLABEL FROM ZTAG ORDER BY Z_PK").map(\.first) == texts.map { $0 + "!" })
  }

  @Test func anEntityMayHaveMoreColumnsThanAWordHasBits() throws {
    let wide = LibraryModel.entity(
      "Wide", (0..<150).map { LibraryModel.attribute(String(format: "a%03d", $0), .integer64AttributeType) })
    let model = NSManagedObjectModel()
    model.entities = [wide]
    let store = try TemporaryStore(model)
    try store.save { context in for number in 0..<45 { context.make("Wide", ["a149": number, "a000": 1]) } }
    try store.save { context in
      for object in try context.all("Wide") {
        let number = object.value(forKey: "a149") as? Int ?? -1
        object.setValue(number, forKey: ["a063", "a064", "a127", "a128"][number % 4])
      }
    }
    let sums = "sum(ZA000), sum(ZA063), sum(ZA064), sum(ZA127), sum(ZA128), sum(ZA149), min(Z_OPT), max(Z_OPT)"
    var expected: [String?] = ["45"]
    for remainder in 0..<4 { expected.append("\(stride(from: remainder, to: 45, by: 4).reduce(0, +))") }
    expected += ["990", "2", "2"]
    let row = try store.sql("SELECT \(sums) FROM ZWIDE").first
    #expect(row == expected)
  }
}

extension TemporaryStore {
  private var sqliteStore: SQLiteStore? { coordinator.persistentStores.first as? SQLiteStore }

  /// The numbers of rows that a save writes with one statement.
  var writeGroups: WriteGroups {
    get { sqliteStore?.writeGroups ?? WriteGroups() }
    set { sqliteStore?.writeGroups = newValue }
  }

  /// How often the writer's statements have run.
  var statementRuns: Int {
    let runs = try? sqliteStore?.database.withWriter { connection in
      var runs = 0
      var statement = sqlite3_next_stmt(connection.handle, nil)
      while let current = statement {
        runs += Int(sqlite3_stmt_status(current, SQLITE_STMTSTATUS_RUN, 0))
        statement = sqlite3_next_stmt(connection.handle, current)
      }
      return runs
    }
    return runs ?? 0
  }
}
