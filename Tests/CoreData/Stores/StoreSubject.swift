import Testing

@testable import CoreData

/// The stores that run the conformance suite.
enum StoreKind: CaseIterable, Sendable {
  case file
  case memory

  var type: String { self == .file ? NSSQLiteStoreType : NSInMemoryStoreType }

  /// Whether the store outlives its coordinator.
  var isLasting: Bool { self == .file }

  /// Whether the store can be read as it was at one moment.
  var canBePinned: Bool { true }

  /// Whether the store carries out batch requests. Apple's stores in memory do not.
  var takesBatchRequests: Bool { self == .file }

  static let lasting = allCases.filter(\.isLasting)
  static let batching = allCases.filter(\.takesBatchRequests)
}

/// One store of a kind, used through the seam alone: no object and no context is made.
struct StoreSubject {
  let kind: StoreKind
  let model: NSManagedObjectModel
  let coordinator: NSPersistentStoreCoordinator
  let store: any ObjectStore
  /// Removes the files when nobody uses the subject any more.
  private let folder: Folder

  private final class Folder {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("conformance-\(UUID().uuidString)")
    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: url) }
  }

  init(_ kind: StoreKind, options: [AnyHashable: Any]? = nil) throws {
    model = LibraryModel.make()
    model.entitiesByName["Book"]?.uniquenessConstraints = [["title"]]
    self.kind = kind
    folder = try Folder()
    (coordinator, store) = try Self.open(kind, model, folder, options)
  }

  private init(_ kind: StoreKind, _ model: NSManagedObjectModel, _ folder: Folder) throws {
    self.kind = kind
    self.model = model
    self.folder = folder
    (coordinator, store) = try Self.open(kind, model, folder, nil)
  }

  private static func open(
    _ kind: StoreKind, _ model: NSManagedObjectModel, _ folder: Folder, _ options: [AnyHashable: Any]?
  ) throws -> (NSPersistentStoreCoordinator, any ObjectStore) {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let url = kind.isLasting ? folder.url.appendingPathComponent("store") : nil
    try coordinator.addPersistentStore(ofType: kind.type, configurationName: nil, at: url, options: options)
    return (coordinator, try #require(coordinator.objectStores.first))
  }

  /// A place beside the store's file.
  func place(_ name: String) -> URL { folder.url.appendingPathComponent(name) }

  /// The same store, opened a second time like by another process.
  func openedAgain() throws -> StoreSubject { try StoreSubject(kind, model, folder) }

  // MARK: Values

  func home(_ entity: String) throws -> EntityHome { try #require(store.family.homesByName[entity]) }

  func id(_ entity: String, _ key: Int64) throws -> NSManagedObjectID {
    NSManagedObjectID(home: try home(entity), key: key)
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
    return RowChanges.Update(home: try home(entity), key: key, base: base, values: changed, members: [])
  }

  func update(_ entity: String, _ key: Int64, _ values: [String: Any]) throws {
    var changes = Self.changes
    changes.updated = [try update(entity, key, from: store.row(id(entity, key), in: nil), values)]
    try save(changes)
  }

  /// The titles of the books that a fetch gives.
  func titles(_ fetch: RowFetch) throws -> [String?] {
    var titles: [String?] = []
    try store.fetch(fetch) { _, _, row in titles.append((try? text(row, "title")) ?? nil) }
    return titles
  }
}
