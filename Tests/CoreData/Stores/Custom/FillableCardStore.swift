import CoreData

/// The store of the page *Writing your own store*, whose saves a test can make fail.
///
/// `@unchecked Sendable`: as its superclass.
final class FillableCardStore: CardStore, @unchecked Sendable {
  /// Registers the class once.
  static let isRegistered: Void = NSPersistentStoreCoordinator.registerStoreClass(
    FillableCardStore.self, forStoreType: storeType)

  /// Makes saves fail. `nonisolated(unsafe)`: set and read by one test's thread.
  nonisolated(unsafe) var isFull = false

  override func save() throws {
    if isFull { throw CocoaError(.fileWriteOutOfSpace) }
    try super.save()
  }
}
