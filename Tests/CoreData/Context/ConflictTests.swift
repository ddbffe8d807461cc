import CoreData
import Testing

@Suite struct ConflictTests {
  /// Two stacks on one file, like those of two processes.
  private final class Rivals {
    let store: TemporaryStore
    let other: NSPersistentStoreCoordinator
    let id: NSManagedObjectID
    let otherID: NSManagedObjectID

    init() throws {
      store = try TemporaryStore()
      id = try store.save { $0.make("Book", ["title": "One", "pages": 1]) }.objectID
      other = try store.otherCoordinator()
      otherID = try #require(other.managedObjectID(forURIRepresentation: id.uriRepresentation()))
    }

    /// A save by the other stack.
    func otherSaves(_ body: (NSManagedObject) -> Void) throws {
      let context = other.context()
      try context.performAndWait {
        body(context.object(with: otherID))
        try context.save()
      }
    }

    func row() throws -> [String?] { try store.sql("SELECT ZTITLE, ZPAGES, Z_OPT FROM ZBOOK").first ?? [] }
  }

  /// Another program may have written any number.
  @Test func theVersionAfterTheLargestNumberIsTheFirst() throws {
    let rivals = try Rivals()
    _ = try rivals.store.sql("UPDATE ZBOOK SET Z_OPT = \(Int64.max)")
    try rivals.otherSaves { $0.setValue("again", forKey: "title") }
    #expect(try rivals.row() == ["again", "1", "1"])
  }

