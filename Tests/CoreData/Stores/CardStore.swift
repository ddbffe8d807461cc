import CoreData

/// A store of an app's own: a property list with a card for each object, named by a UUID.
///
/// `@unchecked Sendable`: the superclass calls it on one thread at a time.
class CardStore: NSAtomicStore, @unchecked Sendable {
  static let storeType = "Cards"

  override var type: String { Self.storeType }

  // MARK: The file

  private struct Content {
    var cards: [String: [String: Any]] = [:]
    var metadata: [String: Any] = [:]

    init() {}

    init(_ url: URL) throws {
      let data = try Data(contentsOf: url)
      guard let list = try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any],
        let cards = list["cards"] as? [String: [String: Any]], let metadata = list["metadata"] as? [String: Any]
      else { throw CocoaError(.fileReadCorruptFile, userInfo: [NSURLErrorKey: url]) }
      (self.cards, self.metadata) = (cards, metadata)
    }

    func write(to url: URL) throws {
      let list: [String: Any] = ["metadata": metadata, "cards": cards]
      try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
        .write(to: url, options: .atomic)
    }
  }

  private func file() throws -> URL {
    guard let url else { throw CocoaError(.fileNoSuchFile) }
    return url
  }

  override func loadMetadata() throws {
    let file = try file()
    if !FileManager.default.fileExists(atPath: file.path) {
      var content = Content()
      content.metadata = [NSStoreUUIDKey: UUID().uuidString, NSStoreTypeKey: Self.storeType]
      try content.write(to: file)
    }
    metadata = try Content(file).metadata
  }

  override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] { try Content(url).metadata }

  override class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    var content = try Content(url)
    content.metadata = metadata ?? [:]
    try content.write(to: url)
  }

  // MARK: Loading and saving

  override func load() throws {
    let cards = try Content(file()).cards
    let entities = persistentStoreCoordinator?.managedObjectModel.entitiesByName ?? [:]
    var nodes: [String: NSAtomicStoreCacheNode] = [:]
    for (name, card) in cards {
      guard let entity = entities[card["entity"] as? String ?? ""] else { throw CocoaError(.fileReadCorruptFile) }
      nodes[name] = NSAtomicStoreCacheNode(objectID: objectID(for: entity, withReferenceObject: name))
    }
    for (name, node) in nodes {
      for (key, value) in cards[name]?["values"] as? [String: Any] ?? [:] { node.setValue(value, forKey: key) }
      for (key, names) in cards[name]?["related"] as? [String: [String]] ?? [:] {
        let related = names.compactMap { nodes[$0] }
        let isToMany = node.objectID.entity.relationshipsByName[key]?.isToMany ?? false
        node.setValue(isToMany ? NSOrderedSet(array: related) : related.first, forKey: key)
      }
    }
    addCacheNodes(Set(nodes.values))
  }

  override func save() throws {
    var content = Content()
    for node in cacheNodes() {
      let entity = node.objectID.entity
      let values = entity.attributesByName.keys.reduce(into: [:]) { $0[$1] = node.value(forKey: $1) }
      let related = entity.relationshipsByName.keys.reduce(into: [String: [String]]()) { related, key in
        let value = node.value(forKey: key)
        let nodes = (value as? NSOrderedSet)?.array ?? [value].compactMap { $0 }
        related[key] = nodes.compactMap { ($0 as? NSAtomicStoreCacheNode).map { name($0.objectID) } }
      }
      content.cards[name(node.objectID)] = ["entity": entity.name ?? "", "values": values, "related": related]
    }
    content.metadata = metadata ?? [:]
    try content.write(to: file())
  }

  private func name(_ id: NSManagedObjectID) -> String { referenceObject(for: id) as? String ?? "" }

  // MARK: Nodes

  override func newReferenceObject(for managedObject: NSManagedObject) -> Any { UUID().uuidString }

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
