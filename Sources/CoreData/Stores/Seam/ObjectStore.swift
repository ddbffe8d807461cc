/// The seam between objects and the place of their rows: what every store does for a coordinator and its contexts.
///
/// What some stores do besides is a protocol of its own, which a store adopts: `PlacedStore`, `BatchStore`,
/// `HistoryStore`, `NumberedStore`, `FollowingStore`, `ConnectedStore`, `DeferringStore`.
///
/// Only values cross it: rows (`Snapshot`), keys and object IDs, sets of changes, conflicts, requests. A store sees no
/// managed object and no context, and its users know neither its file format nor its query language.
///
/// Stores are called on any thread, several at once, once for each request. A closure gets rows one by one, as they are
/// read.
///
/// ```text
/// NSManagedObjectContext        objects, faults, changes, merge policies
/// NSPersistentStoreCoordinator  which store, in which order, in which transaction
/// ----------------------------- the seam: Snapshot, RowFetch, RowChanges, SavedRows, RowConflicts
/// SQLiteStore   MemoryStore   FileStore   NSAtomicStore   NSIncrementalStore   PostgreSQL's
/// ```
///
/// The calls of a program's statement, in their order:
///
/// ```text
/// context.fetch(request)        understands, fetch
/// book.title on a fault         validateRowCache (once for each block of the context), rowCache.find, else row(_:in:)
/// author.books on a fault       members(of:_:in:)
/// context.save()                newIDs (if asked for), writeScope.exclusively, transaction, write, didCommit
///                               RowConflicts or RejectedRows: rolled back; violations(of:in:), the merge policy, again
/// ```
package protocol ObjectStore: NSPersistentStore {
  /// The entities that the store holds, by number.
  var storedEntities: StoredEntities { get }

  /// The recently read or written rows, for all contexts of the coordinator.
  var rowCache: RowCache { get }

  /// Whether a save has to tell both ends of a relationship that is to-many at both: a store of an app's class gets
  /// whole objects. In other stores one end tells the other. Default: false.
  var needsBothEnds: Bool { get }

  /// Drops the cached rows if another coordinator or process wrote to the store since the last call.
  func validateRowCache()

  // MARK: Reading

  /// Whether the store can evaluate the predicate and the order of a fetch. If not, its user does so, with the rows of
  /// `understoodPart(of:)`.
  func understands(_ fetch: RowFetch) throws -> Bool

  /// Gives the body each row, in order. Without values the snapshot is nil. The body owns the snapshot, so that it
  /// may keep it without another retain.
  func fetch(_ fetch: RowFetch, _ body: (StoredEntity, Int64, __owned Snapshot?) -> Void) throws

  func count(_ fetch: RowFetch) throws -> Int

  /// Columns, aggregates and groups of the rows. A nil value has no key.
  func dictionaries(_ settings: FetchSettings, _ fetch: RowFetch) throws -> [NSDictionary]

  /// The row of an ID; nil for none.
  func row(_ id: NSManagedObjectID, in generation: QueryGeneration?) throws -> Snapshot?

  /// Gives the body the existing rows of the keys, in any order.
  func rows(
    _ keys: [Int64], of storedEntity: StoredEntity, in generation: QueryGeneration?, _ body: (Int64, Snapshot) -> Void)
    throws

  /// Gives the body each member of a to-many relationship, in order if it has one.
  func members(
    of id: NSManagedObjectID, _ relationship: NSRelationshipDescription, in generation: QueryGeneration?,
    _ body: (StoredEntity, Int64, Snapshot) -> Void) throws

  /// Gives the body each member of the to-many relationships of several rows of one entity, with its owner's key. The
  /// members of one owner are in order if they have one.
  func members(
    ofEach keys: [Int64], _ storedEntity: StoredEntity, _ relationship: NSRelationshipDescription,
    in generation: QueryGeneration?, _ body: (Int64, StoredEntity, Int64, Snapshot) -> Void) throws

  /// The same without the members' values.
  func memberKeys(
    ofEach keys: [Int64], _ storedEntity: StoredEntity, _ relationship: NSRelationshipDescription,
    in generation: QueryGeneration?, _ body: (Int64, StoredEntity, Int64) -> Void) throws

  /// Keeps the present state of the store readable; nil if the store cannot do that.
  ///
  /// - Parameter others: the states that other stores of the coordinator have just pinned.
  func pin(beside others: [any PinnedStore]) throws -> (any PinnedStore)?

  // MARK: Writing

  /// The scope in which the store writes, which other stores may share.
  var writeScope: any WriteScope { get }

  /// Writes rows and changed metadata, in a transaction of the store's scope.
  ///
  /// - Throws: `RowConflicts` or `RejectedRows`. The transaction must be rolled back then.
  func write(_ changes: RowChanges) throws -> SavedRows

  /// Called after the transaction of the last `write` was committed.
  func didCommit()

  /// The owners of the unique values of rejected rows: rows of the save among themselves, and current rows of the
  /// store.
  func violations(of rejected: [RowChanges.Place], in changes: RowChanges) throws -> [ConstraintViolation]

  /// Reserves keys for new rows before they are written, one for each.
  ///
  /// For `obtainPermanentIDs(for:)`. Keys that are never used are lost: numbers have gaps.
  func newIDs(for rows: [Snapshot]) throws -> [NSManagedObjectID]

  // MARK: Opening and closing

  /// Opens a store, or creates one if there is none.
  static func open(_ opening: StoreOpening) throws -> any ObjectStore

  /// Ends the coordinator's use of the store.
  ///
  /// - Parameter others: the coordinator's stores that stay open.
  func close(beside others: [any ObjectStore])
}

