import TestFiles
import Testing

@testable import CoreData

/// The set in which `NSManagedObjectContextObjectsDidChange` lists an object, for all that can happen to it within one
/// event.
@Suite struct EventSetTests {
  private let changed = Notification.Name.NSManagedObjectContextObjectsDidChange

  private func sets(_ log: NotificationLog) -> [String: Set<NSManagedObject>] {
    var sets: [String: Set<NSManagedObject>] = [:]
    for key in [NSInsertedObjectsKey, NSUpdatedObjectsKey, NSDeletedObjectsKey, NSRefreshedObjectsKey] {
      let objects = log.objects(changed, key)
      if !objects.isEmpty { sets[key] = objects }
    }
    return sets
  }

  @Test func anObjectThatIsChangedAndThenDeletedIsOnlyDeleted() throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Tag", ["label": "stored"]) }.objectID
    try store.read { context in
      let stored = try context.existingObject(with: id)
      let new = context.make("Tag", ["label": "new"])
      context.processPendingChanges()
      let log = NotificationLog(context)
      for tag in [stored, new] {
        tag.setValue("changed", forKey: "label")
        context.delete(tag)
      }
      context.processPendingChanges()
      #expect(sets(log) == [NSDeletedObjectsKey: [stored, new]])
    }
  }

  /// Apple says that the method registers an object to be inserted with the next save. A second call for the same
  /// object changes nothing.
  @Test func insertingAnInsertedObjectAgainIsNoChange() throws {
    let store = try TemporaryStore(LibraryModel.makeWithClasses())
    try store.read { context in
      let book = try #require(context.make("Book", ["title": "One"]) as? RecordingBook)
      context.insert(book)
      let log = NotificationLog(context)
      context.processPendingChanges()
      #expect(sets(log) == [NSInsertedObjectsKey: [book]])
      context.insert(book)
      context.processPendingChanges()
      #expect(log.names == [changed] && context.insertedObjects == [book])
      #expect(book.calls == ["awakeFromInsert"])
      try context.save()
    }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK") == [["1"]])
  }

  @Test func insertingASavedObjectIsNoChange() throws {
    let store = try TemporaryStore(LibraryModel.makeWithClasses())
    try store.read { context in
      let book = try #require(context.make("Book", ["title": "One"]) as? RecordingBook)
      try context.save()
      let id = book.objectID
      let log = NotificationLog(context)
      for isFault in [false, true] {
        if isFault { context.refresh(book, mergeChanges: false) }
        context.insert(book)
        #expect(!book.isInserted && book.isFault == isFault && !context.hasChanges && book.objectID == id)
      }
      book.setValue("Two", forKey: "title")
      context.insert(book)
      #expect(context.insertedObjects.isEmpty && context.updatedObjects == [book])
      try context.save()
      #expect(book.calls.filter { $0 == "awakeFromInsert" }.count == 1)
      #expect(log.posted.allSatisfy { $0.info[NSInsertedObjectsKey] as? Set<NSManagedObject> ?? [] == [] })
    }
    try #expect(store.sql("SELECT ZTITLE FROM ZBOOK") == [["Two"]])
  }

  @Test func anObjectThatIsRefreshedAndThenDeletedIsOnlyDeleted() throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Tag", ["label": "stored"]) }.objectID
    try store.read { context in
      let tag = try context.existingObject(with: id)
      let log = NotificationLog(context)
      context.refresh(tag, mergeChanges: false)
      context.delete(tag)
      context.processPendingChanges()
      #expect(sets(log) == [NSDeletedObjectsKey: [tag]])
    }
  }

  @Test func anObjectThatIsChangedAndTurnsOutToHaveNoRowIsOnlyDeleted() throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Book", ["title": "One"]) }.objectID
    try store.save { $0.delete($0.object(with: id)) }
    try store.read { context in
      let book = context.object(with: id)
      let tag = context.make("Tag")
      book.addObject(tag, toRelationship: "tags")
      #expect(book.isUpdated && book.text("title") == nil)
      let log = NotificationLog(context)
      context.processPendingChanges()
      #expect(sets(log) == [NSDeletedObjectsKey: [book], NSInsertedObjectsKey: [tag]])
    }
  }

  @Test func anObjectThatIsDeletedAndInsertedAgainIsToldAsWhatObserversDoNotKnow() throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Tag", ["label": "stored"]) }.objectID
    try store.read { context in
      let stored = try context.existingObject(with: id)
      let new = context.make("Tag", ["label": "new"])
      context.processPendingChanges()
      let log = NotificationLog(context)
      for tag in [stored, new] {
        context.delete(tag)
        context.insert(tag)
      }
      context.processPendingChanges()
      #expect(sets(log) == [NSUpdatedObjectsKey: [stored, new]])
      // Observers that heard of the deletion hear that the object is back.
      context.delete(stored)
      context.processPendingChanges()
      context.insert(stored)
      context.processPendingChanges()
      #expect(sets(log) == [NSInsertedObjectsKey: [stored]])
    }
  }

  /// An observer can follow the objects by the sets alone.
  @Test(arguments: 0..<12)
  func ofRandomEventsEachComingAndGoingIsToldOnce(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let store = try TemporaryStore()
    try store.save { context in
      for number in 0..<5 {
        let author = context.make("Author", ["name": "\(number)"])
        context.make("Book", ["title": "\(number)", "author": author, "tags": Set([context.make("Tag")])])
      }
    }
    let keys = ["Author": "name", "Book": "title", "Tag": "label"]
    try store.read { context in
      var objects = try ["Author", "Book", "Tag"].flatMap { try context.all($0) }
      var knownObjects = Set(objects)
      let log = NotificationLog(context)
      for step in 0..<600 {
        let (object, other) = (objects.randomElement(using: &random)!, objects.randomElement(using: &random)!)
        let areUsable = [object, other].allSatisfy { $0.managedObjectContext != nil && !$0.isDeleted }
        switch (Int.random(in: 0..<11, using: &random), object.entity.name ?? "", other.entity.name ?? "") {
        case (0, let entity, _): objects.append(context.make(entity))
        case (1...2, let entity, _) where areUsable: object.setValue("\(step)", forKey: keys[entity]!)
        case (3...4, "Book", "Author") where areUsable: object.setValue(other, forKey: "author")
        case (3...4, "Book", "Tag") where areUsable: object.mutableSetValue(forKey: "tags").add(other)
        case (5...6, _, _): context.delete(object)
        case (7, _, _) where object.isDeleted: context.insert(object)
        case (8, _, _) where areUsable: context.refresh(object, mergeChanges: Bool.random(using: &random))
        case (9, _, _):
          context.processPendingChanges()
          let sets = sets(log)
          log.clear()
          let (inserted, updated) = (sets[NSInsertedObjectsKey] ?? [], sets[NSUpdatedObjectsKey] ?? [])
          let deleted = sets[NSDeletedObjectsKey] ?? []
          try #require(inserted.isDisjoint(with: knownObjects), "step \(step)")
          try #require(deleted.isSubset(of: knownObjects), "step \(step)")
          try #require(updated.isSubset(of: knownObjects) && updated.isDisjoint(with: deleted), "step \(step)")
          try #require(deleted.isDisjoint(with: sets[NSRefreshedObjectsKey] ?? []), "step \(step)")
          knownObjects.formUnion(inserted)
          knownObjects.subtract(deleted)
          try #require(
            knownObjects == Set(objects.filter { $0.managedObjectContext != nil && !$0.isDeleted }), "step \(step)")
        default: break
        }
      }
    }
  }
}
