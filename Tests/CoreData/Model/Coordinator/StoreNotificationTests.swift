import CoreData
import TestFiles
import Testing

/// What a coordinator posts when its stores change.
@Suite struct StoreNotificationTests {
  /// `@unchecked Sendable`: the notifications are posted and read on the one thread of a test.
  private final class Log: @unchecked Sendable {
    var posted: [Notification] = []
    private var tokens: [any NSObjectProtocol] = []

    init(_ coordinator: NSPersistentStoreCoordinator, _ store: NSPersistentStore) {
      for name: Notification.Name in [
        .NSPersistentStoreCoordinatorStoresWillChange, .NSPersistentStoreCoordinatorStoresDidChange,
        .NSPersistentStoreCoordinatorWillRemoveStore,
      ] {
        for object: NSObject in [coordinator, store] {
          tokens.append(
            NotificationCenter.default.addObserver(forName: name, object: object, queue: nil) { [weak self] in
              self?.posted.append($0)
            })
        }
      }
    }

    deinit { for token in tokens { NotificationCenter.default.removeObserver(token) } }
  }

  @Test func aRemovalIsToldByTheStoreFirst() throws {
    let store = try TemporaryStore()
    let file = try #require(store.coordinator.persistentStores.first)
    let log = Log(store.coordinator, file)
    try store.coordinator.remove(file)
    let posted = log.posted
    #expect(
      posted.map(\.name) == [
        .NSPersistentStoreCoordinatorWillRemoveStore, .NSPersistentStoreCoordinatorStoresDidChange,
      ])
    #expect(posted.first?.object as AnyObject === file)
    #expect(posted.last?.userInfo?[NSRemovedPersistentStoresKey] as? [NSPersistentStore] == [file])
  }

  @Test func aMigrationIsToldWithOldStoreNewStoreAndTheIDs() throws {
    let store = try TemporaryStore()
    let old = try #require(store.coordinator.persistentStores.first)
    let oldID = try store.save { $0.make("Book", ["title": "One"]) }.objectID
    let log = Log(store.coordinator, old)
    let place = store.folder.appendingPathComponent("moved.sqlite")
    let new = try store.coordinator.migratePersistentStore(old, to: place, withType: NSSQLiteStoreType)
    let posted = log.posted
    #expect(!posted.contains { $0.name == .NSPersistentStoreCoordinatorStoresWillChange })
    let changes = posted.compactMap { $0.userInfo?[NSUUIDChangedPersistentStoresKey] as? [Any] }
    let change = try #require(changes.first)
    #expect(changes.count == 1 && change.count == 3)
    #expect(change[0] as AnyObject === old && change[1] as AnyObject === new)
    let ids = try #require(change[2] as? [NSManagedObjectID])
    #expect(ids.count == 2 && ids[0] == oldID && ids[1].persistentStore === new)
  }
}
