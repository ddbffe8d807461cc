package import ObjectIdentity
internal import Synchronization

/// The identity of a managed object: its store, entity and key. Unlike the object it may be passed to other queues and
/// processes.
///
/// ```swift
/// let id = book.objectID
/// let pages = await container.performBackgroundTask { context in (context.object(with: id) as? Book)?.pages }
/// ```
///
/// A permanent ID has the URI `x-coredata://STORE-UUID/ENTITY/pKEY`. An object that was never saved has a temporary ID,
/// `x-coredata:///ENTITY/tUUID…`, which the save replaces: read `objectID` again after it, and keep no temporary ID.
/// IDs compare by value within one coordinator; a temporary ID never equals the permanent one that takes its place.
/// Between coordinators and processes pass `uriRepresentation()` or `uriString`.
///
/// Source: Apple's documentation of `NSManagedObjectID`; the forms of the URIs as Apple's stores and logs show them.
///
/// `@unchecked Sendable`: immutable.
///
/// ```text
/// x-coredata://3DADAD7C-A627-469D-80FB-A312CDACF7B7/Book/p1
///              the store's UUID                      |    the row's key, Z_PK
///                                                    the object's own entity, also for a fetch of an ancestor
/// ```
public final class NSManagedObjectID: NSObject, NSCopying, @unchecked Sendable {
  package let storedEntity: StoredEntity
  /// `Z_PK`; negative for a temporary ID.
  package let key: Int64

  package init(storedEntity: StoredEntity, key: Int64) {
    self.storedEntity = storedEntity
    self.key = key
    super.init()
  }

  /// A temporary ID of no object, equal to no other: a placeholder.
  ///
  /// No store has it and no context finds an object for it.
  public override convenience init() {
    self.init(storedEntity: Self.noEntity.layout.temporaryEntity, key: Self.nextTemporaryKey())
  }

  private static let noEntity = NSEntityDescription()

  /// The key for a new temporary ID, unique in this process.
  static func nextTemporaryKey() -> Int64 { -temporaryCounter.add(1, ordering: .relaxed).newValue }

  private static let temporaryCounter = Atomic<Int64>(0)
  private static let processIdentifier = UUID().uuidString

  /// The object's own entity, even if it was fetched through an ancestor.
  public var entity: NSEntityDescription { storedEntity.entity }

  /// The store that holds the object; nil for a temporary ID and for a removed store.
  ///
  /// ```swift
  /// if let store = book.objectID.persistentStore { print(store.url?.lastPathComponent ?? "") }
  /// ```
  public var persistentStore: NSPersistentStore? { objectStore }

  var objectStore: (any ObjectStore)? { storedEntity.storeReference?.store }

  /// Whether the ID is temporary: until the object's first save or `obtainPermanentIDs(for:)`.
  ///
  /// ```swift
  /// let newBook = Book(context: context)
  /// print(newBook.objectID.isTemporaryID)  // true
  /// try context.obtainPermanentIDs(for: [newBook])
  /// print(newBook.objectID.isTemporaryID)  // false, though it is not saved yet
  /// ```
  ///
  /// An ID that was kept from before still is the temporary one.
  public var isTemporaryID: Bool { key < 0 }

  /// The ID as a URI. That of a permanent ID names the same object in other processes and after a restart, as long as
  /// the store's UUID stays; `NSPersistentStoreCoordinator.managedObjectID(forURIRepresentation:)` reads it. That of a
  /// temporary ID means nothing elsewhere.
  ///
  /// ```swift
  /// let uri = book.objectID.uriRepresentation()
  /// if let id = coordinator.managedObjectID(forURIRepresentation: uri) {
  ///   let same = try context.existingObject(with: id)
  ///   print(same === book)
  /// }
  /// ```
  ///
  /// Use it for what leaves the process: a job, a link, a file. It makes a URL, which costs more than the text of
  /// `uriString`.
  public func uriRepresentation() -> URL {
    // UUIDs, digits and entity names have no characters that a URL refuses.
    URL(string: uriString)!
  }

  /// The text of `uriRepresentation()`, without the cost of a URL.
  public var uriString: String {
    objectURI?.description ?? referenceURI?.description
      ?? TemporaryObjectURI(entity: storedEntity.layout.name, name: Self.processIdentifier + String(-key)).description
  }

  /// The URI of a permanent ID; nil for a temporary one.
  package var objectURI: ObjectURI? {
    guard let reference = storedEntity.storeReference, key >= 0, reference.names == nil else { return nil }
    return ObjectURI(store: reference.identifier, entity: storedEntity.layout.name, key: key)
  }

  /// The key in the URI of a permanent ID; nil for a temporary one.
  package var rowKey: Int64? {
    guard let reference = storedEntity.storeReference, key >= 0, reference.names == nil else { return nil }
    return key
  }

  /// The URI of a permanent ID whose store knows its objects by references; nil for others.
  private var referenceURI: ObjectReferenceURI? {
    guard let reference = storedEntity.storeReference, key >= 0, let names = reference.names else { return nil }
    return ObjectReferenceURI(store: reference.identifier, entity: storedEntity.layout.name, name: names.name(key))
  }

  /// The key in the URI of a temporary ID of this process; nil for other texts.
  static func temporaryKey(uri: String) -> Int64? {
    guard let name = TemporaryObjectURI(uri)?.name, name.hasPrefix(processIdentifier),
      let number = Int64(name.dropFirst(processIdentifier.utf8.count)), number > 0
    else { return nil }
    return -number
  }

  package var relatedKey: RelatedKey { RelatedKey(key: key, number: Int64(storedEntity.number)) }

  /// The ID itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override var hash: Int { Int(truncatingIfNeeded: key) ^ (Int(storedEntity.table) << 40) }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSManagedObjectID else { return false }
    return self === other || (key == other.key && storedEntity.table == other.storedEntity.table)
  }

  public override var description: String { "<\(uriString)>" }
}

extension NSManagedObjectID: NSFetchRequestResult {}
