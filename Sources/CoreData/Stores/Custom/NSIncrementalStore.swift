/// The superclass of a program's own store that reads and saves on request: from a database, from a web service.
///
/// A subclass overrides `loadMetadata()`, which sets `metadata` with `NSStoreUUIDKey` and `NSStoreTypeKey`,
/// `execute(_:with:)`, `newValuesForObject(with:with:)`, `newValue(forRelationship:forObjectWith:with:)`,
/// `obtainPermanentIDs(for:)` and `type`. It is registered with
/// `NSPersistentStoreCoordinator.registerStoreClass(_:forStoreType:)`.
///
/// The methods are called on any thread, those for reading on several at once. The context that they get is not one of
/// the program's: use it to make objects for IDs, and to read related objects.
///
/// Core Data keeps objects, faults, relationships and changes in memory; the store answers requests and writes rows.
/// Its rows have versions, by which conflicts are noticed: see `NSIncrementalStoreNode`. A save to several stores is
/// given to an incremental store last, since it cannot take anything back.
///
/// Source: Apple's documentation of `NSIncrementalStore`, and its Incremental Store Programming Guide.
///
/// `@unchecked Sendable`: `opened` is set before other threads get the store; a subclass does its own locking.
///
/// A store that answers from a table in memory, without saving:
///
/// ```swift
/// final class ListStore: NSIncrementalStore, @unchecked Sendable {
///   private let names = [1: "Le Guin", 2: "Butler"]
///
///   override func loadMetadata() throws { metadata = [NSStoreUUIDKey: UUID().uuidString, NSStoreTypeKey: "List"] }
///
///   override func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws -> Any {
///     guard let fetch = request as? NSFetchRequest<any NSFetchRequestResult>, let entity = fetch.entity else {
///       throw CocoaError(.featureUnsupported)
///     }
///     if fetch.resultType == .countResultType { return [names.count] }
///     return names.keys.sorted().map { newObjectID(for: entity, referenceObject: $0) }
///   }
///
///   override func newValuesForObject(
///     with objectID: NSManagedObjectID, with context: NSManagedObjectContext
///   ) throws -> NSIncrementalStoreNode {
///     let name = names[referenceObject(for: objectID) as? Int ?? 0] ?? ""
///     return NSIncrementalStoreNode(objectID: objectID, withValues: ["name": name], version: 1)
///   }
/// }
/// NSPersistentStoreCoordinator.registerStoreClass(ListStore.self, forStoreType: "List")
/// ```
///
/// A complete one also honours the request's predicate, order, limit and offset, since nobody does that after it.
open class NSIncrementalStore: NSPersistentStore, @unchecked Sendable {
  final fileprivate(set) var opened: OpenedIncrementalStore?

  /// Makes a store, which a coordinator opens afterwards. A subclass may override this.
  ///
  /// - Parameters:
  ///   - root: the coordinator that opens it.
  ///   - name: the configuration of the model; nil for all entities.
  ///   - url: the place of the store; `file:///dev/null` if none was given.
  public override init(
    persistentStoreCoordinator root: NSPersistentStoreCoordinator?, configurationName name: String?, at url: URL,
    options: [AnyHashable: Any]? = nil
  ) {
    super.init(persistentStoreCoordinator: root, configurationName: name, at: url, options: options)
  }

  /// Called by a coordinator to make a store of a registered class. A subclass inherits it.
  public required convenience init(
    registeredFor root: NSPersistentStoreCoordinator?, configurationName name: String?, at url: URL,
    options: [AnyHashable: Any]?
  ) {
    self.init(persistentStoreCoordinator: root, configurationName: name, at: url, options: options)
  }

  // MARK: For a subclass to override

  /// Sets `metadata`. Called once, when the store is opened.
  open override func loadMetadata() throws { subclassMustOverride() }

  /// Carries out a request.
  ///
  /// A fetch of objects comes with the result type `.managedObjectResultType`; IDs will do as well as objects. Values
  /// are asked for later, object by object: with a service it pays to keep those that came with the answer.
  ///
  /// - Parameters:
  ///   - request: an `NSFetchRequest` or an `NSSaveChangesRequest`.
  ///   - context: makes objects for IDs.
  /// - Returns: for a fetch an array of what the request's `resultType` asks for: managed objects, IDs, dictionaries,
  ///   or one `NSNumber`, the count. For a save an empty array.
  /// - Throws: any error. A save that throws has to leave the store as it was.
  open func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws -> Any {
    subclassMustOverride()
  }

  /// The values of an object's attributes and to-one relationships.
  ///
  /// Called when a fault fires and the row cache does not have the row, and after each save for each written object, to
  /// learn its version. A node may leave to-one relationships out; they are then asked for one by one.
  ///
  /// - Throws: 133000 (`NSManagedObjectReferentialIntegrityError`) if there is no such object.
  open func newValuesForObject(
    with objectID: NSManagedObjectID, with context: NSManagedObjectContext
  ) throws -> NSIncrementalStoreNode {
    subclassMustOverride()
  }

  /// The objects of a relationship: for a to-one relationship an `NSManagedObjectID` or `NSNull`, for a to-many
  /// relationship an array of IDs, in their order if it is ordered.
  ///
  /// Called when a to-many fault fires. For each member whose row is not in the row cache `newValuesForObject` follows
  /// at once.
  open func newValue(
    forRelationship relationship: NSRelationshipDescription, forObjectWith objectID: NSManagedObjectID,
    with context: NSManagedObjectContext?
  ) throws -> Any {
    subclassMustOverride()
  }

