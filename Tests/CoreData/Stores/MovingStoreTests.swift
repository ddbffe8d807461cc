import TestFiles
import Testing

@testable import CoreData

/// Stores that become stores of another class, and requests about stores that are not open.
@Suite struct MovingStoreTests {
  /// What a store holds, whatever its keys are.
  private func content(_ context: NSManagedObjectContext) throws -> [String] {
    func label(_ object: Any?) -> String { (object as? NSManagedObject)?.value(forKey: "label") as? String ?? "" }
    let tags = try context.all("Tag", sort: "label").map { tag in
      let ordered = (tag.value(forKey: "ordered") as? NSOrderedSet)?.array.map(label) ?? []
      return "\(label(tag)): \(ordered.joined(separator: ","))"
    }
    let books = try context.all("Book", sort: "title").map { book in
      let tags = (book.value(forKey: "tags") as? NSSet)?.allObjects.map(label).sorted() ?? []
      let author = book.object("author")
      let count = (author?.value(forKey: "books") as? NSSet)?.count ?? 0
      return
        "\(book.entity.name ?? "") \(book.text("title") ?? "") \(book.value(forKey: "pages") ?? "") "
        + "\(author?.text("name") ?? "") \(count) \(tags.joined(separator: ","))"
    }
    return tags + books
  }

  private func fill(_ context: NSManagedObjectContext) throws {
    let tags = ["x", "y", "z"].map { context.make("Tag", ["label": $0]) }
    tags[0].setValue(NSOrderedSet(array: [tags[2], tags[0], tags[1]]), forKey: "ordered")
    let author = context.make("Author", ["name": "Ada"])
    context.make("Book", ["title": "one", "pages": 3, "author": author, "tags": Set(tags.prefix(2))])
    context.make("Comic", ["title": "two", "artist": "Bob", "author": author])
    try context.save()
  }

  @Test func aStoreBecomesOneOfEachClassInTurnWithAllItHas() throws {
    // Given a SQLite store with rows of all sorts.
    let stack = try StoreStack(.file)
    let before = try stack.perform { context in
      try fill(context)
      return try content(context)
    }
    stack.coordinator.setMetadata(["app": "mine"], for: stack.store)
    defer { Shelf.remove(stack.folder.appendingPathComponent("6")) }
    // When it is migrated from class to class, from the last to the first, too.
    let kinds: [StoreKind] =
      [.memory, .xml, .binary, .file, .cards, .memory, .shelf, .xml, .cards, .file]
      + (PostgreSQLServer.isInstalled ? [.server, .memory, .server, .file] : [])
    for (index, kind) in kinds.enumerated() {
      kind.register()
      let old = stack.store
      let oldIDs = try stack.perform { try $0.all("Book", sort: "title").map(\.objectID) }
      let changes = try withChanges(stack.coordinator) {
        _ = try stack.coordinator.migratePersistentStore(
          old, to: kind.place(stack.folder.appendingPathComponent("\(index)")), withType: kind.type)
      }
      // Then the content is the same, the metadata come along, and the coordinator tells which IDs became which.
      try #expect(stack.perform(content) == before, "\(kind)")
      #expect(stack.coordinator.persistentStores == [stack.store] && stack.store.type == kind.type)
      #expect(stack.store.metadata["app"] as? String == "mine" && stack.store.identifier != old.identifier)
      let place = try #require(changes.firstIndex { $0 as? NSManagedObjectID == oldIDs[1] })
      let new = try #require(changes[place + 1] as? NSManagedObjectID)
      try #expect(stack.perform { try $0.existingObject(with: new).text("title") } == "two")
      // And the new store can be written.
      try stack.perform { context in
        let tag = context.make("Tag", ["label": "new"])
        try context.save()
        context.delete(tag)
        try context.save()
      }
    }
  }

  /// What a coordinator tells of the IDs of a store that it has replaced.
  private func withChanges(_ coordinator: NSPersistentStoreCoordinator, _ body: () throws -> Void) throws -> [Any] {
    final class Box: @unchecked Sendable { var changes: [Any] = [] }
    // `@unchecked Sendable`: posted and read on the thread of the test.
    let box = Box()
    let token = NotificationCenter.default.addObserver(
      forName: .NSPersistentStoreCoordinatorStoresDidChange, object: coordinator, queue: nil
    ) { note in
      guard let changed = note.userInfo?[NSUUIDChangedPersistentStoresKey] as? [Any], changed.count == 3 else { return }
      // Both stores and all IDs in one list.
      box.changes = changed.prefix(2) + (changed[2] as? [Any] ?? [])
    }
    defer { NotificationCenter.default.removeObserver(token) }
    try body()
    return box.changes
  }

