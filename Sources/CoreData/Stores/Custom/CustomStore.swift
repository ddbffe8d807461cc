/// The common part of stores of a program's own classes: references instead of keys, and managed objects instead of
/// rows.
///
/// How a program's class fits to a seam that knows keys and rows only:
///
/// ```text
/// seam                     NSAtomicStore                         NSIncrementalStore
/// -----------------------  ------------------------------------  ---------------------------------------------
/// open                     loadMetadata, load                    loadMetadata
/// fetch                    on rows in memory                     execute(NSFetchRequest)
/// row                      the same                              newValuesForObject
/// members                  the same                              newValue(forRelationship:)
/// newIDs                   newReferenceObject                    obtainPermanentIDs
/// write                    newCacheNode, updateCacheNode, save   execute(NSSaveChangesRequest)
/// a key                    from `ReferenceKeys`                  from `ReferenceKeys`
/// ```
///
/// Both want managed objects where the seam has rows: `ScratchObjects` makes them in a context of its own.
package protocol CustomStore: PlacedStore {
  init(
    registeredFor root: NSPersistentStoreCoordinator?, configurationName name: String?, at url: URL,
    options: [AnyHashable: Any]?)

  var references: ReferenceKeys { get }

  /// The IDs of new objects, in their order.
  func identify(_ objects: [NSManagedObject]) throws -> [NSManagedObjectID]
}

extension CustomStore {
  /// Makes a store of the program's class, which loads its metadata.
  ///
  /// The program's initialiser runs here, then its `loadMetadata`. Until the store is opened, IDs cannot be made:
  /// `references` belongs to an open store.
  ///
  /// - Returns: the store, by what IDs know it once it is open, and its empty table of references.
  static func make(
    _ opening: StoreOpening
  ) throws -> (store: Self, reference: StoreReference, references: ReferenceKeys) {
    let store = self.init(
      registeredFor: opening.coordinator, configurationName: opening.configurationName, at: opening.placeURL,
      options: opening.options)
    try store.loadMetadata()
    let identifier = try check(store.metadata, opening)
    let references = ReferenceKeys()
    store.identifier = identifier
    return (store, StoreReference(identifier: identifier, names: references), references)
  }

  func objectID(_ entity: NSEntityDescription, _ reference: Any) -> NSManagedObjectID {
    guard let storedEntity = storedEntities.byName[entity.name ?? ""] else {
      fatalError(
        "The store \(url?.absoluteString ?? type) holds no entity \(entity.name ?? ""), and so no object of it.")
    }
    return NSManagedObjectID(storedEntity: storedEntity, key: references.key(of: reference, storedEntity.number))
  }

  func reference(_ id: NSManagedObjectID) -> Any {
    guard id.storedEntity.collection === storedEntities, let reference = references.reference(id.key) else {
      fatalError("\(id) is not an ID of the store \(url?.absoluteString ?? type).")
    }
    return reference
  }

  package func newIDs(for rows: [Snapshot]) throws -> [NSManagedObjectID] { try idsOfNewObjects(for: rows) }

  private func idsOfNewObjects(for rows: [Snapshot]) throws -> [NSManagedObjectID] {
    let scratch = ScratchObjects(self)
    return try scratch.perform {
      try identify(rows.map { scratch.newObject($0, NSManagedObjectID.nextTemporaryKey()) })
    }
  }

  /// Checks the metadata that the program's class gives for a store that is being opened.
  ///
  /// A store without a UUID would give its objects URIs that name no store.
  static func check(_ metadata: [String: Any]?, _ opening: StoreOpening) throws -> String {
    let uuid = metadata?[NSStoreUUIDKey]
    guard let metadata, let identifier = uuid as? String ?? (uuid as? UUID)?.uuidString else {
      throw CoreDataErrors.error(
        .persistentStoreOpen,
        "The store at \(opening.place) has no metadata with \(NSStoreUUIDKey): \(self) has to set it when it is opened."
      )
    }
    if let type = metadata[NSStoreTypeKey] as? String, type != opening.type {
      throw CoreDataErrors.error(
        .persistentStoreTypeMismatch, "The store at \(opening.place) is of the type \(type), not \(opening.type).")
    }
    if opening.migration != .none, !StoreMetadata.isCurrent(metadata, opening.entities) {
      throw CoreDataErrors.error(
        .persistentStoreIncompatibleVersionHash,
        "The store at \(opening.place) was made with another model, and stores of the class \(self) are not migrated "
          + "when they are opened: migrate it with NSMigrationManager first.", ["metadata": metadata])
    }
    try StoreMetadata.checkVersion(of: metadata, for: opening.entities, options: opening.options, place: opening.place)
    return identifier
  }

  // MARK: Stores that are not open

  package static func metadata(at url: URL, _ options: [AnyHashable: Any]?) throws -> [String: Any] {
    try metadataForPersistentStore(with: url)
  }

  package static func setMetadata(_ metadata: [String: Any], at url: URL, _ options: [AnyHashable: Any]?) throws {
    try setMetadata(merging(metadata, into: metadataForPersistentStore(with: url)), forPersistentStoreAt: url)
  }

  /// Removes the file, if the URL is a file URL.
  package static func destroy(at url: URL, _ options: [AnyHashable: Any]?, closing: () throws -> Void) throws {
    if url.isFileURL, FileManager.default.fileExists(atPath: url.path) { try FileManager.default.removeItem(at: url) }
    try closing()
  }

  package static func replace(_ destination: StoreFile, with source: StoreFile) throws { throw unsupported("replaced") }

  package static func migrate(
    _ source: StoreFile, _ old: NSManagedObjectModel, to destination: StoreFile, _ new: NSManagedObjectModel
  ) throws -> Bool { false }

  package func copy(to opening: StoreOpening) throws -> (any ObjectStore)? { nil }

  static func unsupported(_ action: String) -> NSError {
    CoreDataErrors.error(.persistentStoreOperation, "Stores of the class \(self) cannot be \(action).")
  }
}

/// Where rows in memory do something else, the program's class decides.
extension CustomStore where Self: MemoryBacked {
  package func newIDs(for rows: [Snapshot]) throws -> [NSManagedObjectID] { try idsOfNewObjects(for: rows) }

  package func copy(to opening: StoreOpening) throws -> (any ObjectStore)? { nil }
}

extension NSPersistentStore {
  /// Traps: a subclass does not override a method that it has to override.
  func subclassMustOverride(_ method: String = #function) -> Never {
    fatalError("\(Swift.type(of: self)) has to override \(method).")
  }
}
