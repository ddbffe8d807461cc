import CoreDataPostgreSQL
import TestFiles
import Testing

@testable import CoreData

/// The stores that run the conformance suite, and what each of them may leave out, with the reason.
enum StoreKind: String, CaseIterable, Sendable {
  case file
  case memory
  case binary
  case xml
  /// A sample of an app's own atomic store.
  case cards
  /// A sample of an app's own incremental store.
  case shelf
  /// A schema of a PostgreSQL server, where one is installed.
  case server

  static let allCases: [StoreKind] =
    [.file, .memory, .binary, .xml, .cards, .shelf] + (PostgreSQLServer.isInstalled ? [.server] : [])

  var type: String {
    switch self {
    case .file: NSSQLiteStoreType
    case .memory: NSInMemoryStoreType
    case .binary: NSBinaryStoreType
    case .xml: NSXMLStoreType
    case .cards: CardStore.storeType
    case .shelf: ShelfStore.storeType
    case .server: NSPostgreSQLStoreType
    }
  }

  /// The URL of a store for the path of a file.
  func place(_ file: URL) -> URL { self == .server ? PostgreSQLServer.shared.url(insteadOf: file) : file }

  /// Has the classes of the samples known.
  func register() {
    if self == .cards { _ = FillableCardStore.isRegistered }
    if self == .shelf { _ = ShelfStore.isRegistered }
  }

  /// Whether the store outlives its coordinator. A memory does not.
  var isLasting: Bool { self != .memory }

  /// Whether the class has a way of its own to copy and replace stores. Apps' own classes have none: rows are read and
  /// written one by one.
  var copiesItself: Bool { self != .cards && self != .shelf && self != .server }

  /// Whether a coordinator refuses to open the same place twice. Apps' own classes decide that themselves.
  var isOpenOnce: Bool { [.file, .binary, .xml, .server].contains(self) }

  /// Whether the store notices that others have written. One that is loaded whole does not, and an app's own tells by
  /// its versions.
  var noticesOthers: Bool { self == .file || self == .server }

  /// Whether contexts can go on to read the store as it was at one moment. Of Apple's stores only SQLite's files can be
  /// read so.
  var canBePinned: Bool { self == .file || self == .server }

  /// Whether the store carries out batch requests. Of Apple's stores only SQLite does.
  var takesBatchRequests: Bool { self == .file || self == .server }

  /// Whether the store keeps a history where the options ask for it.
  var keepsHistory: Bool { [.file, .memory, .server].contains(self) }

  /// Whether uniqueness constraints are kept. An app's own store keeps them itself, or not.
  var keepsConstraints: Bool { self != .shelf }

  /// Whether an error in a transaction takes back what was written in it. An app's own incremental store takes back a
  /// request of its own that failed, and nothing else.
  var rollsBack: Bool { self != .shelf }

  /// Whether rows that have changed come from a base of their own. An incremental store numbers versions as it likes.
  var countsVersions: Bool { self != .shelf }

  /// Whether the store runs blocks. An app's own incremental store is given a fetch's predicate as it is.
  var runsCode: Bool { self == .shelf }

  /// Whether a file is all there is of the store. The shelf is a database of the app's own, which nobody but the app
  /// destroys.
  var isFile: Bool { isLasting && self != .shelf && self != .server }

  /// Whether groups are evaluated by Core Data. The sample of an incremental store evaluates its dictionaries itself,
  /// without groups.
  static let grouping = allCases.filter { $0 != .shelf }

  static let filed = allCases.filter(\.isFile)
  static let lasting = allCases.filter(\.isLasting)
  static let copying = lasting.filter(\.copiesItself)
  static let openOnce = allCases.filter(\.isOpenOnce)
  static let batching = allCases.filter(\.takesBatchRequests)
  static let constrained = allCases.filter(\.keepsConstraints)
  static let rollingBack = allCases.filter(\.rollsBack)
}

/// One store of a kind, used through the seam alone: no object and no context is made.
struct StoreSubject {
  let kind: StoreKind
  let model: NSManagedObjectModel
  let coordinator: NSPersistentStoreCoordinator
  let store: any ObjectStore

