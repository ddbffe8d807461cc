/// The seam between objects and the place of their rows: everything that a store does for a coordinator and its
/// contexts.
///
/// Only values cross it: rows (`Snapshot`), keys and object IDs, sets of changes, conflicts, requests. A store sees no
/// managed object and no context, and its users know neither its file format nor its query language.
///
/// Stores are called on any thread, several at once, once for each request. A closure gets rows one by one, as they are
/// read.
package protocol ObjectStore: NSPersistentStore {
  /// The entities that the store holds, by number.
  var storedEntities: StoredEntities { get }

  /// The recently read or written rows, for all contexts of the coordinator.
  var rowCache: RowCache { get }

  /// Drops the cached rows if anybody else wrote to the store since the last call.
  func validateRowCache()

  // MARK: Reading

  /// Whether the store can evaluate the predicate and the order of a fetch. If not, its user reads all rows and does
  /// so.
  func understands(_ fetch: RowFetch) throws -> Bool

  /// Gives the body each row, in order. Without values the snapshot is nil. The body owns the snapshot, which is kept
  /// without counting it anew.
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
  func newIDs(for rows: [Snapshot]) throws -> [NSManagedObjectID]

  /// The last key that the store has given to a row of the entity's hierarchy, which may be gone; 0 for none.
  func lastKey(of storedEntity: StoredEntity) throws -> Int64

  /// Gives new rows of the entity's hierarchy only keys after this one. Called in a transaction.
  func skipKeys(through key: Int64, of storedEntity: StoredEntity) throws

  /// Does one piece of what a migration has left for later.
  ///
  /// - Returns: false if nothing was left.
  func finishDeferredMigrationTask() throws -> Bool

  // MARK: Batches

  var takesBatchRequests: Bool { get }
  func insert(_ rows: BatchRows, by origin: ChangeOrigin) throws -> BatchResult
  func update(_ request: NSBatchUpdateRequest, of entity: String, by origin: ChangeOrigin) throws -> BatchResult
  func delete(_ fetch: RowFetch, by origin: ChangeOrigin) throws -> BatchResult

  // MARK: History

  var keepsHistory: Bool { get }

  /// The number of the last transaction ever written; nil without a history.
  func lastTransactionNumber() throws -> Int64?

  func history(_ query: HistoryQuery) throws -> [NSPersistentHistoryTransaction]

  /// Returns the number of deleted transactions.
  func deleteHistory(before place: NSPersistentHistoryChangeRequest.Place) throws -> Int

  // MARK: Sessions

  /// Opens a session with the store's server; nil for a store without one.
  func openSession(
    holding lock: Int64, _ body: @escaping @Sendable (StoreSessionEvent) -> Void
  ) throws -> (any StoreSession)?

  /// Returns when all earlier commits are on the disk of the store's server, if commits do not wait for it themselves.
  func synchronizeCommits() throws

  /// The time by the clock of the store's server; nil for a store without one, and if it was never reached.
  var serverDate: Date? { get }

  // MARK: Contexts

  /// Called with the IDs of objects that a context has from now on, if `storedEntities.isFollowed`.
  func contextDidRegister(_ ids: [NSManagedObjectID])

  /// Called with the IDs of objects that a context no longer has, if `storedEntities.isFollowed`.
  func contextDidUnregister(_ ids: [NSManagedObjectID])

  // MARK: Opening and closing

  /// The types under which this class is registered by itself; none if the program registers it.
  static var storeTypes: [String] { get }

  /// Opens a store, or creates one if there is none.
  static func open(_ opening: StoreOpening) throws -> any ObjectStore

  /// Opens a new, empty store instead of the one at the place, if there is one. Others that have the place open here
  /// are not in the opening.
  ///
  /// - Parameter closing: closes the stores that have the file open here, if they must not be open any more.
  static func openReplacing(_ opening: StoreOpening, closing: () throws -> Void) throws -> any ObjectStore

  /// Copies the store to another place, with the same keys, a UUID of its own and without history, and opens the copy.
  /// Nil if the class has no own way to do so; then the rows are copied one by one.
  func copy(to opening: StoreOpening) throws -> (any ObjectStore)?

  /// Starts to post commits if the store's options ask for it.
  func startPostingRemoteChanges() throws
  func stopPostingRemoteChanges()

  /// Ends the coordinator's use of the store.
  ///
  /// - Parameter others: the coordinator's stores that stay open.
  func close(beside others: [any ObjectStore])

  /// Makes the running statements fail, from any thread.
  func interrupt()

  /// Frees memory that holds what can be read again, as far as nobody uses it now. From any thread.
  func releaseMemory()

  /// The files that each commit changes; none in memory.
  var files: [URL] { get }

  // MARK: Stores that are not open

  static func metadata(at url: URL, _ options: [AnyHashable: Any]?) throws -> [String: Any]

  /// Runs the body. What it does with stores that it opens at the place with these options is one transaction, if the
  /// place is a server's: after an error nothing of it is there, not even the stores that it has made.
  ///
  /// - Throws: `StoreLockTaken` while another program does so at the same place.
  static func inOneTransaction(at url: URL, _ body: (_ options: [AnyHashable: Any]) throws -> Void) throws

  /// Replaces the metadata, except the parts that the store itself needs.
  static func setMetadata(_ metadata: [String: Any], at url: URL, _ options: [AnyHashable: Any]?) throws

  /// The model that a store's file keeps; nil for none.
  ///
  /// - Throws: 134020 if it is damaged or is not the model of the store's content.
  static func keptModel(at url: URL, _ options: [AnyHashable: Any]?) throws -> NSManagedObjectModel?

  /// Gives a store's file that nobody has open another UUID, and the model that it keeps.
  static func setModel(
    _ model: NSManagedObjectModel, identifier: String, at url: URL, _ options: [AnyHashable: Any]?) throws

  /// Empties a store's file and removes the files beside it.
  ///
  /// - Parameter closing: closes the stores that have the file open here. Called when the file has no content any more.
  static func destroy(at url: URL, _ options: [AnyHashable: Any]?, closing: () throws -> Void) throws

  /// Replaces a store's file by a copy of another one, in place.
  static func replace(_ destination: StoreFile, with source: StoreFile) throws

  /// Makes a store's file a copy of another one with the schema of another model, with the same keys and UUID.
  ///
  /// - Returns: false if the class has no own way to do so; then the rows are copied one by one.
  static func migrate(
    _ source: StoreFile, _ old: NSManagedObjectModel, to destination: StoreFile, _ new: NSManagedObjectModel
  ) throws -> Bool
}