  @Test(arguments: StoreKind.filed)
  func metadataAndDestructionNeedNoModelAndNoOpenStore(kind: StoreKind) throws {
    let stack = try StoreStack(kind)
    let identifier = stack.store.identifier
    try stack.coordinator.remove(stack.store)
    func metadata() throws -> [String: Any] {
      try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: kind.type, at: stack.url)
    }
    try NSPersistentStoreCoordinator.setMetadata(["app": 7], forPersistentStoreOfType: kind.type, at: stack.url)
    try #expect(metadata()["app"] as? Int == 7 && metadata()[NSStoreUUIDKey] as? String == identifier)
    try #expect(metadata()[NSStoreTypeKey] as? String == kind.type)
    if kind != .cards {
      let storeMetadata = try NSPersistentStore.metadataForPersistentStore(with: stack.url)
      #expect(storeMetadata[NSStoreTypeKey] as? String == kind.type)
    }
    try stack.coordinator.destroyPersistentStore(at: stack.url, ofType: kind.type)
    try stack.coordinator.addPersistentStore(ofType: kind.type, configurationName: nil, at: stack.url)
    #expect(stack.store.identifier != identifier && stack.store.metadata["app"] == nil)
  }

  @Test(arguments: StoreKind.filed)
  func anOpenStoreWhoseFileIsGoneIsDestroyedAsOneWhoseFileIsThere(kind: StoreKind) throws {
    let stack = try StoreStack(kind)
    try stack.perform { try fill($0) }
    let old = stack.store
    try FileManager.default.removeItem(at: stack.url)
    try stack.coordinator.destroyPersistentStore(at: stack.url, ofType: kind.type)
    #expect(stack.coordinator.persistentStores.isEmpty && old.persistentStoreCoordinator == nil)
    // The log of the removed file is gone too.
    let files = try FileManager.default.contentsOfDirectory(atPath: stack.folder.path)
    #expect(files == (kind == .file ? ["store"] : []))
    try stack.coordinator.addPersistentStore(ofType: kind.type, configurationName: nil, at: stack.url)
    #expect(stack.store.identifier != old.identifier)
    try stack.perform { try #expect($0.all("Book").isEmpty) }
  }

  @Test(arguments: StoreKind.copying)
  func aStoreIsReplacedByAnotherOfItsClass(kind: StoreKind) throws {
    let stack = try StoreStack(kind)
    let before = try stack.perform { context in
      try fill(context)
      return try content(context)
    }
    let place = stack.folder.appendingPathComponent("other")
    try stack.coordinator.replacePersistentStore(at: place, withPersistentStoreFrom: stack.url, ofType: kind.type)
    let other = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    try other.addPersistentStore(ofType: kind.type, configurationName: nil, at: place)
    #expect(other.persistentStores[0].identifier == stack.store.identifier)
    let context = stack.context(other)
    try context.performAndWait { try #expect(content(context) == before) }
  }

  // MARK: To the place of another store

  @Test(arguments: StoreKind.filed, StoreKind.filed)
  func aStoreReplacesTheOneThatIsOpenAtItsNewPlace(kind: StoreKind, other: StoreKind) throws {
    // Given two stores of one coordinator.
    let stack = try StoreStack(kind)
    let before = try stack.perform { context in
      try fill(context)
      return try content(context)
    }
    let place = stack.folder.appendingPathComponent("other")
    other.register()
    try stack.coordinator.addPersistentStore(ofType: other.type, configurationName: nil, at: place)
    // When the first is migrated to the place of the second, then it replaces it.
    try stack.coordinator.migratePersistentStore(stack.store, to: place, withType: other.type)
    #expect(stack.coordinator.persistentStores.map(\.url) == [place])
    try #expect(stack.perform(content) == before)
    try stack.perform { context in
      context.make("Tag", ["label": "new"])
      try context.save()
    }
    let again = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    try again.addPersistentStore(ofType: other.type, configurationName: nil, at: place)
    let context = stack.context(again)
    try context.performAndWait {
      try #expect(content(context).count == before.count + 1 && content(context).last == before.last)
    }
  }

  @Test(arguments: [StoreKind.binary, .xml], [StoreKind.file, .binary, .xml])
  func aMigrationThatFailsLeavesTheStoreAtTheNewPlace(kind: StoreKind, source: StoreKind) throws {
    let stack = try StoreStack(source)
    try stack.perform(fill)
    let place = stack.folder.appendingPathComponent("other")
    let other = try stack.coordinator.addPersistentStore(ofType: kind.type, configurationName: nil, at: place)
    let before = try Data(contentsOf: place)
    // A folder stands where the temporary file goes.
    let obstacle = stack.folder.appendingPathComponent(".other.\(getpid()).tmp")
    try FileManager.default.createDirectory(at: obstacle, withIntermediateDirectories: false)
    #expect(throws: NSError.self) {
      try stack.coordinator.migratePersistentStore(stack.store, to: place, withType: kind.type)
    }
    try FileManager.default.removeItem(at: obstacle)
    #expect(stack.coordinator.persistentStores.count == 2 && stack.coordinator.persistentStores.last === other)
    try #expect(Data(contentsOf: place) == before)
  }

  @Test(arguments: StoreKind.filed)
  func aStoreIsNotMigratedToItsOwnFileUnderAnotherName(kind: StoreKind) throws {
    let stack = try StoreStack(kind)
    let before = try stack.perform { context in
      try fill(context)
      return try content(context)
    }
    let link = stack.folder.appendingPathComponent("link")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: stack.url)
    expectError(134070) {
      try stack.coordinator.migratePersistentStore(stack.store, to: link, withType: kind.type)
    }
    try #expect(stack.perform(content) == before)
  }

  @Test func aMemoryHasNoFileToReadOrReplace() throws {
    let url = URL(fileURLWithPath: "/dev/null")
    expectError(134070) {
      try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSInMemoryStoreType, at: url)
    }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: url)
    try coordinator.destroyPersistentStore(at: url, ofType: NSInMemoryStoreType)
    #expect(coordinator.persistentStores.isEmpty)
  }
}
