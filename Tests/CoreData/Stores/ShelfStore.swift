import Synchronization
import Testing

@testable import CoreData

/// A database of the app's own, for the sample of an incremental store: records by entity and number. All stores with
/// its URL share it.
///
/// `@unchecked Sendable`: everything is used under `lock`.
final class Shelf: @unchecked Sendable {
  struct Record {
    var values: [String: Any] = [:]
    /// To-one relationships, and to-many ones without a to-one at the other end.
    var related: [String: [Place]] = [:]
    var version: UInt64 = 0
  }

  struct Place: Hashable {
    let entity: String
    let number: Int
  }

  let identifier = UUID().uuidString
  private let lock = NSRecursiveLock()
  private var content: (records: [Place: Record], last: Int, metadata: [String: Any]) = ([:], 0, [:])

  func use<T>(_ body: (inout (records: [Place: Record], last: Int, metadata: [String: Any])) throws -> T) rethrows -> T
  {
    try lock.withLock { try body(&content) }
  }

  private static let all = Mutex<[URL: Shelf]>([:])

  static func find(_ url: URL) -> Shelf? { all.withLock { $0[url] } }

  static func at(_ url: URL) -> Shelf {
    all.withLock { shelves in
      let shelf = shelves[url] ?? Shelf()
      shelves[url] = shelf
      return shelf
    }
  }

  static func remove(_ url: URL) { all.withLock { $0[url] = nil } }
}

/// A small and honest incremental store over a shelf.
///
/// `@unchecked Sendable`: the shelf does its own locking.
final class ShelfStore: NSIncrementalStore, @unchecked Sendable {
  static let storeType = "Shelf"

  /// Registers the class once.
  static let isRegistered: Void = NSPersistentStoreCoordinator.registerStoreClass(
    ShelfStore.self, forStoreType: storeType)

  /// Makes saves fail. `nonisolated(unsafe)`: set and read by one test's thread.
  nonisolated(unsafe) var isFull = false
  /// Makes the reading of values fail. `nonisolated(unsafe)`: set and read by one test's thread.
  nonisolated(unsafe) var isUnreadable = false

  private var shelf: Shelf { Shelf.at(url ?? URL(fileURLWithPath: "/dev/null")) }

  override var type: String { Self.storeType }

  override func loadMetadata() throws {
    let place = try #require(url)
    _ = Shelf.at(place)
    metadata = try Self.metadataForPersistentStore(with: place)
  }