extension ObjectStore {
  package var needsBothEnds: Bool { false }

  package func memberKeys(
    ofEach keys: [Int64], _ storedEntity: StoredEntity, _ relationship: NSRelationshipDescription,
    in generation: QueryGeneration?, _ body: (Int64, StoredEntity, Int64) -> Void
  ) throws {
    try members(ofEach: keys, storedEntity, relationship, in: generation) { owner, member, key, _ in
      body(owner, member, key)
    }
  }

  /// The entity of rows with a layout.
  package func storedEntity(of layout: EntityLayout) throws -> StoredEntity {
    if let storedEntity = storedEntities.byName[layout.name] { return storedEntity }
    throw CoreDataErrors.error(.persistentStoreOperation, "The store holds no entity \(layout.name).")
  }

  /// The IDs of new rows, whose keys the body gives.
  package func ids(of rows: [Snapshot], _ key: (StoredEntity) throws -> Int64) throws -> [NSManagedObjectID] {
    try rows.map { row in
      let storedEntity = try storedEntity(of: row.layout)
      return NSManagedObjectID(storedEntity: storedEntity, key: try key(storedEntity))
    }
  }

  /// The 134030 for what cannot be written, since the store was opened read-only.
  var readOnlyError: NSError {
    CoreDataErrors.error(.persistentStoreSave, "The store at \(url?.path ?? "") was opened read-only.")
  }

  /// All rows of a fetch that the store cannot evaluate, and others: those that fulfil the part of its predicate that
  /// the store understands, without order, limit and offset.
  ///
  /// ```text
  /// title MATCHES '(?i)t.' AND pages > 50     pages > 50
  /// title MATCHES '(?i)t.' OR pages > 50      all rows
  /// ```
  ///
  /// Only parts that are joined by AND can be taken out: of an OR nothing is certain.
  package func understoodPart(of fetch: RowFetch) throws -> RowFetch {
    var understoodFetch = RowFetch(
      entityName: fetch.entityName, includesSubentities: fetch.includesSubentities, generation: fetch.generation,
      control: fetch.control)
    guard let predicate = fetch.predicate else { return understoodFetch }
    var parts: [NSPredicate] = []
    func add(_ predicate: NSPredicate) throws {
      if case .compound(.and, let inner) = predicate.kind { return try inner.forEach(add) }
      understoodFetch.predicate = predicate
      if try understands(understoodFetch) { parts.append(predicate) }
    }
    try add(predicate)
    understoodFetch.predicate = parts.isEmpty ? nil : NSCompoundPredicate(andPredicateWithSubpredicates: parts)
    return understoodFetch
  }

  func holds(_ entity: NSEntityDescription) -> Bool { storedEntities.byName[entity.name ?? ""] != nil }

  /// The cache for rows of the generation.
  @inline(__always)
  package func cache(_ generation: QueryGeneration?) -> RowCache {
    guard let generation else { return rowCache }
    return generation.pinned(self)?.rowCache ?? rowCache
  }
}

/// The parameters with which a coordinator opens a store.
///
/// Made by the coordinator from `addPersistentStore`'s parameters, once for each store. `entities` are those of the
/// configuration; without one, all of the model.
package struct StoreOpening {
  package let type: String
  package let url: URL?
  package let options: [AnyHashable: Any]?
  package let configurationName: String?
  package let model: NSManagedObjectModel
  /// The entities of the configuration.
  package let entities: [NSEntityDescription]
  /// The stores that the coordinator has open.
  package var others: [any ObjectStore]
  /// What may be done with a store of another model.
  package let migration: AllowedMigration
  /// The coordinator, which stores of an app's own classes are told.
  weak var coordinator: NSPersistentStoreCoordinator?

  package init(
    type: String, url: URL?, options: [AnyHashable: Any]?, configurationName: String?, model: NSManagedObjectModel,
    entities: [NSEntityDescription], others: [any ObjectStore], migration: AllowedMigration? = nil,
    coordinator: NSPersistentStoreCoordinator? = nil
  ) {
    self.type = type
    self.url = url
    self.options = options
    self.configurationName = configurationName
    self.model = model
    self.entities = entities
    self.others = others
    self.migration = migration ?? AllowedMigration(options)
    self.coordinator = coordinator
  }

  var isInMemory: Bool { url?.isInMemoryStore ?? false }

  package var isReadOnly: Bool { isSet(NSReadOnlyPersistentStoreOption) }

  /// Whether opening fails where there is no store, instead of creating one.
  package var mustExist: Bool { isSet(NSPersistentStoreMustExistOption) }

  package var recordsHistory: Bool { isSet(NSPersistentHistoryTrackingKey) }

  func isSet(_ option: String) -> Bool { (options?[option] as? NSNumber)?.boolValue ?? false }

  /// The place as the initialisers of stores are told it.
  package var placeURL: URL { url ?? URL(fileURLWithPath: "/dev/null") }

  /// The UUID for a store that is made.
  package var newIdentifier: String { options?[NSPersistentStoreIdentifierOption] as? String ?? UUID().uuidString }

  /// For errors.
  var place: String { url?.path ?? "a store in memory" }
}

/// A store's file, with the options to open it with.
package struct StoreFile {
  let url: URL
  let options: [AnyHashable: Any]?
}
