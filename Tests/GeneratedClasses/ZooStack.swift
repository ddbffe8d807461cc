import CoreData
import TestFiles
import Testing

/// A container on the model Zoo, found by its name, and on a file in a folder of its own.
final class ZooStack {
  let folder = temporaryURL("zoo")
  let container: NSPersistentContainer

  init() throws {
    container = NSPersistentContainer(name: "Zoo")
    let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("Zoo.sqlite"))
    container.persistentStoreDescriptions = [description]
    container.loadPersistentStores { #expect($1 == nil) }
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Runs the block on a new context's queue.
  func perform(_ block: (NSManagedObjectContext) throws -> Void) throws {
    let context = container.newBackgroundContext()
    try context.performAndWait { try block(context) }
  }
}
