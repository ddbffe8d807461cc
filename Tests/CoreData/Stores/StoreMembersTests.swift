import Testing

@testable import CoreData

@Suite struct StoreMembersTests {
  private func add(
    _ url: URL, _ model: NSManagedObjectModel = LibraryModel.make(), options: [AnyHashable: Any]? = nil,
    type: String = NSSQLiteStoreType
  ) throws -> NSPersistentStoreCoordinator {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: url, options: options)
    return coordinator
  }

  private func labels(_ coordinator: NSPersistentStoreCoordinator) throws -> [String] {
    let context = coordinator.context()
    return try context.performAndWait { try context.all("Tag", sort: "label").compactMap { $0.text("label") } }
  }

  private func save(_ label: String, _ coordinator: NSPersistentStoreCoordinator) throws {
    let context = coordinator.context()
    try context.performAndWait {
      context.make("Tag", ["label": label])
      try context.save()
    }
  }

  // MARK: Metadata

  @Test func metadataIsWrittenWithTheNextSaveAndReservedKeysAreKept() throws {
    let store = try TemporaryStore()
    let opened = store.coordinator.persistentStores[0]
    store.coordinator.setMetadata(["app": "mine", NSStoreTypeKey: "Other"], for: opened)
    #expect(store.coordinator.metadata(for: opened)["app"] as? String == "mine")
    func stored() throws -> [String: Any] {
      try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
    }
    try #expect(stored()["app"] == nil)
    try save("a", store.coordinator)
    try #expect(stored()["app"] as? String == "mine")
    try #expect(stored()[NSStoreTypeKey] as? String == NSSQLiteStoreType)
    try #expect((stored()[NSStoreModelVersionHashesKey] as? [String: Data])?.count == 5)
  }

  @Test func metadataIsWrittenToAFileWithoutAModelInBothSpellings() throws {
    let store = try TemporaryStore()
    let uuid = store.coordinator.persistentStores[0].identifier
    try NSPersistentStoreCoordinator.setMetadata(["a": 1], forPersistentStoreOfType: NSSQLiteStoreType, at: store.url)
    try NSPersistentStoreCoordinator.setMetadata(["b": 2], type: .sqlite, at: store.url)
    let read = try NSPersistentStore.metadataForPersistentStore(with: store.url)
    #expect(read["a"] == nil && read["b"] as? Int == 2 && read[NSStoreUUIDKey] as? String == uuid)
    try #expect(labels(add(store.url)) == [])
  }

  /// A reader of a file in WAL mode would have to make the log. The superuser may write everywhere, so the process
  /// gives up its rights first.
  @Test func metadataOfAStoreInAFolderThatMayNotBeWrittenIsRead() async {
    await #expect(processExitsWith: .success) {
      let store = try TemporaryStore()
      try store.save { $0.make("Tag", ["label": "a"]) }
      let opened = try #require(store.coordinator.persistentStores.first)
      let uuid = try #require(opened.identifier)
      try store.coordinator.remove(opened)
      let name = store.url.lastPathComponent
      try #expect(FileManager.default.contentsOfDirectory(atPath: store.folder.path) == [name])
      let header = try FileHandle(forReadingFrom: store.url).read(upToCount: 20)
      #expect(header?.last == 2, "the file is in WAL mode")
      try #require(chmod(store.folder.path, 0o555) == 0)
      let user = geteuid()
      if user == 0 { try #require(seteuid(65534) == 0) }
      defer {
        _ = seteuid(user)
        chmod(store.folder.path, 0o755)
      }
      try #require(access(store.folder.path, X_OK) == 0)
      #expect(!FileManager.default.createFile(atPath: store.folder.path + "/x", contents: nil))
      let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store.url)
      #expect(metadata[NSStoreUUIDKey] as? String == uuid)
      #expect(store.model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
      try #expect(NSPersistentStoreCoordinator.cachedModelForPersistentStore(at: store.url) == store.model)
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: store.url,
        options: [NSReadOnlyPersistentStoreOption: true])
      try #expect(FileManager.default.contentsOfDirectory(atPath: store.folder.path) == [name])
    }
  }

  @Test func metadataThatAnotherWroteIsSeenAfterLoadingItAnew() throws {
    let store = try TemporaryStore()
    let opened = store.coordinator.persistentStores[0]
    store.coordinator.setMetadata(["mine": 1], for: opened)
    try NSPersistentStoreCoordinator.setMetadata(
      ["app": "theirs"], forPersistentStoreOfType: NSSQLiteStoreType, at: store.url)
    #expect(opened.metadata["app"] == nil)
    try opened.loadMetadata()
    #expect(opened.metadata["app"] as? String == "theirs" && opened.metadata["mine"] == nil)
    #expect(opened.metadata[NSStoreUUIDKey] as? String == opened.identifier)
  }

  // MARK: Kinds of stores

  @Test func otherStoreTypesAreRefusedClearly() throws {
    let store = try TemporaryStore()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    for type in ["Mine", "sqlite", ""] {
      expectError(134000) {
        try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: store.url)
      }
      expectError(134000) {
        try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: type, at: store.url)
      }
      #expect(NSPersistentStoreCoordinator.registeredStoreTypes[type] == nil)
    }
    #expect(
      Set(NSPersistentStoreCoordinator.registeredStoreTypes.keys).isSuperset(
        of: [NSSQLiteStoreType, NSInMemoryStoreType, NSBinaryStoreType, NSXMLStoreType]))
  }

  @Test func devNullIsOnesOwnAndWithANameSharedWhileItIsOpen() throws {
    let ownStore = try add(URL(fileURLWithPath: "/dev/null"))
    try save("own", ownStore)
    try #expect(labels(add(URL(fileURLWithPath: "/dev/null"))) == [])

    let url = URL(fileURLWithPath: "/dev/null/\(UUID().uuidString)")
    let model = LibraryModel.make()
    var first: NSPersistentStoreCoordinator? = try add(url, model)
    let second = try add(url, model)
    try save("a", try #require(first))
    try #expect(labels(second) == ["a"])
    try save("b", second)
    try #expect(labels(try #require(first)) == ["a", "b"])
    first = nil
    try #expect(labels(second) == ["a", "b"])
    try second.remove(second.persistentStores[0])
    try #expect(labels(add(url)) == [])
  }

  @Test func analyzeAndVacuumRunWhenTheStoreIsOpened() throws {
    let store = try TemporaryStore()
    for label in ["a", "b"] { try save(label, store.coordinator) }
    try #expect(store.sql("SELECT count(*) FROM sqlite_master WHERE name = 'sqlite_stat1'") == [["0"]])
    _ = try add(store.url, options: [NSSQLiteAnalyzeOption: true, NSSQLiteManualVacuumOption: true])
    try #expect(store.sql("SELECT count(*) FROM sqlite_master WHERE name = 'sqlite_stat1'") == [["1"]])
  }

  @Test func pragmasHoldForEveryConnection() throws {
    let pragmas = ["cache_size": "-1234", "synchronous": "EXTRA"]
    let store = try TemporaryStore(options: [NSSQLitePragmasOption: pragmas])
    let database = try #require(store.coordinator.persistentStores[0] as? SQLiteStore).database
    func values(_ connection: SQLiteConnection) throws -> [Int64?] {
      try ["cache_size", "synchronous"].map { try connection.integer("PRAGMA \(raw: $0)") }
    }
    try #expect(database.withWriter(values) == [-1234, 3])
    try database.read { outer in
      try #expect(values(outer) == [-1234, 3])
      try database.read { inner in try #expect(values(inner) == [-1234, 3]) }
    }
    try #expect(store.sql("PRAGMA journal_mode") == [["wal"]])
  }

  @Test func aStoreWaitsForLocksAsLongAsItsDescriptionSays() throws {
    for (timeout, expected) in [(nil, 240), (1.5, 1.5)] as [(TimeInterval?, TimeInterval)] {
      let description = NSPersistentStoreDescription()
      if let timeout { description.timeout = timeout }
      #expect(description.timeout == expected)
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
      coordinator.addPersistentStore(with: description) { #expect($1 == nil) }
      let store = try #require(coordinator.persistentStores.first as? SQLiteStore)
      #expect(store.database.configuration.busyTimeout == expected)
    }
  }

  @Test func aWrongConfigurationMakesNoFile() throws {
    let store = try TemporaryStore()
    let url = store.folder.appendingPathComponent("none.sqlite")
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    expectError(134080) {
      try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: "None", at: url)
    }
    #expect(!FileManager.default.fileExists(atPath: url.path))
  }

  @Test func theCoordinatorsQueueIsReentrantAndGivesResults() async throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    let inline = await coordinator.perform { coordinator.performAndWait { coordinator.performAndWait { 7 } } }
    #expect(inline == 7)
    await #expect(throws: CancellationError.self) {
      try await coordinator.perform { () throws -> Int in throw CancellationError() }
    }
  }

  // MARK: Notifications

  @Test func addingAndRemovingAStoreIsPosted() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    let log = StoreNotificationLog(coordinator)
    let store = try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    try coordinator.remove(store)
    #expect(log.posted == ["did added", "did removed"])
    expectError(134070) { try coordinator.remove(store) }
  }

  // MARK: Files

  @Test func aDestroyedStoreIsEmptyForEverybodyAndCanBeMadeAnew() throws {
    let store = try TemporaryStore()
    try save("a", store.coordinator)
    let uuid = store.coordinator.persistentStores[0].identifier
    let other = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    try other.destroyPersistentStore(at: store.url, ofType: NSSQLiteStoreType)
    // Other coordinators still have the file open: they find it empty, not old.
    let reader = store.coordinator.context()
    reader.performAndWait { expectError(134180) { try reader.all("Tag") } }
    try store.coordinator.remove(store.coordinator.persistentStores[0])
    try other.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: store.url)
    try #expect(labels(other) == [])
    #expect(other.persistentStores[0].identifier != uuid)
    // Programs remove the file next, which fails if there is none.
    let none = store.folder.appendingPathComponent("none")
    for _ in 0..<2 { try other.destroyPersistentStore(at: none, type: .sqlite) }
    try FileManager.default.removeItem(at: none)
    try other.destroyPersistentStore(at: none.appendingPathComponent("below"), type: .sqlite)
  }

  @Test func aStoreThatIsOpenHereCanBeDestroyedAndAddedAgain() throws {
    let store = try TemporaryStore()
    try save("a", store.coordinator)
    let old = store.coordinator.persistentStores[0]
    let context = store.coordinator.context()
    let tag = try context.performAndWait { try context.all("Tag")[0].objectID }
    try store.coordinator.destroyPersistentStore(at: store.url, ofType: NSSQLiteStoreType)
    #expect(store.coordinator.persistentStores.isEmpty && old.persistentStoreCoordinator == nil)
    try #expect(store.sql("SELECT count(*) FROM sqlite_master") == [["0"]])
    try store.coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: store.url)
    try #expect(labels(store.coordinator) == [] && store.coordinator.persistentStores[0].identifier != old.identifier)
    try save("b", store.coordinator)
    try #expect(labels(store.coordinator) == ["b"])
    context.performAndWait {
      _ = #expect(throws: (any Error).self) { try context.existingObject(with: tag) }
    }
  }

  @Test(arguments: ["/dev/null", "/dev/null/destroyed"])
  func aStoreInMemoryIsDestroyedToo(path: String) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    let url = URL(fileURLWithPath: path)
    for label in ["a", "b"] {
      try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url)
      try save(label, coordinator)
      try #expect(labels(coordinator) == [label])
      try coordinator.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType)
      #expect(coordinator.persistentStores.isEmpty)
    }
  }

  @Test func destroyingWaitsForTheLockOfAWriter() throws {
    let store = try TemporaryStore()
    let writer = try SQLiteConnection(path: store.url.path, access: .readWrite)
    try writer.execute("BEGIN IMMEDIATE")
    expectError(134090) {
      try store.coordinator.destroyPersistentStore(
        at: store.url, ofType: NSSQLiteStoreType, options: [NSPersistentStoreTimeoutOption: 0.05])
    }
    try writer.execute("ROLLBACK")
    try #expect(store.sql("SELECT count(*) FROM ZTAG") == [["0"]])
  }

  @Test func aReplacedStoreHasTheOthersContentForThoseWhoHaveItOpen() throws {
    let (source, target) = (try TemporaryStore(), try TemporaryStore())
    try save("new", source.coordinator)
    try save("old", target.coordinator)
    try target.coordinator.replacePersistentStore(
      at: target.url, withPersistentStoreFrom: source.url, ofType: NSSQLiteStoreType)
    try #expect(labels(target.coordinator) == ["new"])
    let fresh = target.folder.appendingPathComponent("fresh.sqlite")
    try target.coordinator.replacePersistentStore(at: fresh, withPersistentStoreFrom: source.url, type: .sqlite)
    try #expect(labels(add(fresh)) == ["new"])
    expectError(134080) {
      try target.coordinator.replacePersistentStore(
        at: target.url, withPersistentStoreFrom: target.folder.appendingPathComponent("none"), type: .sqlite)
    }
    try #expect(labels(target.coordinator) == ["new"])
  }

  @Test func aMigratedStoreHasAnotherUUIDAndTellsTheNewIDs() throws {
    let store = try TemporaryStore(options: [NSPersistentHistoryTrackingKey: true])
    let coordinator = store.coordinator
    try save("a", coordinator)
    let old = coordinator.persistentStores[0]
    let reader = coordinator.context()
    let before = try reader.performAndWait { try reader.all("Tag")[0].objectID }
    let log = StoreNotificationLog(coordinator)
    let url = store.folder.appendingPathComponent("moved.sqlite")
    let new = try coordinator.migratePersistentStore(old, to: url, type: .sqlite)
    #expect(coordinator.persistentStores == [new] && new.url == url && new.identifier != old.identifier)
    try #expect(labels(coordinator) == ["a"])
    let changed = try #require(log.changed)
    try #require(changed.count == 3 && changed[0] as AnyObject === old && changed[1] as AnyObject === new)
    let ids = try #require(changed[2] as? [NSManagedObjectID])
    let after = try #require(ids.last)
    #expect(ids.count == 2 && ids[0] == before)
    #expect(after.persistentStore === new && after.key == before.key && after != before)
    // The source file is unchanged.
    try #expect(store.sql("SELECT ZLABEL FROM ZTAG") == [["a"]])
    try save("b", coordinator)
    try #expect(store.sql("SELECT ZLABEL FROM ZTAG") == [["a"]])
    // Into memory and out of it.
    let memory = try coordinator.migratePersistentStore(
      new, to: URL(fileURLWithPath: "/dev/null"), withType: NSInMemoryStoreType)
    try save("c", coordinator)
    try coordinator.migratePersistentStore(
      memory, to: store.folder.appendingPathComponent("back.sqlite"), withType: NSSQLiteStoreType)
    try #expect(labels(coordinator) == ["a", "b", "c"])
    try #expect(labels(add(url)) == ["a", "b"])
    #expect(coordinator.setURL(url, for: coordinator.persistentStores[0]) == false)
  }
}

/// Records the notifications that a coordinator posts about its stores.
private final class StoreNotificationLog: @unchecked Sendable {
  // `@unchecked Sendable`: posted and read on the one thread of a test.
  private(set) var posted: [String] = []
  private(set) var changed: [Any]?
  private var tokens: [any NSObjectProtocol] = []

  init(_ coordinator: NSPersistentStoreCoordinator) {
    let name = Notification.Name.NSPersistentStoreCoordinatorStoresDidChange
    tokens.append(
      NotificationCenter.default.addObserver(forName: name, object: coordinator, queue: nil) { [weak self] in
        let info = $0.userInfo ?? [:]
        for (key, what) in [(NSAddedPersistentStoresKey, "added"), (NSRemovedPersistentStoresKey, "removed")]
        where info[key] != nil { self?.posted.append("did \(what)") }
        if let list = info[NSUUIDChangedPersistentStoresKey] as? [Any] { self?.changed = list }
      })
  }

  deinit { for token in tokens { NotificationCenter.default.removeObserver(token) } }
}
