import TestFiles
import Testing

@testable import CoreData

/// A coordinator with one store of a kind, in a folder of its own.
struct StoreStack {
  let kind: StoreKind
  let coordinator: NSPersistentStoreCoordinator
  let folder: URL
  private let cleaner: Cleaner

  private final class Cleaner {
    let folder: URL
    init(_ folder: URL) { self.folder = folder }
    deinit {
      Shelf.remove(folder.appendingPathComponent("store"))
      try? FileManager.default.removeItem(at: folder)
    }
  }

  var url: URL { kind.place(folder.appendingPathComponent("store")) }
  var store: NSPersistentStore { coordinator.persistentStores[0] }

  init(_ kind: StoreKind, _ model: NSManagedObjectModel = LibraryModel.make(), options: [AnyHashable: Any]? = nil)
    throws
  {
    folder = temporaryURL("stack")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    cleaner = Cleaner(folder)
    self.kind = kind
    kind.register()
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(ofType: kind.type, configurationName: nil, at: url, options: options)
  }

  func context(_ coordinator: NSPersistentStoreCoordinator? = nil) -> NSManagedObjectContext {
    (coordinator ?? self.coordinator).context()
  }

  /// Another coordinator with the same store, as another process has it.
  func another(_ model: NSManagedObjectModel = LibraryModel.make()) throws -> NSPersistentStoreCoordinator {
    let other = NSPersistentStoreCoordinator(managedObjectModel: model)
    try other.addPersistentStore(ofType: kind.type, configurationName: nil, at: url)
    return other
  }

  @discardableResult
  func perform<T>(_ body: (NSManagedObjectContext) throws -> T) rethrows -> T {
    let context = context()
    return try context.performAndWait { try body(context) }
  }
}