/// Most stores take no batch requests.
extension ObjectStore {
  package var takesBatchRequests: Bool { false }
  package func insert(_ rows: BatchRows, by origin: ChangeOrigin) throws -> BatchResult { throw unsupportedBatch }
  package func update(_ request: NSBatchUpdateRequest, of entity: String, by origin: ChangeOrigin) throws -> BatchResult
  {
    throw unsupportedBatch
  }
  package func delete(_ fetch: RowFetch, by origin: ChangeOrigin) throws -> BatchResult { throw unsupportedBatch }

  private var unsupportedBatch: NSError {
    CoreDataErrors.error(
      .persistentStoreUnsupportedRequestType, "A store of the type \(type) does not know batch requests.")
  }
}

extension ObjectStore {
  package static func openReplacing(_ opening: StoreOpening, closing: () throws -> Void) throws -> any ObjectStore {
    if let url = opening.url { try destroy(at: url, opening.options, closing: closing) }
    return try open(opening)
  }

  package static func keptModel(at url: URL, _ options: [AnyHashable: Any]?) throws -> NSManagedObjectModel? { nil }

  package func openSession(
    holding lock: Int64, _ body: @escaping @Sendable (StoreSessionEvent) -> Void
  ) throws -> (any StoreSession)? { nil }

  package func memberKeys(
    ofEach keys: [Int64], _ storedEntity: StoredEntity, _ relationship: NSRelationshipDescription,
    in generation: QueryGeneration?, _ body: (Int64, StoredEntity, Int64) -> Void
  ) throws {
    try members(ofEach: keys, storedEntity, relationship, in: generation) { owner, member, key, _ in
      body(owner, member, key)
    }
  }

  package var serverDate: Date? { nil }
  package func synchronizeCommits() throws {}

  // Stores that number rows by an app's own references give no key twice.
  package func lastKey(of storedEntity: StoredEntity) throws -> Int64 { 0 }
  package func skipKeys(through key: Int64, of storedEntity: StoredEntity) throws {}

  package func releaseMemory() {}
  package func finishDeferredMigrationTask() throws -> Bool { false }

  package static func setModel(
    _ model: NSManagedObjectModel, identifier: String, at url: URL, _ options: [AnyHashable: Any]?
  ) throws {}

  package static func inOneTransaction(at url: URL, _ body: (_ options: [AnyHashable: Any]) throws -> Void) throws {
    try body([:])
  }

  package func contextDidRegister(_ ids: [NSManagedObjectID]) {}
  package func contextDidUnregister(_ ids: [NSManagedObjectID]) {}

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

  func holds(_ entity: NSEntityDescription) -> Bool { storedEntities.byName[entity.name ?? ""] != nil }

  /// The cache for rows of the generation.
  @inline(__always)
  package func cache(_ generation: QueryGeneration?) -> RowCache {
    guard let generation else { return rowCache }
    return generation.pinned(self)?.rowCache ?? rowCache
  }
}

/// The parameters with which a coordinator opens a store.
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
  /// The coordinator, which stores of an app's own classes are told.
  weak var coordinator: NSPersistentStoreCoordinator?

  package init(
    type: String, url: URL?, options: [AnyHashable: Any]?, configurationName: String?, model: NSManagedObjectModel,
    entities: [NSEntityDescription], others: [any ObjectStore], coordinator: NSPersistentStoreCoordinator? = nil
  ) {
    self.type = type
    self.url = url
    self.options = options
    self.configurationName = configurationName
    self.model = model
    self.entities = entities
    self.others = others
    self.coordinator = coordinator
  }

  var isInMemory: Bool { url?.isInMemoryStore ?? false }

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
