import Testing

@testable import CoreData

/// Every save is posted to all who asked for it, in this process and in others.
@Suite(.timeLimit(.minutes(20))) struct RemoteChangeTests {
  private static func options(_ more: [AnyHashable: Any] = [:]) -> [AnyHashable: Any] {
    let options: [AnyHashable: Any] = [
      NSPersistentHistoryTrackingKey: true, NSPersistentStoreRemoteChangeNotificationPostOptionKey: true,
    ]
    return options.merging(more) { $1 }
  }

  private func save(_ label: String, _ coordinator: NSPersistentStoreCoordinator) throws {
    let context = coordinator.context()
    try context.performAndWait {
      context.make("Tag", ["label": label])
      try context.save()
    }
  }

  @Test func aSaveOfThisCoordinatorIsPostedWithURLUUIDAndToken() async throws {
    let store = try TemporaryStore(options: Self.options())
    let changes = RemoteChanges(store.coordinator)
    try save("a", store.coordinator)
    let change = await changes.first { $0.transaction == 1 }
    #expect(change.url == store.url && change.uuid == store.coordinator.persistentStores[0].identifier)
  }

  @Test func aSaveOfAnotherCoordinatorIsPosted() async throws {
    let store = try TemporaryStore(options: Self.options())
    let other = try store.otherCoordinator()
    let changes = RemoteChanges(store.coordinator)
    for number in 1...5 {
      try save("\(number)", other)
      _ = await changes.first { $0.transaction == Int64(number) }
    }
  }

  @Test func batchRequestsArePosted() async throws {
    let store = try TemporaryStore(options: Self.options())
    let changes = RemoteChanges(store.coordinator)
    try store.read { context in
      try context.execute(NSBatchInsertRequest(entityName: "Tag", objects: [["label": "a"]]))
    }
    _ = await changes.first { $0.transaction == 1 }
    try store.read { context in
      try context.execute(NSBatchDeleteRequest(fetchRequest: NSFetchRequest<NSManagedObject>(entityName: "Tag")))
    }
    _ = await changes.first { $0.transaction == 2 }
  }

  @Test func everySaveOfAnotherProcessIsToldOfByTheTimeOfTheLast() async throws {
    let store = try TemporaryStore(options: Self.options())
    let changes = RemoteChanges(store.coordinator)
    await #expect(processExitsWith: .success) { [path = store.url.path as String] in
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: URL(fileURLWithPath: path))
      let context = coordinator.context()
      try context.performAndWait {
        for number in 1...100 {
          context.make("Tag", ["label": "\(number)"])
          try context.save()
        }
      }
    }
    _ = await changes.first { $0.transaction == 100 }
    try store.read { try #expect($0.all("Tag").count == 100) }
  }

  @Test func whatAnotherProcessHasWrittenAndNotCommittedIsToldOfWhenItCommits() async throws {
    let store = try TemporaryStore(options: Self.options())
    let changes = RemoteChanges(store.coordinator)
    // this process                        | other process
    // ------------------------------------+---------------------------------------------
    //                                     | BEGIN, many rows: the log is written to
    // wakes, finds nothing, finds it busy |
    // lets it go on                       |
    //                                     | COMMIT
    // posts                               |
    let busy = DispatchSemaphore(value: 0)
    let path = store.url.resolvingSymlinksInPath().path
    CommitWatcher.shared.setWhenBusy { if $0 == path { busy.signal() } }
    defer { CommitWatcher.shared.setWhenBusy(nil) }
    let gate = store.folder.appendingPathComponent("gate").path
    try #require(mkfifo(gate, 0o600) == 0)
    let isCommitted = Flag()
    let waiter = Thread {
      busy.wait()
      // Opening blocks until the other end is open.
      let descriptor = open(gate, O_WRONLY)
      isCommitted.set()
      close(descriptor)
    }
    waiter.start()
    await #expect(processExitsWith: .success) { [path = store.url.path as String, gate = gate as String] in
      let connection = try SQLiteConnection(path: path, access: .readWrite)
      try connection.execute("PRAGMA cache_size = 10; BEGIN IMMEDIATE")
      for number in 1...2000 {
        try connection.run("INSERT INTO ZTAG (Z_ENT, Z_OPT, ZLABEL) VALUES (5, 1, \(bind: .text("label \(number)")))")
      }
      close(open(gate, O_RDONLY))
      try connection.execute("COMMIT")
    }
    _ = await changes.first { _ in true }
    #expect(isCommitted.isSet)
  }

  @Test func aLogThatBeginsAnewAndAFileWithoutOneAreWatchedToo() async throws {
    let store = try TemporaryStore(options: Self.options())
    let changes = RemoteChanges(store.coordinator)
    try save("a", store.coordinator)
    _ = await changes.first { $0.transaction == 1 }
    let connection = try SQLiteConnection(path: store.url.path, access: .readWrite)
    _ = try connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    try save("b", store.coordinator)
    _ = await changes.first { $0.transaction == 2 }

    let plain = try TemporaryStore(options: Self.options([NSSQLitePragmasOption: ["journal_mode": "DELETE"]]))
    let others = RemoteChanges(plain.coordinator)
    try save("a", try plain.otherCoordinator([NSSQLitePragmasOption: ["journal_mode": "DELETE"]]))
    _ = await others.first { $0.transaction == 1 }
  }

  @Test func aFilePutInTheStoresPlaceIsToldOf() async throws {
    let store = try TemporaryStore(options: Self.options())
    let changes = RemoteChanges(store.coordinator)
    let copy = store.folder.appendingPathComponent("copy.sqlite").path
    try SQLiteConnection(path: store.url.path, access: .readWrite).execute("VACUUM INTO '\(copy)'")
    try #require(rename(copy, store.url.path) == 0)
    _ = await changes.first { _ in true }
  }

  @Test func aSlowObserverDoesNotKeepTheNextCommitFromBeingNoticed() async throws {
    let store = try TemporaryStore(options: Self.options())
    let gate = DispatchSemaphore(value: 0)
    let observer = NotificationCenter.default.addObserver(
      forName: .NSPersistentStoreRemoteChange, object: store.coordinator, queue: nil
    ) { _ in gate.wait() }
    defer { NotificationCenter.default.removeObserver(observer) }
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    let registration = try CommitWatcher.shared.watch(store.url.path) { _ in continuation.yield() }
    for label in ["a", "b"] {
      try save(label, store.coordinator)
      for await _ in stream { break }
    }
    registration.cancel()
    for _ in 1...100 { gate.signal() }
  }

  @Test func storesInMemoryPostTheirOwnSaves() async throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: URL(fileURLWithPath: "/dev/null"), options: Self.options())
    let changes = RemoteChanges(coordinator)
    try save("a", coordinator)
    _ = await changes.first { $0.transaction == 1 }
  }

  @Test func aStoreThatIsRemovedOrDidNotAskPostsNothing() async throws {
    let store = try TemporaryStore(options: Self.options())
    let silent = try store.otherCoordinator()
    let unwanted = RemoteChanges(silent)
    let third = try store.otherCoordinator()
    let changes = RemoteChanges(store.coordinator)
    try save("a", third)
    _ = await changes.first { $0.transaction == 1 }
    try store.coordinator.remove(store.coordinator.persistentStores[0])
    try save("b", third)
    // An observer that asked later only hears of later saves.
    let last = try store.otherCoordinator(Self.options())
    let later = RemoteChanges(last)
    try save("c", third)
    _ = await later.first { $0.transaction == 3 }
    #expect(changes.count == 1 && unwanted.count == 0)
  }
}

