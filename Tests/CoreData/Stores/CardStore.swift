import Testing

@testable import CoreData

/// A small and honest atomic store: a property list with a card for each object, which are named by UUIDs.
///
/// `@unchecked Sendable`: the superclass calls it on one thread at a time.
final class CardStore: NSAtomicStore, @unchecked Sendable {
  static let storeType = "Cards"

  /// Registers the class once.
  static let isRegistered: Void = NSPersistentStoreCoordinator.registerStoreClass(
    CardStore.self, forStoreType: storeType)

  /// Makes saves fail. `nonisolated(unsafe)`: set and read by one test's thread.
  nonisolated(unsafe) var isFull = false

  override var type: String { Self.storeType }

  override func loadMetadata() throws {
    let file = try #require(url)
    if !FileManager.default.fileExists(atPath: file.path) {
      try Self.write([:], [NSStoreUUIDKey: UUID().uuidString, NSStoreTypeKey: Self.storeType], file)
    }
    metadata = try Self.metadataForPersistentStore(with: file)
  }

  override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    try #require(read(url)["metadata"] as? [String: Any])
  }

  override class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    let cards = try #require(read(url)["cards"] as? [String: Any])
    try write(cards, metadata ?? [:], url)
  }

  private static func read(_ url: URL) throws -> [String: Any] {
    let data = try Data(contentsOf: url)
    return try #require(PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any])
  }

  private static func write(_ cards: [String: Any], _ metadata: [String: Any], _ url: URL) throws {
    let list: [String: Any] = ["metadata": metadata, "cards": cards]
    try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0).write(
      to: url, options: .atomic)
  }

  // MARK: Nodes

  override func load() throws {
    let file = try #require(url)
    let cards = try #require(Self.read(file)["cards"] as? [String: [String: Any]])
    let model = try #require(persistentStoreCoordinator?.managedObjectModel)
    var nodes: [String: NSAtomicStoreCacheNode] = [:]
    for (name, card) in cards {
      let entity = try #require(model.entitiesByName[card["entity"] as? String ?? ""])
      nodes[name] = NSAtomicStoreCacheNode(objectID: objectID(for: entity, withReferenceObject: name))
    }
    for (name, card) in cards {
      for (key, value) in card["values"] as? [String: Any] ?? [:] { nodes[name]?.setValue(value, forKey: key) }
      for (key, names) in card["related"] as? [String: [String]] ?? [:] {
        let related = names.compactMap { nodes[$0] }
        let isToMany = nodes[name]?.objectID.entity.relationshipsByName[key]?.isToMany ?? false
        nodes[name]?.setValue(isToMany ? NSOrderedSet(array: related) : related.first, forKey: key)
      }
    }
    addCacheNodes(Set(nodes.values))
  }

  override func save() throws {
    if isFull { throw CocoaError(.fileWriteOutOfSpace) }
    var cards: [String: Any] = [:]
    for node in cacheNodes() {
      let entity = node.objectID.entity
      var related: [String: [String]] = [:]
      for name in entity.relationshipsByName.keys {
        let value = node.value(forKey: name)
        let nodes = (value as? NSOrderedSet)?.array ?? [value].compactMap(\.self)
        related[name] = nodes.compactMap { ($0 as? NSAtomicStoreCacheNode).map { self.name($0.objectID) } }
      }
      let values = entity.attributesByName.keys.reduce(into: [String: Any]()) { $0[$1] = node.value(forKey: $1) }
      cards[name(node.objectID)] = ["entity": entity.name ?? "", "values": values, "related": related]
    }
    let file = try #require(url)
    try Self.write(cards, metadata ?? [:], file)
  }

  private func name(_ id: NSManagedObjectID) -> String { referenceObject(for: id) as? String ?? "" }

  override func newReferenceObject(for managedObject: NSManagedObject) -> Any { "card-\(UUID().uuidString)" }

  override func newCacheNode(for managedObject: NSManagedObject) -> NSAtomicStoreCacheNode {
    NSAtomicStoreCacheNode(objectID: managedObject.objectID)
  }

  override func updateCacheNode(_ node: NSAtomicStoreCacheNode, from managedObject: NSManagedObject) {
    for (name, attribute) in managedObject.entity.attributesByName where !attribute.isTransient {
      node.setValue(managedObject.value(forKey: name), forKey: name)
    }
    for (name, relationship) in managedObject.entity.relationshipsByName {
      let nodes = managedObject.objectIDs(forRelationshipNamed: name).compactMap { cacheNode(for: $0) }
      node.setValue(relationship.isToMany ? NSOrderedSet(array: nodes) : nodes.first, forKey: name)
    }
  }
}
