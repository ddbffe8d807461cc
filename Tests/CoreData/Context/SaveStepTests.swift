import CoreData
import Testing

/// The steps of a save in order, as the classes and observers of one context saw them.
private final class Steps: @unchecked Sendable {
  // `@unchecked Sendable`: everything happens on the thread of one test.
  private(set) var all: [String] = []
  func add(_ step: String) { all.append(step) }
}

/// A tag that records each step of its save.
final class StepTag: NSManagedObject {
  fileprivate var steps: Steps?
  fileprivate var name = ""

  override func willSave() {
    super.willSave()
    steps?.add("willSave \(name)")
  }

  override func validateForDelete() throws {
    try super.validateForDelete()
    steps?.add("validateForDelete \(name)")
  }

  override func validateForInsert() throws {
    try super.validateForInsert()
    steps?.add("validateForInsert \(name)")
  }

  override func validateForUpdate() throws {
    try super.validateForUpdate()
    steps?.add("validateForUpdate \(name)")
  }

  override func didSave() {
    super.didSave()
    steps?.add("didSave \(name)\(hasChanges || objectID.isTemporaryID ? " too early" : "")")
  }
}

@Suite struct SaveStepTests {
  @Test func aSaveGoesThroughItsStepsInOrder() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Tag"]?.managedObjectClassName = NSStringFromClass(StepTag.self)
    let store = try TemporaryStore(model)
    let ids = try store.save { context in ["a", "b"].map { context.make("Tag", ["label": $0]) } }.map(\.objectID)
    try store.read { context in
      let steps = Steps()
      let names: [(Notification.Name, String)] = [
        (.NSManagedObjectContextObjectsDidChange, "event"), (.NSManagedObjectContextWillSave, "will save"),
        (.NSManagedObjectContextDidSave, "did save"), (.NSManagedObjectContextDidSaveObjectIDs, "did save IDs"),
      ]
      let tokens = names.map { name, step in
        NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) { _ in steps.add(step) }
      }
      defer { for token in tokens { NotificationCenter.default.removeObserver(token) } }
      let tags = try [context.make("Tag")] + ids.map { try context.existingObject(with: $0) }
      for (tag, name) in zip(tags.compactMap { $0 as? StepTag }, ["new", "changed", "deleted"]) {
        tag.steps = steps
        tag.name = name
      }
      tags[1].setValue("changed", forKey: "label")
      context.delete(tags[2])
      try context.save()
      #expect(
        steps.all == [
          "event", "will save", "willSave new", "willSave changed", "willSave deleted", "validateForDelete deleted",
          "validateForInsert new", "validateForUpdate changed", "didSave new", "didSave changed", "didSave deleted",
          "did save", "did save IDs",
        ])
    }
  }

  @Test func willSaveIsCalledAThousandTimesBeforeTheSaveGivesUp() throws {
    let store = try TemporaryStore(LibraryModel.makeWithClasses())
    try store.read { context in
      let book = try #require(context.make("Book", ["title": "One"]) as? RecordingBook)
      book.onWillSave = { $0.setValue(($0.value(forKey: "pages") as? Int ?? 0) + 1, forKey: "pages") }
      expectError(134030) { try context.save() }
      #expect(book.calls.filter { $0 == "willSave" }.count == 1000)
      // The context can still be used.
      book.onWillSave = nil
      #expect(book.isInserted && book.objectID.isTemporaryID)
      try context.save()
    }
    try #expect(store.sql("SELECT ZPAGES FROM ZBOOK") == [["1000"]])
  }

  @Test func aChildsSaveTellsTemporaryIDs() throws {
    let store = try TemporaryStore()
    let parent = store.context()
    let child = parent.child()
    try child.performAndWait {
      let log = NotificationLog(child)
      let tag = child.make("Tag")
      let temporary = tag.objectID
      try child.save()
      let told = log.last(.NSManagedObjectContextDidSaveObjectIDs)?[NSInsertedObjectIDsKey] as? Set<NSManagedObjectID>
      #expect(told == [temporary] && temporary.isTemporaryID && tag.objectID == temporary)
    }
  }

  @Test func aNewObjectGoesToTheFirstStoreThatMayBeWritten() throws {
    let (first, second) = (try TemporaryStore(), try TemporaryStore())
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    for (store, isReadOnly) in [(first, true), (second, false)] {
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: store.url,
        options: [NSReadOnlyPersistentStoreOption: isReadOnly])
    }
    let context = coordinator.context()
    try context.performAndWait {
      let tag = context.make("Tag", ["label": "new"])
      try context.save()
      #expect(tag.objectID.persistentStore === coordinator.persistentStores[1])
      // Assigned to the other, it cannot be saved.
      let misplaced = context.make("Tag")
      context.assign(misplaced, to: coordinator.persistentStores[0])
      expectError(134030) { try context.save() }
      #expect(misplaced.isInserted && misplaced.objectID.isTemporaryID)
    }
    try #expect(first.sql("SELECT count(*) FROM ZTAG") == [["0"]])
    try #expect(second.sql("SELECT ZLABEL FROM ZTAG") == [["new"]])
  }
}
