import CoreData

/// The folder of an example, and containers on the store in it.
struct Place: Sendable {
  let folder: URL
  let model: NSManagedObjectModel

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("examples-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    guard let url = Bundle.module.url(forResource: "Contacts", withExtension: "momd"),
      let model = NSManagedObjectModel(contentsOf: url)
    else { throw Unexpected("the model Contacts is not among the resources") }
    self.model = model
  }

  // A folder that stays is a temporary one.
  func remove() { try? FileManager.default.removeItem(at: folder) }

  var store: URL { folder.appendingPathComponent("Contacts.sqlite") }

  /// A container whose store is loaded. A second one on the same file stands for another process.
  func loadedContainer() throws -> NSPersistentContainer {
    let container = NSPersistentContainer(name: "Contacts", managedObjectModel: model)
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: store)]
    let failure = Locked<(any Error)?>(nil)
    container.loadPersistentStores { _, error in failure.set(error) }
    if let error = failure.value { throw error }
    return container
  }
}

/// Prints what happened, and throws if the guide promises something else.
func show(_ sentence: String, _ isSo: Bool = true) throws {
  guard isSo else { throw Unexpected("not so: \(sentence)") }
  print("  \(sentence)")
}

struct Unexpected: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// A value that several queues read and write.
///
/// `@unchecked Sendable`: the value is used under the lock only.
final class Locked<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var stored: Value

  init(_ value: Value) { stored = value }

  var value: Value { lock.withLock { stored } }
  func set(_ value: Value) { lock.withLock { stored = value } }
  func change<Result>(_ body: (inout Value) -> Result) -> Result { lock.withLock { body(&stored) } }
}
