import CoreData
import Foundation

/// A coordinator on a file in a folder.
final class Stack {
  static let fileName = "store.sqlite"

  /// A folder that is removed with its last stack.
  final class Folder {
    let url: URL

    init() throws {
      url = FileManager.default.temporaryDirectory.appendingPathComponent("benchmark-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    // A directory that stays is a temporary one.
    deinit { try? FileManager.default.removeItem(at: url) }
  }

  let coordinator: NSPersistentStoreCoordinator
  let path: String
  private let folder: Folder?

  /// A stack on a new file in a new folder.
  convenience init(_ model: NSManagedObjectModel = PersonModel.make()) throws {
    let folder = try Folder()
    try self.init(folder.url, folder: folder, model: model)
  }

  /// A stack on the folder's file, which is created if it is missing.
  convenience init(_ folder: Folder) throws { try self.init(folder.url, folder: folder) }

  /// A further coordinator on the file in another owner's folder.
  convenience init(at folder: URL, options: [AnyHashable: Any]? = nil) throws {
    try self.init(folder, folder: nil, options: options)
  }

  private init(
    _ url: URL, folder: Folder?, model: NSManagedObjectModel = PersonModel.make(), options: [AnyHashable: Any]? = nil
  ) throws {
    self.folder = folder
    let file = url.appendingPathComponent(Self.fileName)
    path = file.path
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: file, options: options)
  }

  /// Another coordinator on the same file, with an empty row cache.
  func another(options: [AnyHashable: Any]? = nil) throws -> Stack {
    try Stack(URL(fileURLWithPath: path).deletingLastPathComponent(), folder: folder, options: options)
  }

  func context() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }
}
