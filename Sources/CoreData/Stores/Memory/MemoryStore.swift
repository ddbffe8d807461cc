/// A store in memory, which ends with its coordinator.
///
/// `@unchecked Sendable`: set up in `init`; `memory` does its own locking.
///
/// ```text
/// NSInMemoryStoreType                      NSSQLiteStoreType at /dev/null
/// ---------------------------------------  -----------------------------------------------------
/// rows as snapshots, found by key          an SQLite database in memory
/// predicates run in Swift                  predicates run in SQL
/// every predicate works, blocks too        those that SQL can express
/// no batch requests                        batch requests
/// a reader never waits for a writer        one connection for both: a fetch waits for a save
/// ```
///
/// Two coordinators never share such a store.
final class MemoryStore: NSPersistentStore, MemoryBacked, @unchecked Sendable {
  static var storeTypes: [String] { [NSInMemoryStoreType] }

  let memory: MemoryRows

  private init(_ opening: StoreOpening) {
    let reference = StoreReference(identifier: UUID().uuidString)
    memory = MemoryRows(MemorySchema(opening.entities, reference), keepsHistory: opening.recordsHistory)
    super.init(
      persistentStoreCoordinator: nil, configurationName: opening.configurationName, at: opening.placeURL,
      options: opening.options)
    wasOpened(as: opening.type, at: opening.url, identifier: reference.identifier)
    metadata = StoreMetadata.new(opening, identifier: reference.identifier)
    reference.store = self
  }

  /// Holds the rows of a file that is being migrated. No coordinator has it.
  ///
  /// `FileStore` decodes a file into one, maps it into another, and encodes that: the whole of a file's migration is
  /// two of these and a `StoreCopy`.
  init(holding entities: [NSEntityDescription]) {
    let reference = StoreReference(identifier: UUID().uuidString)
    memory = MemoryRows(MemorySchema(entities, reference, sharesKeys: true))
    super.init(persistentStoreCoordinator: nil, configurationName: nil, at: URL(fileURLWithPath: "/dev/null"))
    wasOpened(as: NSInMemoryStoreType, at: nil, identifier: reference.identifier)
    metadata = [:]
    reference.store = self
  }

  static func open(_ opening: StoreOpening) throws -> any ObjectStore { MemoryStore(opening) }

  // MARK: Without a file

  static func metadata(at url: URL, _ options: [AnyHashable: Any]?) throws -> [String: Any] { throw hasNoFile("read") }

  static func setMetadata(_ metadata: [String: Any], at url: URL, _ options: [AnyHashable: Any]?) throws {
    throw hasNoFile("set")
  }

  static func destroy(at url: URL, _ options: [AnyHashable: Any]?, closing: () throws -> Void) throws { try closing() }

  static func replace(_ destination: StoreFile, with source: StoreFile) throws { throw hasNoFile("replaced") }

  static func migrate(
    _ source: StoreFile, _ old: NSManagedObjectModel, to destination: StoreFile, _ new: NSManagedObjectModel
  ) throws -> Bool {
    throw hasNoFile("migrated")
  }

  private static func hasNoFile(_ action: String) -> NSError {
    CoreDataErrors.error(
      .persistentStoreOperation,
      "Stores of the type \(NSInMemoryStoreType) have no file whose content could be \(action); open one and use that.")
  }
}