/// The remote-change notifications of one coordinator.
///
/// `@unchecked Sendable`: the count is used under the lock, the rest is constant after `init`.
final class RemoteChanges: @unchecked Sendable {
  struct Change: Sendable {
    let url: URL?
    let uuid: String?
    let transaction: Int64?
  }

  private let stream: AsyncStream<Change>
  private let lock = NSLock()
  private var posted = 0
  private var observer: (any NSObjectProtocol)?

  init(_ coordinator: NSPersistentStoreCoordinator) {
    let (stream, continuation) = AsyncStream<Change>.makeStream()
    self.stream = stream
    observer = NotificationCenter.default.addObserver(
      forName: .NSPersistentStoreRemoteChange, object: coordinator, queue: nil
    ) { [weak self] notification in
      let token = notification.userInfo?[NSPersistentHistoryTokenKey] as? NSPersistentHistoryToken
      self?.lock.withLock { self?.posted += 1 }
      continuation.yield(
        Change(
          url: notification.userInfo?[NSPersistentStoreURLKey] as? URL,
          uuid: notification.userInfo?[NSStoreUUIDKey] as? String, transaction: token?.numbers.values.first))
    }
  }

  deinit { if let observer { NotificationCenter.default.removeObserver(observer) } }

  var count: Int { lock.withLock { posted } }

  /// Waits for a change that satisfies the condition.
  func first(where isWanted: (Change) -> Bool) async -> Change {
    for await change in stream where isWanted(change) { return change }
    fatalError("The stream of changes ended.")
  }
}

/// An event that happens once and that other threads can see.
private final class Flag: @unchecked Sendable {
  // `@unchecked Sendable`: used under the lock.
  private let lock = NSLock()
  private var value = false
  func set() { lock.withLock { value = true } }
  var isSet: Bool { lock.withLock { value } }
}