  /// The store as one that carries out batches.
  func batches() throws -> any BatchStore { try #require(store as? any BatchStore) }
  /// The store as one that coordinators find at a place.
  func placed() throws -> any PlacedStore { try #require(store as? any PlacedStore) }

  /// Removes the files when nobody uses the subject any more.
  private let folder: Folder

  private final class Folder {
    let url = temporaryURL("conformance")
    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
    deinit {
      Shelf.remove(url.appendingPathComponent("store"))
      try? FileManager.default.removeItem(at: url)
    }
  }

  init(_ kind: StoreKind, options: [AnyHashable: Any]? = nil) throws {
    model = LibraryModel.make()
    model.entitiesByName["Book"]?.uniquenessConstraints = [["title"]]
    self.kind = kind
    folder = try Folder()
    (coordinator, store) = try Self.open(kind, model: model, in: folder, options: options)
  }

  private init(_ kind: StoreKind, _ model: NSManagedObjectModel, _ folder: Folder) throws {
    self.kind = kind
    self.model = model
    self.folder = folder
    (coordinator, store) = try Self.open(kind, model: model, in: folder, options: nil)
  }

  private static func open(
    _ kind: StoreKind, model: NSManagedObjectModel, in folder: Folder, options: [AnyHashable: Any]?
  ) throws -> (NSPersistentStoreCoordinator, any ObjectStore) {
    kind.register()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let url = kind.isLasting ? kind.place(folder.url.appendingPathComponent("store")) : nil
    try coordinator.addPersistentStore(ofType: kind.type, configurationName: nil, at: url, options: options)
    return (coordinator, try #require(coordinator.objectStores.first))
  }

  /// A place beside the store's file.
  func place(_ name: String) -> URL { folder.url.appendingPathComponent(name) }

  /// The same store, opened a second time like by another process.
  func openedAgain() throws -> StoreSubject { try StoreSubject(kind, model, folder) }

  // MARK: Values

  func storedEntity(_ entity: String) throws -> StoredEntity { try #require(store.storedEntities.byName[entity]) }

  func id(_ entity: String, _ key: Int64) throws -> NSManagedObjectID {
    NSManagedObjectID(storedEntity: try storedEntity(entity), key: key)
  }

  /// A row with the default values, and these in their places. To-one relationships are keys.
  func row(_ entity: String, _ values: [String: Any]) throws -> Snapshot {
    let layout = try #require(model.entitiesByName[entity]).layout
    let row = layout.defaults.copy()
    try set(values, in: row)
    return row
  }

  func set(_ values: [String: Any], in row: Snapshot) throws {
    for (name, value) in values {
      let slot = try #require(row.layout.slot(name))
      if let related = value as? RelatedKey {
        row.assign(slot: slot, to: related)
      } else {
        #expect(row.assignConverted(value, slot: slot))
      }
    }
  }

  func text(_ row: Snapshot?, _ name: String) throws -> String? {
    guard let row else { return nil }
    return row.value(try #require(row.layout.slot(name))) as? String
  }

  func related(_ row: Snapshot?, _ name: String) throws -> RelatedKey? {
    guard let row else { return nil }
    return row.related(try #require(row.layout.slot(name)))
  }

  func relationship(_ entity: String, _ name: String) throws -> NSRelationshipDescription {
    try #require(model.entitiesByName[entity]?.relationshipsByName[name])
  }

  // MARK: Saving

  static var changes: RowChanges { RowChanges(origin: ChangeOrigin(author: nil, contextName: nil)) }

  @discardableResult
  func save(_ changes: RowChanges) throws -> SavedRows {
    var saved = SavedRows()
    try store.writeScope.exclusively {
      try store.writeScope.transaction("Saving") { saved = try store.write(changes) }
      store.didCommit()
    }
    return saved
  }

  /// Inserts rows of an entity, and returns their keys.
  func insert(_ entity: String, _ rows: [[String: Any]]) throws -> [Int64] {
    var changes = Self.changes
    changes.inserted = try rows.enumerated().map { index, values in
      RowChanges.Insertion(key: Int64(-1 - index), values: try row(entity, values), members: [])
    }
    return try save(changes).keys
  }

  /// The value that a save passes in to change a row that was read before.
  func update(_ entity: String, _ key: Int64, from base: Snapshot?, _ values: [String: Any]) throws -> RowChanges.Update
  {
    let changed = try #require(base).copy()
    try set(values, in: changed)
    return RowChanges.Update(storedEntity: try storedEntity(entity), key: key, base: base, values: changed, members: [])
  }

  func update(_ entity: String, _ key: Int64, _ values: [String: Any]) throws {
    var changes = Self.changes
    changes.updated = [try update(entity, key, from: store.row(id(entity, key), in: nil), values)]
    try save(changes)
  }

  /// The titles of the books that a fetch gives.
  func titles(_ fetch: RowFetch) throws -> [String?] {
    var titles: [String?] = []
    // A store may leave rows to be read when they are asked for.
    try store.fetch(fetch) { storedEntity, key, row in
      let row = row ?? ((try? store.row(NSManagedObjectID(storedEntity: storedEntity, key: key), in: nil)) ?? nil)
      titles.append((try? text(row, "title")) ?? nil)
    }
    return titles
  }
}
