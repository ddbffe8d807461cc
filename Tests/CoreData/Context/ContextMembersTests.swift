import CoreData
import Testing

/// Members of contexts and objects that no other suite covers.
@Suite struct ContextMembersTests {
  @Test func detectConflictsMakesAnotherContextsSaveAConflictOfAnUnchangedObject() throws {
    let store = try TemporaryStore()
    let ids = try store.save { context in ["a", "b"].map { context.make("Tag", ["label": $0]) } }.map(\.objectID)
    for policy in [NSMergePolicy.error, .mergeByPropertyObjectTrump] {
      try store.read { context in
        context.mergePolicy = policy
        let tags = try ids.map { try context.existingObject(with: $0) }
        context.detectConflicts(for: tags[0])
        try store.save { $0.object(with: ids[0]).setValue("theirs \(policy.mergeType.rawValue)", forKey: "label") }
        tags[1].setValue("mine \(policy.mergeType.rawValue)", forKey: "label")
        if policy === NSMergePolicy.error {
          #expect {
            try context.save()
          } throws: { error in
            let conflicts = (error as NSError).userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict]
            return (error as NSError).code == 133020 && conflicts?.map(\.sourceObject) == [tags[0]]
          }
          #expect(context.updatedObjects == [tags[1]])
        } else {
          try context.save()
          #expect(tags[0].text("label") == "theirs 2")
        }
      }
    }
    try #expect(store.sql("SELECT ZLABEL FROM ZTAG ORDER BY Z_PK") == [["theirs 2"], ["mine 2"]])
    // One call holds for one save.
    try store.read { context in
      let tags = try ids.map { try context.existingObject(with: $0) }
      context.detectConflicts(for: tags[0])
      tags[1].setValue("first", forKey: "label")
      try context.save()
      try store.save { $0.object(with: ids[0]).setValue("again", forKey: "label") }
      tags[1].setValue("second", forKey: "label")
      try context.save()
    }
  }

  /// A check must not be left out because the row was deleted between the fetch and the check: reading its values makes
  /// the object a deleted one.
  @Test(arguments: [true, false]) func anObjectWhoseRowIsGoneAlreadyIsAConflict(isAsRead: Bool) throws {
    let store = try TemporaryStore()
    let policies = [NSMergePolicy.error, .mergeByPropertyObjectTrump, .overwrite, .rollback]
    for (number, policy) in policies.enumerated() {
      let id = try #require(try store.save { [$0.make("Tag", ["label": "theirs \(number)"])] }.first?.objectID)
      try store.read { context in
        context.mergePolicy = policy
        let theirs = context.object(with: id)
        try store.save { $0.delete($0.object(with: id)) }
        if isAsRead { context.detectConflicts(for: theirs) } else { context.detectDeletion(of: theirs) }
        _ = context.make("Tag", ["label": "mine \(number)"])
        if policy === NSMergePolicy.error {
          #expect { try context.save() } throws: { ($0 as NSError).code == 133020 }
        } else {
          try context.save()
        }
      }
    }
    try #expect(store.sql("SELECT ZLABEL FROM ZTAG ORDER BY Z_PK") == [["mine 1"], ["mine 2"], ["mine 3"]])
  }

  @Test func detectDeletionIsNoConflictWithAnotherChange() throws {
    let store = try TemporaryStore()
    let id = try #require(try store.save { [$0.make("Tag", ["label": "a"])] }.first?.objectID)
    try store.read { context in
      let tag = try context.existingObject(with: id)
      _ = context.make("Tag", ["label": "b"])
      context.detectDeletion(of: tag)
      #expect(context.detectsConflicts)
      try store.save { $0.object(with: id).setValue("c", forKey: "label") }
      try context.save()
      // One call holds for one save.
      #expect(!context.detectsConflicts)
      context.detectDeletion(of: tag)
      _ = context.make("Tag", ["label": "d"])
      try store.save { $0.delete($0.object(with: id)) }
      #expect { try context.save() } throws: { ($0 as NSError).code == 133020 }
    }
    try #expect(store.sql("SELECT ZLABEL FROM ZTAG ORDER BY Z_PK") == [["b"]])
  }

  @Test func notificationKeysAreTheOldOnes() {
    #expect(NSManagedObjectContext.NotificationKey.insertedObjects.rawValue == NSInsertedObjectsKey)
    #expect(NSManagedObjectContext.NotificationKey.invalidatedAllObjects.rawValue == NSInvalidatedAllObjectsKey)
    #expect(NSManagedObjectContext.didSaveObjectsNotification == .NSManagedObjectContextDidSave)
  }

  @Test func severalValuesAreReadAndSetAtOnce() throws {
    try TemporaryStore().read { context in
      let book = context.make("Book", ["author": context.make("Author")])
      book.setValuesForKeys(["title": "One", "pages": 3, "price": NSNull()])
      let values = book.dictionaryWithValues(forKeys: ["title", "pages", "price"])
      #expect(values["title"] as? String == "One" && values["pages"] as? Int == 3 && values["price"] is NSNull)
      book.setValue("Ada", forKeyPath: "author.name")
      #expect(book.value(forKeyPath: "author.name") as? String == "Ada")
      try #expect(book.objectIDs(forRelationshipNamed: "author") == [#require(book.object("author")).objectID])
    }
  }

  @Test func faultingStateTellsAFault() throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Tag", ["label": "a"]) }.objectID
    store.readPlainly { context in
      let tag = context.object(with: id)
      #expect(tag.faultingState != 0)
      _ = tag.text("label")
      #expect(tag.faultingState == 0)
    }
    #expect(NSManagedObject.contextShouldIgnoreUnmodeledPropertyChanges)
  }

  @Test func aSiblingsSaveIsFollowedOnceTheCommonParentHasSaved() async throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Tag", ["label": "old"]) }.objectID
    let parent = store.context()
    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    let sibling = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    for context in [child, sibling] { context.parent = parent }
    await child.perform {
      child.automaticallyMergesChangesFromParent = true
      child.retainsRegisteredObjects = true
      #expect(child.object(with: id).text("label") == "old")
    }
    try await sibling.perform {
      sibling.object(with: id).setValue("sibling's", forKey: "label")
      sibling.make("Tag", ["label": "new"])
      try sibling.save()
    }
    // The parent may still be rolled back.
    await child.perform {
      #expect(child.object(with: id).text("label") == "old")
      #expect(child.registeredObjects.count == 1 && !child.hasChanges)
    }
    try await parent.perform { try parent.save() }
    // The save queued the merge, so this block runs after it.
    try await child.perform {
      #expect(child.object(with: id).text("label") == "sibling's")
      #expect(child.registeredObjects.count == 2 && !child.hasChanges)
      try #expect(child.all("Tag").count == 2)
    }
  }

  @Test func inAChainOfContextsANewObjectAwakesOnce() throws {
    let store = try TemporaryStore(LibraryModel.makeWithClasses())
    let parent = store.context()
    let child = parent.child()
    try child.performAndWait {
      let book = try #require(child.make("Book", ["title": "One"]) as? RecordingBook)
      try child.save()
      #expect(book.calls.filter { $0 == "awakeFromInsert" }.count == 1)
    }
    try parent.performAndWait {
      let book = try #require(parent.insertedObjects.first as? RecordingBook)
      #expect(!book.calls.contains("awakeFromInsert"))
    }
  }

  @Test func didSaveRunsBeforeTheNotificationAndWithPermanentIDs() throws {
    let store = try TemporaryStore(LibraryModel.makeWithClasses())
    try store.read { context in
      let book = try #require(context.make("Book", ["title": "One"]) as? RecordingBook)
      let seen = Seen(book)
      let token = NotificationCenter.default.addObserver(
        forName: .NSManagedObjectContextDidSave, object: context, queue: nil
      ) { _ in seen.look() }
      defer { NotificationCenter.default.removeObserver(token) }
      try context.save()
      #expect(seen.calls == ["awakeFromInsert", "willSave", "validateForInsert", "didSave", "permanent"])
    }
  }

  /// `@unchecked Sendable`: everything happens on the thread of one test.
  private final class Seen: @unchecked Sendable {
    private let book: RecordingBook
    private(set) var calls: [String] = []

    init(_ book: RecordingBook) { self.book = book }

    func look() { calls = book.calls + [book.objectID.isTemporaryID ? "temporary" : "permanent"] }
  }
}

extension TemporaryStore {
  fileprivate func readPlainly(_ body: (NSManagedObjectContext) -> Void) {
    let context = context()
    context.performAndWait { body(context) }
  }
}