  override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    guard let shelf = Shelf.find(url) else { throw CocoaError(.persistentStoreOpen) }
    return shelf.use { $0.metadata }.merging([NSStoreUUIDKey: shelf.identifier, NSStoreTypeKey: storeType]) { $1 }
  }

  override class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    Shelf.at(url).use { $0.metadata = metadata ?? [:] }
  }

  // MARK: Contexts

  /// The objects that contexts have, each with the number of these contexts, and the calls that told the store so.
  struct Registered {
    var counts: [NSManagedObjectID: Int] = [:]
    var calls: [[NSManagedObjectID]] = []
  }

  private let registered = Mutex(Registered())

  var registrations: Registered { registered.withLock { $0 } }

  override func managedObjectContextDidRegisterObjects(with objectIDs: [NSManagedObjectID]) {
    registered.withLock { registered in
      registered.calls.append(objectIDs)
      for id in objectIDs { registered.counts[id, default: 0] += 1 }
    }
  }

  override func managedObjectContextDidUnregisterObjects(with objectIDs: [NSManagedObjectID]) {
    registered.withLock { registered in
      for id in objectIDs {
        let count = registered.counts[id, default: 0] - 1
        registered.counts[id] = count == 0 ? nil : count
      }
    }
  }

  // MARK: Requests

  override func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws -> Any {
    let context = try #require(context)
    if let save = request as? NSSaveChangesRequest { return try self.save(save) }
    let fetch = try #require(request as? NSFetchRequest<any NSFetchRequestResult>)
    let matches = try objects(fetch, context)
    switch fetch.resultType {
    case .countResultType: return [NSNumber(value: matches.count)]
    case .managedObjectIDResultType: return matches.map(\.objectID)
    case .dictionaryResultType:
      let names = fetch.propertiesToFetch?.compactMap { $0 as? String } ?? []
      return matches.map { object in
        NSDictionary(
          dictionary: Dictionary(
            uniqueKeysWithValues: names.compactMap { name in object.value(forKey: name).map { (name, $0) } }))
      }
    default: return matches
    }
  }

  private func objects(
    _ fetch: NSFetchRequest<any NSFetchRequestResult>, _ context: NSManagedObjectContext
  ) throws -> [NSManagedObject] {
    let entity = try #require(fetch.entity)
    let places = shelf.use { $0.records.keys }.filter { place in
      let storedEntity = entity.managedObjectModel.entitiesByName[place.entity]
      return fetch.includesSubentities ? storedEntity?.isKindOf(entity: entity) ?? false : place.entity == entity.name
    }
    var matches = places.sorted { $0.number < $1.number }.compactMap { place in
      entity.managedObjectModel.entitiesByName[place.entity].map {
        context.object(with: newObjectID(for: $0, referenceObject: place.number))
      }
    }
    if let predicate = fetch.predicate { matches = matches.filter { predicate.evaluate(with: $0) } }
    matches = matches.sorted(by: fetch.sortDescriptors ?? [])
    let window = matches.dropFirst(fetch.fetchOffset)
    return Array(fetch.fetchLimit > 0 ? window.prefix(fetch.fetchLimit) : window)
  }

  private func save(_ request: NSSaveChangesRequest) throws -> [Any] {
    if isFull { throw CocoaError(.fileWriteOutOfSpace) }
    let written = (request.insertedObjects ?? []).union(request.updatedObjects ?? [])
    let records = written.map { object in
      var record = Shelf.Record()
      for (name, attribute) in object.entity.attributesByName where !attribute.isTransient {
        record.values[name] = object.value(forKey: name)
      }
      for (name, relationship) in object.entity.relationshipsByName where !followsToOne(relationship) {
        record.related[name] = object.objectIDs(forRelationshipNamed: name).map(self.place)
      }
      return (place(object.objectID), record)
    }
    shelf.use { content in
      for (place, record) in records {
        let version = content.records[place]?.version ?? 0
        content.records[place] = record
        content.records[place]?.version = version + 1
      }
      for object in request.deletedObjects ?? [] { content.records[place(object.objectID)] = nil }
      content.metadata = metadata ?? [:]
    }
    return []
  }

  private func place(_ id: NSManagedObjectID) -> Shelf.Place {
    let reference = referenceObject(for: id)
    return Shelf.Place(
      entity: id.entity.name ?? "", number: reference as? Int ?? (reference as? NSNumber)?.intValue ?? 0)
  }

  private func followsToOne(_ relationship: NSRelationshipDescription) -> Bool {
    relationship.isToMany && !(relationship.inverseRelationship?.isToMany ?? true)
  }

  // MARK: Values

  override func newValuesForObject(
    with objectID: NSManagedObjectID, with context: NSManagedObjectContext
  ) throws -> NSIncrementalStoreNode {
    if isUnreadable { throw CocoaError(.fileReadUnknown) }
    guard let record = shelf.use({ $0.records[place(objectID)] }) else {
      throw CocoaError(.managedObjectReferentialIntegrity)
    }
    return NSIncrementalStoreNode(objectID: objectID, withValues: record.values, version: record.version)
  }

  override func newValue(
    forRelationship relationship: NSRelationshipDescription, forObjectWith objectID: NSManagedObjectID,
    with context: NSManagedObjectContext?
  ) throws -> Any {
    let ownPlace = place(objectID)
    let places = shelf.use { content -> [Shelf.Place] in
      guard followsToOne(relationship), let inverse = relationship.inverseRelationship?.name else {
        return content.records[ownPlace]?.related[relationship.name] ?? []
      }
      return content.records.filter { $0.value.related[inverse] == [ownPlace] }.keys.sorted { $0.number < $1.number }
    }
    let ids = places.compactMap { place in
      objectID.entity.managedObjectModel.entitiesByName[place.entity].map {
        newObjectID(for: $0, referenceObject: place.number)
      }
    }
    return relationship.isToMany ? ids : ids.first ?? NSNull()
  }

  override func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
    array.map { object in
      let number = shelf.use { content in
        content.last += 1
        return content.last
      }
      return newObjectID(for: object.entity, referenceObject: number)
    }
  }
}
