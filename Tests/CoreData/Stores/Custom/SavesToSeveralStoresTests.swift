import Testing

@testable import CoreData

/// Saves in which an app's own incremental store, which takes nothing back, and other stores take part.
@Suite struct SavesToSeveralStoresTests {
  private let stack: StoreStack
  private let shelf: ShelfStore

  init() throws {
    stack = try StoreStack(.shelf)
    shelf = try #require(stack.store as? ShelfStore)
  }

  private var place: URL { stack.folder.appendingPathComponent("other") }

  private func add(_ kind: StoreKind) throws -> any ObjectStore {
    kind.register()
    try stack.coordinator.addPersistentStore(
      ofType: kind.type, configurationName: nil, at: kind.isLasting ? place : nil)
    return try #require(stack.coordinator.objectStores.last)
  }

  /// The number of tags in a store, as the next one to open it sees them.
  private func count(_ store: any ObjectStore, _ kind: StoreKind) throws -> Int {
    let fetch = RowFetch(entityName: "Tag")
    guard kind.isLasting, kind != .shelf else { return try store.count(fetch) }
    let other = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    try other.addPersistentStore(ofType: kind.type, configurationName: nil, at: place)
    return try #require(other.objectStores.first).count(fetch)
  }

  @Test(arguments: [StoreKind.file, .memory, .binary, .xml, .cards], [true, false])
  func aSaveThatAnIncrementalStoreRefusesIsInNoStore(kind: StoreKind, shelfIsFirst: Bool) throws {
    // Given a save to a shelf and another store.
    let other = try add(kind)
    let context = stack.context()
    try context.performAndWait {
      for store in shelfIsFirst ? [shelf, other] : [other, shelf] as [any ObjectStore] {
        context.assign(context.make("Tag", ["label": "new"]), to: store)
      }
      // When the shelf refuses it, then the other store has nothing of it.
      shelf.isFull = true
      expectError(CocoaError.fileWriteOutOfSpace.rawValue) { try context.save() }
      #expect(context.insertedObjects.count == 2)
      try #expect(count(shelf, .shelf) == 0 && count(other, kind) == 0)
      // And the save succeeds once the shelf takes it.
      shelf.isFull = false
      try context.save()
      try #expect(count(shelf, .shelf) == 1 && count(other, kind) == 1)
    }
  }

  @Test(arguments: [StoreKind.binary, .xml, .cards], [true, false])
  func aFileThatCannotBeWrittenLeavesTheOtherStoresAsTheyWere(kind: StoreKind, shelfIsFirst: Bool) throws {
    // Given a save to a shelf, a SQLite file, and a file that cannot be written.
    let sqlite = try stack.coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: stack.folder.appendingPathComponent("sqlite"))
    let other = try add(kind)
    let obstacle = stack.folder.appendingPathComponent(".other.\(getpid()).tmp")
    func block(_ isBlocked: Bool) throws {
      if let cards = other as? FillableCardStore {
        cards.isFull = isBlocked
      } else if isBlocked {
        // A folder stands where the temporary file goes.
        try FileManager.default.createDirectory(at: obstacle, withIntermediateDirectories: false)
      } else {
        try FileManager.default.removeItem(at: obstacle)
      }
    }
    let stores: [NSPersistentStore] = shelfIsFirst ? [shelf, sqlite, other] : [other, sqlite, shelf]
    let context = stack.context()
    try context.performAndWait {
      for store in stores { context.assign(context.make("Tag", ["label": "new"]), to: store) }
      // When it is saved, then no store has anything of it.
      try block(true)
      #expect(throws: NSError.self) { try context.save() }
      try #expect(stack.coordinator.objectStores.map { try $0.count(RowFetch(entityName: "Tag")) } == [0, 0, 0])
      try block(false)
      try #expect(count(other, kind) == 0)
      try context.save()
      try #expect(stack.coordinator.objectStores.map { try $0.count(RowFetch(entityName: "Tag")) } == [1, 1, 1])
      try #expect(count(other, kind) == 1)
    }
  }

  @Test func aSaveThatTheSecondOfTwoIncrementalStoresRefusesTellsWhatIsSaved() throws {
    // Given a save to two shelves and a SQLite file, of which the second shelf is full.
    let sqlite = try stack.coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: stack.folder.appendingPathComponent("sqlite"))
    let full = try #require(add(.shelf) as? ShelfStore)
    defer { Shelf.remove(place) }
    let context = stack.context()
    try context.performAndWait {
      let tags = ([shelf, sqlite, full] as [NSPersistentStore]).map { store in
        let tag = context.make("Tag", ["label": "new"])
        context.assign(tag, to: store)
        return tag
      }
      full.isFull = true
      // When it is saved, then the error tells that only a part is saved, and which stores have nothing of it.
      let error = #expect(throws: NSError.self) { try context.save() }
      #expect(error?.code == 134040)
      #expect((error?.userInfo[NSUnderlyingErrorKey] as? CocoaError)?.code == .fileWriteOutOfSpace)
      let affected = try #require(error?.userInfo[NSAffectedStoresErrorKey] as? [NSPersistentStore])
      #expect(Set(affected) == [sqlite, full])
      // And the object that the first shelf has is saved, so that the next save does not insert it again.
      #expect(!tags[0].objectID.isTemporaryID && !tags[0].hasChanges)
      #expect(context.insertedObjects == [tags[1], tags[2]])
      full.isFull = false
      try context.save()
      try #expect(stack.coordinator.objectStores.map { try $0.count(RowFetch(entityName: "Tag")) } == [1, 1, 1])
    }
  }

  @Test func aSavedObjectThatCannotBeReadBackIsSaved() throws {
    let context = stack.context()
    try context.performAndWait {
      let tag = context.make("Tag", ["label": "a"])
      shelf.isUnreadable = true
      try context.save()
      shelf.isUnreadable = false
      #expect(!tag.objectID.isTemporaryID && !context.hasChanges)
      // And it can be changed and saved again, by another context too.
      tag.setValue("b", forKey: "label")
      try context.save()
      let other = stack.context()
      try other.performAndWait {
        let otherTag = try #require(other.all("Tag").first)
        otherTag.setValue("c", forKey: "label")
        try other.save()
      }
      tag.setValue("d", forKey: "label")
      expectError(133020) { try context.save() }
    }
  }
}