  /// The IDs of new objects, in their order: made with `newObjectID(for:referenceObject:)`. Called before the save that
  /// inserts them.
  ///
  /// A service that names objects itself has to be asked here, before the objects are written. A store may give
  /// references of its own, such as UUIDs, and send them along.
  open func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] { subclassMustOverride() }

  /// An identifier for a new store: by default a UUID's text.
  ///
  /// For the `loadMetadata()` of a subclass; Core Data does not call it.
  open class func identifierForNewStore(at storeURL: URL) -> Any { UUID().uuidString }

  /// Called with the IDs of objects that a context has from now on: fetched ones, faults, and new ones once they have
  /// permanent IDs. Does nothing by default.
  ///
  /// An ID comes once for each context that has its object, child contexts included. The contexts that the store itself
  /// is called with do not count. Called on the context's queue.
  open func managedObjectContextDidRegisterObjects(with objectIDs: [NSManagedObjectID]) {}

  /// Called with the IDs of objects that a context no longer has: once for each ID that it registered. Does nothing by
  /// default.
  ///
  /// An object leaves its context when its deletion was saved, after a reset, and with the context. An unchanged object
  /// that nobody holds leaves a little later, when the context has grown or `registeredObjects` is read. Called on the
  /// context's queue, or on the thread that frees the context.
  open func managedObjectContextDidUnregisterObjects(with objectIDs: [NSManagedObjectID]) {}

  open override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    throw unsupported("asked for metadata while they are closed; override metadataForPersistentStore(with:)")
  }

  open override class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    throw unsupported("given metadata while they are closed; override setMetadata(_:forPersistentStoreAt:)")
  }

  // MARK: For a subclass to call

  /// The ID for a reference, the same each time. A reference is a whole number, a string or a UUID, and is part of the
  /// ID's URI. Traps for an entity that the store does not hold.
  open func newObjectID(for entity: NSEntityDescription, referenceObject data: Any) -> NSManagedObjectID {
    objectID(entity, data)
  }

  /// The reference of an object. Traps for an ID of another store.
  open func referenceObject(for objectID: NSManagedObjectID) -> Any { reference(objectID) }
}

/// The parts of an incremental store that exist once it is open.
///
/// `@unchecked Sendable`: the thread that has `scope` uses `unreadRows`; the other parts do their own locking.
///
/// Made at the end of the opening: a subclass's initialiser and `loadMetadata` run before there is one, so they cannot
/// make IDs.
final class OpenedIncrementalStore: @unchecked Sendable {
  let storedEntities: StoredEntities
  let references: ReferenceKeys
  let rowCache = RowCache()
  let scope = SingleWriter()
  /// The rows of a save that could not be read after it.
  var unreadRows: [(key: Int64, table: Int32)] = []

  init(_ entities: [NSEntityDescription], _ reference: StoreReference, _ references: ReferenceKeys) {
    storedEntities = StoredEntities(of: entities, reference, isFollowed: true)
    self.references = references
  }

  /// Removes the rows from the cache, which has the saved values under a version that is not the store's.
  func forgetUnreadRows() {
    if unreadRows.isEmpty { return }
    rowCache.commit(saved: [], removed: unreadRows)
    unreadRows = []
  }
}

/// Lets one thread write at a time. It rolls nothing back: the program's store does that itself, or not at all.
///
/// `rollsBack` is false, so that the coordinator gives the save to this store after all that can be rolled back.
final class SingleWriter: WriteScope {
  private let lock = NSRecursiveLock()
  var name: String { "" }
  var rollsBack: Bool { false }
  func exclusively(_ body: () throws -> Void) throws { try lock.withLock(body) }
  func transaction(_ doing: String, _ body: () throws -> Void) throws { try exclusively(body) }
}

// MARK: Opening

extension NSIncrementalStore: CustomStore, FollowingStore {
  package var needsBothEnds: Bool { true }

  final var state: OpenedIncrementalStore {
    if let opened { return opened }
    fatalError("\(Swift.type(of: self)) was used before a coordinator has opened it.")
  }

  package final var references: ReferenceKeys { state.references }
  package final var storedEntities: StoredEntities { state.storedEntities }
  package final var rowCache: RowCache { state.rowCache }
  package final var writeScope: any WriteScope { state.scope }

  package static var storeTypes: [String] { [] }

  package static func open(_ opening: StoreOpening) throws -> any ObjectStore {
    let (store, reference, references) = try make(opening)
    store.opened = OpenedIncrementalStore(opening.entities, reference, references)
    reference.store = store
    return store
  }

  /// A store that returns too few IDs would give an object another one's identity; it is an error instead.
  package final func identify(_ objects: [NSManagedObject]) throws -> [NSManagedObjectID] {
    if objects.isEmpty { return [] }
    let ids = try obtainPermanentIDs(for: objects)
    if ids.count == objects.count { return ids }
    throw CoreDataErrors.error(
      .persistentStoreSave,
      "\(Swift.type(of: self)).obtainPermanentIDs(for:) gave \(ids.count) IDs for \(objects.count) objects.")
  }

  package func contextDidRegister(_ ids: [NSManagedObjectID]) { managedObjectContextDidRegisterObjects(with: ids) }
  package func contextDidUnregister(_ ids: [NSManagedObjectID]) { managedObjectContextDidUnregisterObjects(with: ids) }

  package func close(beside others: [any ObjectStore]) {}
  package var files: [URL] { [] }

  // MARK: Left to the subclass

  /// Only the program's store knows whether others have written: it then returns another version.
  package func validateRowCache() {}

  package func pin(beside others: [any PinnedStore]) throws -> (any PinnedStore)? { nil }

  package func violations(of rejected: [RowChanges.Place], in changes: RowChanges) throws -> [ConstraintViolation] {
    []
  }
}