  @Test func aSaveOverAnotherProcessesSaveIsAConflict() throws {
    let rivals = try Rivals()
    try rivals.store.read { context in
      // this process | other process
      // -------------+--------------
      // reads        |
      //              | saves
      // saves: error |
      let book = context.object(with: rivals.id)
      book.setValue("mine", forKey: "title")
      context.make("Book", ["title": "new"])
      try rivals.otherSaves { $0.setValue("theirs", forKey: "title") }
      #expect {
        try context.save()
      } throws: { error in
        let error = error as NSError
        let conflict = (error.userInfo["conflictList"] as? [NSMergeConflict])?.first
        return error.domain == NSCocoaErrorDomain && error.code == 133020 && conflict?.sourceObject === book
          && conflict?.objectSnapshot?["title"] as? String == "One"
          && conflict?.persistedSnapshot?["title"] as? String == "theirs"
          && conflict?.persistedSnapshot?["author"] is NSNull
          && conflict?.oldVersionNumber == 1 && conflict?.newVersionNumber == 2
      }
      // Nothing changed: nothing is written, IDs are temporary, changes are pending.
      #expect(book.isUpdated && book.text("title") == "mine")
      let new = try #require(context.insertedObjects.first)
      #expect(context.insertedObjects.count == 1 && new.objectID.isTemporaryID)
      try #expect(rivals.store.sql("SELECT count(*) FROM ZBOOK") == [["1"]])
      // Do as the error suggests: refresh and save again.
      context.refresh(book, mergeChanges: true)
      try context.save()
    }
    try #expect(rivals.row() == ["mine", "1", "3"])
    try #expect(rivals.store.sql("SELECT count(*) FROM ZBOOK") == [["2"]])
  }

  @Test func snapshotsOfAConflictHaveAttributesAndIDsButNoToManys() throws {
    let rivals = try Rivals()
    let author = try rivals.store.save { context in
      let author = context.make("Author", ["name": "Ada"])
      context.object(with: rivals.id).setValue(author, forKey: "author")
      return author
    }.objectID
    try rivals.store.read { context in
      context.object(with: rivals.id).setValue("mine", forKey: "title")
      try rivals.otherSaves { $0.setValue("theirs", forKey: "title") }
      let error = #expect(throws: NSError.self) { try context.save() }
      let conflicts = error?.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict]
      let conflict = try #require(conflicts?.first)
      // The conflict is between the coordinator's cache and the file, so it has both rows.
      let snapshots = [conflict.objectSnapshot, conflict.cachedSnapshot, conflict.persistedSnapshot]
      #expect(snapshots.map { $0?["title"] as? String } == ["One", "One", "theirs"])
      for case let snapshot? in snapshots {
        #expect(snapshot["author"] as? NSManagedObjectID == author && snapshot["pages"] as? Int == 1)
        #expect(snapshot["rating"] is NSNull && snapshot["tags"] == nil)
      }
    }
  }

  @Test(arguments: [
    (NSMergePolicyType.mergeByPropertyObjectTrumpMergePolicyType, ["mine", "7", "3"]),
    (.mergeByPropertyStoreTrumpMergePolicyType, ["theirs", "7", "3"]),
    (.overwriteMergePolicyType, ["mine", "1", "3"]),
    (.rollbackMergePolicyType, ["theirs", "7", "2"]),
  ])
  func policiesResolveAConflict(_ policy: NSMergePolicyType, _ expected: [String]) throws {
    let rivals = try Rivals()
    try rivals.store.read { context in
      context.mergePolicy = NSMergePolicy(merge: policy)
      let book = context.object(with: rivals.id)
      book.setValue("mine", forKey: "title")
      book.setValue(4.5, forKey: "rating")
      try rivals.otherSaves {
        $0.setValue("theirs", forKey: "title")
        $0.setValue(7, forKey: "pages")
      }
      try context.save()
      #expect(!context.hasChanges && !book.hasChanges)
      #expect(book.text("title") == expected[0])
      #expect(book.value(forKey: "pages") as? Int == Int(expected[1]))
      // The object has the row's version now, so it can be saved again at once.
      book.setValue("again", forKey: "title")
      context.mergePolicy = NSErrorMergePolicy
      try context.save()
    }
    try #expect(rivals.row()[0] == "again")
    let version = try #require(Int(expected[2]))
    try #expect(rivals.row() == ["again", expected[1], "\(version + 1)"])
  }

  /// A changed row could be merged with, a deleted one could not.
  @Test func aSaveThatOneConflictFailsLeavesTheOthersUnresolved() throws {
    let store = try TemporaryStore()
    let ids = try store.save { context in ["a", "b"].map { context.make("Book", ["title": $0]) } }.map(\.objectID)
    try store.read { context in
      context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      let books = try ids.map { try context.existingObject(with: $0) }
      for book in books { book.setValue("mine", forKey: "title") }
      try store.save { other in
        other.object(with: ids[0]).setValue(7, forKey: "pages")
        other.delete(other.object(with: ids[1]))
      }
      let log = NotificationLog(context)
      #expect { try context.save() } throws: { ($0 as NSError).code == 133020 }
      #expect(context.updatedObjects == Set(books) && books[0].value(forKey: "pages") as? Int == 0)
      context.processPendingChanges()
      #expect(log.objects(.NSManagedObjectContextObjectsDidChange, NSRefreshedObjectsKey).isEmpty)
    }
  }

  @Test(arguments: [NSMergePolicyType.errorMergePolicyType, .mergeByPropertyObjectTrumpMergePolicyType])
  func aRowThatWasDeletedMeanwhileIsAConflictOfVersionZero(_ policy: NSMergePolicyType) throws {
    let rivals = try Rivals()
    try rivals.store.read { context in
      context.mergePolicy = NSMergePolicy(merge: policy)
      let book = context.object(with: rivals.id)
      book.setValue("mine", forKey: "title")
      let deleter = rivals.other.context()
      try deleter.performAndWait {
        deleter.delete(deleter.object(with: rivals.otherID))
        try deleter.save()
      }
      #expect {
        try context.save()
      } throws: { error in
        let conflict = ((error as NSError).userInfo["conflictList"] as? [NSMergeConflict])?.first
        return (error as NSError).code == 133020 && conflict?.newVersionNumber == 0
          && conflict?.persistedSnapshot == nil
      }
      context.mergePolicy = NSMergePolicy.rollback
      try context.save()
      #expect(!context.hasChanges && book.managedObjectContext == nil)
    }
  }

  @Test func deletingWhatAnotherChangedIsAConflictAndWhatIsGoneIsNone() throws {
    let rivals = try Rivals()
    try rivals.store.read { context in
      let book = try context.existingObject(with: rivals.id)
      context.delete(book)
      try rivals.otherSaves { $0.setValue("theirs", forKey: "title") }
      #expect { try context.save() } throws: { ($0 as NSError).code == 133020 }
      context.rollback()
      context.refresh(book, mergeChanges: false)
      #expect(book.text("title") == "theirs")
      context.delete(book)
      let other = rivals.other.context()
      try other.performAndWait {
        other.delete(other.object(with: rivals.otherID))
        try other.save()
      }
      try context.save()
      #expect(!context.hasChanges)
    }
    try #expect(rivals.store.sql("SELECT count(*) FROM ZBOOK") == [["0"]])
  }

  /// A context that was reset, or a new one, sees the current file whatever rows are cached. Jobs rely on it.
  @Test func aContextThatWasResetSeesWhatAnotherProcessWrote() throws {
    let rivals = try Rivals()
    let context = rivals.store.context()
    context.performAndWait { #expect(context.object(with: rivals.id).text("title") == "One") }
    for number in 0..<5 {
      try rivals.otherSaves { $0.setValue("theirs \(number)", forKey: "title") }
      context.performAndWait {
        context.reset()
        #expect(context.object(with: rivals.id).text("title") == "theirs \(number)")
      }
    }
    try rivals.store.read { #expect($0.object(with: rivals.id).text("title") == "theirs 4") }
  }

  @Test @MainActor func eachBlockOfTheMainContextSeesTheFileToo() throws {
    let rivals = try Rivals()
    let context = NSManagedObjectContext(.mainQueue)
    context.persistentStoreCoordinator = rivals.store.coordinator
    for number in 0..<3 {
      try rivals.otherSaves { $0.setValue("theirs \(number)", forKey: "title") }
      context.performAndWait { #expect(context.object(with: rivals.id).text("title") == "theirs \(number)") }
    }
  }

  @Test func whatAPolicyTookFromTheStoreIsToldToObservers() throws {
    let rivals = try Rivals()
    try rivals.store.read { context in
      context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      let book = context.object(with: rivals.id)
      book.setValue("mine", forKey: "title")
      try rivals.otherSaves { $0.setValue(7, forKey: "pages") }
      try context.save()
      let log = NotificationLog(context)
      context.processPendingChanges()
      #expect(log.objects(.NSManagedObjectContextObjectsDidChange, NSRefreshedObjectsKey) == [book])
    }
  }

  /// Values that were read stay until the context refreshes the object.
  @Test func whatWasReadStaysAsReadUntilRefreshed() throws {
    let rivals = try Rivals()
    try rivals.store.read { context in
      let book = context.object(with: rivals.id)
      #expect(book.text("title") == "One")
      try rivals.otherSaves { $0.setValue("theirs", forKey: "title") }
      #expect(book.text("title") == "One")
      let fetched = try context.all("Book", where: "title == 'theirs'")
      #expect(fetched == [book] && book.text("title") == "One")
      context.refresh(book, mergeChanges: false)
      #expect(book.text("title") == "theirs")
    }
  }

  /// This also holds for a row that a fetch cached before the first check of the file's version.
  @Test func rowsThatAFetchCachedAreNotTrustedAfterAForeignSave() throws {
    let rivals = try Rivals()
    let stack = try rivals.store.otherCoordinator()
    let id = try #require(stack.managedObjectID(forURIRepresentation: rivals.id.uriRepresentation()))
    let first = stack.context()
    try first.performAndWait { _ = try first.all("Book") }
    try rivals.otherSaves { $0.setValue("theirs", forKey: "title") }
    let second = stack.context()
    second.performAndWait { #expect(second.object(with: id).text("title") == "theirs") }
  }

  @Test func manyWritersOnOneRowLoseNoUpdate() async throws {
    let rivals = try Rivals()
    let stacks = try (0..<3).map { _ in try rivals.store.otherCoordinator() } + [rivals.store.coordinator]
    let uri = rivals.id.uriRepresentation()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for stack in stacks {
        group.addTask {
          let context = stack.context()
          try await context.perform {
            let id = try #require(stack.managedObjectID(forURIRepresentation: uri))
            let book = context.object(with: id)
            var saved = 0
            while saved < 50 {
              book.setValue((book.value(forKey: "pages") as? Int ?? 0) + 1, forKey: "pages")
              do {
                try context.save()
                saved += 1
              } catch let error as NSError where error.code == 133020 {
                context.refresh(book, mergeChanges: false)
              }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    try #expect(rivals.row() == ["One", "201", "201"])
  }

  /// A subclass of the policy sees the conflicts, and may leave the work to super.
  @Test func aPolicyOfOnesOwnDecides() throws {
    // `@unchecked Sendable`, `nonisolated(unsafe)`: only the thread of this test uses them.
    final class Counting: NSMergePolicy, @unchecked Sendable {
      nonisolated(unsafe) var seen: [NSMergeConflict] = []
      override func resolve(mergeConflicts list: [Any]) throws {
        seen += list.compactMap { $0 as? NSMergeConflict }
        try super.resolve(mergeConflicts: list)
      }
    }
    let rivals = try Rivals()
    try rivals.store.read { context in
      let policy = Counting(merge: .mergeByPropertyObjectTrumpMergePolicyType)
      context.mergePolicy = policy
      context.object(with: rivals.id).setValue("mine", forKey: "title")
      try rivals.otherSaves { $0.setValue("theirs", forKey: "title") }
      try context.save()
      #expect(policy.seen.count == 1)
    }
    try #expect(rivals.row() == ["mine", "1", "3"])
  }
}
