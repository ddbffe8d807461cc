/// What a store does for a coordinator and its contexts: the seam between objects and wherever their rows are kept.
///
/// Only values cross it: rows (`Snapshot`), keys and object IDs, sets of changes, conflicts, requests. A store never sees a managed
/// object or a context, and its users know neither its file format nor its query language.
///
/// Stores are called on any thread, several at once, once for each request. A closure takes rows one by one, as they are read.
protocol ObjectStore: NSPersistentStore {
  /// The entities that the store holds, by number.
  var family: EntityFamily { get }

  /// The rows that were read or written lately, for all contexts of the coordinator.
  var rowCache: RowCache { get }

  /// Forgets the cached rows if anybody else has written to the store since the last call.
  func validateRowCache()

  // MARK: Reading

  /// Whether the store can evaluate the predicate and the order of a fetch. If not, its user reads all rows and does it.
  func understands(_ fetch: RowFetch) throws -> Bool

  /// Gives the body each row, in order. Without values the snapshot is nil.
  func fetch(_ fetch: RowFetch, _ body: (EntityHome, Int64, Snapshot?) -> Void) throws

  func count(_ fetch: RowFetch) throws -> Int

  /// Columns, aggregates and groups of the rows. A nil value has no key.
  func dictionaries(_ settings: FetchSettings, _ fetch: RowFetch) throws -> [NSDictionary]

  /// The row of an ID; nil where there is none.
  func row(_ id: NSManagedObjectID, in generation: QueryGeneration?) throws -> Snapshot?

  /// Gives the body the rows of the keys that are there, in no order.
  func rows(
    _ keys: [Int64], of home: EntityHome, in generation: QueryGeneration?, _ body: (Int64, Snapshot) -> Void) throws

  /// Gives the body each member of a to-many, in order where it has one.
  func members(
    of id: NSManagedObjectID, _ relationship: NSRelationshipDescription, in generation: QueryGeneration?,
    _ body: (EntityHome, Int64, Snapshot) -> Void) throws

  /// Gives the body each member of the to-manys of several rows of one entity, with its owner's key; the members of an owner in
  /// order where they have one.
  func members(
    ofEach keys: [Int64], _ home: EntityHome, _ relationship: NSRelationshipDescription,
    in generation: QueryGeneration?, _ body: (Int64, EntityHome, Int64, Snapshot) -> Void) throws

  /// Keeps the store readable as it is now; nil where it cannot do that.
  ///
  /// - Parameter others: what other stores of the coordinator have pinned at this moment.
  func pin(beside others: [any PinnedStore]) throws -> (any PinnedStore)?

  // MARK: Writing

  /// What the store writes in, which others may share.
  var writeScope: any WriteScope { get }

  /// Writes rows, and what was set of the metadata, in a transaction of the store's scope.
  ///
  /// - Throws: `RowConflicts` or `RejectedRows`, after which the transaction has to be rolled back.
  func write(_ changes: RowChanges) throws -> SavedRows

  /// The transaction of the last `write` was committed.
  func didCommit()

  /// Who has the unique values of rows that were rejected: rows of the save among themselves, and rows of the store as it is now.
  func violations(of rejected: [RowChanges.Place], in changes: RowChanges) throws -> [ConstraintViolation]

  /// Reserves the keys of new rows before they are written, one for each.
  func newIDs(for rows: [Snapshot]) throws -> [NSManagedObjectID]

  // MARK: Batches

  var takesBatchRequests: Bool { get }
  func insert(_ rows: BatchRows, by origin: ChangeOrigin) throws -> BatchResult
  func update(_ request: NSBatchUpdateRequest, of entity: String, by origin: ChangeOrigin) throws -> BatchResult
  func delete(_ fetch: RowFetch, by origin: ChangeOrigin) throws -> BatchResult

  // MARK: History

  var keepsHistory: Bool { get }

  /// The number of the last transaction that was ever written; nil without history.
  func lastTransactionNumber() throws -> Int64?

  func history(_ query: HistoryQuery) throws -> [NSPersistentHistoryTransaction]

  /// Returns how many transactions were deleted.
  func deleteHistory(before place: NSPersistentHistoryChangeRequest.Place) throws -> Int

  // MARK: Opening and closing

  /// The types of stores that this class is registered for by itself; none where the app registers it.
  static var storeTypes: [String] { get }

  /// Opens a store, or makes a new one where there is none.
  static func open(_ opening: StoreOpening) throws -> any ObjectStore

  /// Makes a copy of the store at another place, with the same keys, a UUID of its own and without history, and opens it. Nil where
  /// the class has no way of its own to do this: then the rows are read and written one by one.
  func copy(to opening: StoreOpening) throws -> (any ObjectStore)?

  /// Starts to post commits, where the store's options ask for it.
  func startPostingRemoteChanges() throws
  func stopPostingRemoteChanges()

  /// Ends the coordinator's use of the store.
  ///
  /// - Parameter others: the coordinator's stores that stay open.
  func close(beside others: [any ObjectStore])

  /// Makes the statements that run now fail, from any thread.
  func interrupt()

  /// The files that each commit touches; none for a memory.
  var files: [URL] { get }

  // MARK: Stores that are not open

  static func metadata(at url: URL, _ options: [AnyHashable: Any]?) throws -> [String: Any]

  /// Replaces the metadata but for what the store itself depends on.
  static func setMetadata(_ metadata: [String: Any], at url: URL, _ options: [AnyHashable: Any]?) throws

  /// Empties a store's file, with what lies beside it.
  ///
  /// - Parameter closing: closes the stores that have the file open here. Called when they have no content any more.
  static func destroy(at url: URL, _ options: [AnyHashable: Any]?, closing: () throws -> Void) throws

  /// Makes a store's file a copy of another one, in place.
  static func replace(_ destination: StoreFile, with source: StoreFile) throws

  /// Makes a store's file a copy of another one, with the schema of another model.
  static func migrate(
    _ source: StoreFile, _ old: NSManagedObjectModel, to destination: StoreFile, _ new: NSManagedObjectModel) throws
}

extension ObjectStore {
  func holds(_ entity: NSEntityDescription) -> Bool { family.homesByName[entity.name ?? ""] != nil }

  /// The cache for rows of the generation.
  @inline(__always)
  func cache(_ generation: QueryGeneration?) -> RowCache {
    guard let generation else { return rowCache }
    return generation.pinned(self)?.rowCache ?? rowCache
  }
}

/// What a coordinator asks a type of stores to open.
struct StoreOpening {
  let type: String
  let url: URL?
  let options: [AnyHashable: Any]?
  let configurationName: String?
  let model: NSManagedObjectModel
  /// The entities of the configuration.
  let entities: [NSEntityDescription]
  /// The stores that the coordinator has open.
  let others: [any ObjectStore]

  var isInMemory: Bool { url?.isInMemoryStore ?? false }

  /// For errors.
  var place: String { url?.path ?? "a store in memory" }
}

/// A store's file, with the options to open it with.
struct StoreFile {
  let url: URL
  let options: [AnyHashable: Any]?
}

extension URL {
  /// Whether a store at this place is one in memory: `/dev/null`, or a place below.
  var isInMemoryStore: Bool { path == "/dev/null" || inMemoryStoreName != nil }

  /// What coordinators know a common store in memory by; nil for all other places.
  var inMemoryStoreName: String? {
    let start = "/dev/null/"
    return path.hasPrefix(start) && path.count > start.count ? String(path.dropFirst(start.count)) : nil
  }
}
