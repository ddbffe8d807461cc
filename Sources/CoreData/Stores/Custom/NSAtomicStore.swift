/// The superclass of a program's own store that is loaded as a whole when it is opened, and saved as a whole.
///
/// A subclass overrides `load()`, `save()`, `newCacheNode(for:)`, `updateCacheNode(_:from:)`,
/// `newReferenceObject(for:)`, `type` and the class methods for metadata, and sets `metadata`, with `NSStoreUUIDKey`,
/// in its initialiser or in `loadMetadata()`. Register it with
/// `NSPersistentStoreCoordinator.registerStoreClass(_:forStoreType:)`. Core Data makes rows of the nodes once, and on
/// these it evaluates fetches, resolves conflicts and keeps values unique.
///
/// The methods are called on any thread, by one thread at a time.
///
/// It suits files of a few megabytes in a form of one's own, such as a document: each save writes the whole, and all
/// objects are in memory twice, as nodes and as rows. For a database or a service use `NSIncrementalStore`. The page on
/// a store of one's own has a complete one.
///
/// Source: Apple's documentation of `NSAtomicStore`, and its Atomic Store Programming Topics.
///
/// `@unchecked Sendable`: only the thread that has the store's turn uses nodes; `opened` is set before other threads
/// get the store.
///
/// When Core Data calls what:
///
/// ```text
/// coordinator.addPersistentStore     init, loadMetadata, then load: nodes for all objects
/// context.fetch, a fault             nothing: rows are in memory
/// context.obtainPermanentIDs         newReferenceObject for each
/// context.save                       newReferenceObject for new objects without an ID
///                                    newCacheNode for each new object, then updateCacheNode for new and changed ones,
///                                    willRemoveCacheNodes for deleted ones, save
/// the save fails in another store    save once more, with the old nodes
/// coordinator.remove                 willRemove(from:)
/// ```
open class NSAtomicStore: NSPersistentStore, @unchecked Sendable {
  private var nodes: [NSManagedObjectID: NSAtomicStoreCacheNode] = [:]
  private var opened: (memory: MemoryRows, references: ReferenceKeys)?
  /// The changes that the transaction makes to the nodes once its rows are written.
  private var nodeChanges: [() -> Void] = []
  /// The nodes before the transaction, once `save()` has written its changes.
  private var nodesBefore: SavedNodes?

  private typealias SavedNodes = [NSManagedObjectID: (node: NSAtomicStoreCacheNode, values: NSMutableDictionary?)]

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

  /// Reads the store and adds a node for each object with `addCacheNodes(_:)`. Called once, when the store is opened.
  ///
  /// ```swift
  /// final class OneAuthorStore: NSAtomicStore, @unchecked Sendable {
  ///   override func load() throws {
  ///     guard let entity = persistentStoreCoordinator?.managedObjectModel.entitiesByName["Author"] else { return }
  ///     let node = NSAtomicStoreCacheNode(objectID: objectID(for: entity, withReferenceObject: "le-guin"))
  ///     node.setValue("Le Guin", forKey: "name")
  ///     addCacheNodes([node])
  ///   }
  /// }
  /// ```
  ///
  /// All nodes are made before relationships are set, since a relationship's value is the other node.
  ///
  /// - Throws: any error; the store is then not opened, and the caller gets the error.
  open func load() throws { subclassMustOverride() }

  /// Writes the nodes and `metadata` to the store's URL, durably. Called at the end of each save, and once more with
  /// the old nodes if the save then fails in another store.
  ///
  /// Write a new file and put it in the old one's place. A file that is written in place is lost with a killed process.
  ///
  /// - Throws: any error; the save then fails with it, and the nodes get their old values back.
  open func save() throws { subclassMustOverride() }

  /// Makes the node of a new object, whose ID is permanent already. Its values are set by `updateCacheNode(_:from:)`,
  /// which follows for each new object.
  open func newCacheNode(for managedObject: NSManagedObject) -> NSAtomicStoreCacheNode { subclassMustOverride() }

  /// Gives a node the values of an object that is new or was changed. `managedObject` is not the app's object; take its
  /// values by `value(forKey:)`, and for relationships the nodes of its related objects by `cacheNode(for:)`.
  open func updateCacheNode(_ node: NSAtomicStoreCacheNode, from managedObject: NSManagedObject) {
    subclassMustOverride()
  }

  /// The reference by which the store knows a new object: a whole number, a string or a UUID that no other object of
  /// the entity has, now or later.
  ///
  /// ```swift
  /// final class NamedStore: NSAtomicStore, @unchecked Sendable {
  ///   override func newReferenceObject(for managedObject: NSManagedObject) -> Any { UUID().uuidString }
  /// }
  /// ```
  ///
  /// A counter does as well, if the file keeps it: an object that was deleted must not give its reference to another.
  open func newReferenceObject(for managedObject: NSManagedObject) -> Any { subclassMustOverride() }

  /// Called before the nodes of deleted objects are removed. Does nothing by default.
  open func willRemoveCacheNodes(_ cacheNodes: Set<NSAtomicStoreCacheNode>) {}

  open override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    throw unsupported("asked for metadata while they are closed; override metadataForPersistentStore(with:)")
  }

  open override class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    throw unsupported("given metadata while they are closed; override setMetadata(_:forPersistentStoreAt:)")
  }

  // MARK: For a subclass to call

  /// The nodes of the store's objects. Use in `load()` and `save()`.
  open func cacheNodes() -> Set<NSAtomicStoreCacheNode> { Set(nodes.values) }

  /// Adds nodes. Use in `load()`.
  open func addCacheNodes(_ cacheNodes: Set<NSAtomicStoreCacheNode>) {
    for node in cacheNodes { nodes[node.objectID] = node }
  }

  /// The node that was added for an object's ID; nil if there is none.
  open func cacheNode(for objectID: NSManagedObjectID) -> NSAtomicStoreCacheNode? { nodes[objectID] }

  /// The ID for a reference, the same each time. Traps for an entity that the store does not hold.
  ///
  /// The reference is part of the ID's URI: `x-coredata://UUID/Author/ple-guin`.
  open func objectID(for entity: NSEntityDescription, withReferenceObject data: Any) -> NSManagedObjectID {
    objectID(entity, data)
  }

  /// The reference of an object. Traps for an ID of another store.
  open func referenceObject(for objectID: NSManagedObjectID) -> Any { reference(objectID) }
}

// MARK: The coordinator's side

extension NSAtomicStore: CustomStore, MemoryBacked {
  package final var memory: MemoryRows {
    if let opened { return opened.memory }
    fatalError("\(Swift.type(of: self)) was used before a coordinator has opened it.")
  }

  package final var references: ReferenceKeys {
    if let opened { return opened.references }
    fatalError("\(Swift.type(of: self)) was used before a coordinator has opened it.")
  }

  package static var storeTypes: [String] { [] }

  package static func open(_ opening: StoreOpening) throws -> any ObjectStore {
    let (store, reference, references) = try make(opening)
    store.opened = (MemoryRows(MemorySchema(opening.entities, reference, sharesKeys: true)), references)
    reference.store = store
    try store.load()
    try store.memory.load { try NodeReader(MemoryLoader($0), store.nodes).read() }
    store.memory.prepare = { [unowned store] _ in try store.saveNodes() }
    store.memory.persist = { [unowned store] _ in try store.persist() }
    store.memory.discard = { [unowned store] in store.takeBack() }
    return store
  }

  package final func identify(_ objects: [NSManagedObject]) throws -> [NSManagedObjectID] {
    objects.map { objectID(for: $0.entity, withReferenceObject: newReferenceObject(for: $0)) }
  }

  /// Writes the rows of a save, and prepares the change of the nodes that goes with them.
  ///
  /// ```text
  /// scratch objects for new and changed rows       what the program's methods get
  /// newReferenceObject                             permanent IDs of new objects
  /// MemoryChangeWriter                             conflicts and unique values: may throw, no node has changed
  /// scratch.setMembers                             relationships of the scratch objects
  /// nodeChanges                                    kept for `saveNodes`, at the end of the transaction
  /// ```
  package func write(_ changes: RowChanges) throws -> SavedRows {
    let scratch = ScratchObjects(self)
    return try scratch.perform {
      let inserted = changes.inserted.map { scratch.newObject($0.values, $0.key) }
      let updated = try changes.updated.map(scratch.object)
      let (named, assigned) = try identified(changes, inserted, scratch)
      // This finds conflicts before any node changes.
      let saved = try MemoryChangeWriter(named, to: self, memory).write()
      for (key, related) in assigned { saved.assigned[key] = related }
      scratch.setMembers(changes, inserted, updated)
      nodeChanges.append { [unowned self] in
        scratch.perform { self.changeNodes(inserted, updated, changes.deleted) }
      }
      return saved
    }
  }

  /// The changes with permanent keys for all new rows.
  private func identified(
    _ changes: RowChanges, _ objects: [NSManagedObject], _ scratch: ScratchObjects
  ) throws -> (changes: RowChanges, assigned: [Int64: RelatedKey]) {
    var changes = changes
    var assigned: [Int64: RelatedKey] = [:]
    let new = changes.inserted.indices.filter { changes.inserted[$0].key < 0 }
    for (index, id) in zip(new, try identify(new.map { objects[$0] })) {
      let row = changes.inserted[index]
      scratch.identify(objects[index], as: id)
      changes.inserted[index] = RowChanges.Insertion(key: id.key, values: row.values, members: row.members)
      changes.permanentIDs[row.key] = id
      assigned[row.key] = id.relatedKey
    }
    return (changes, assigned)
  }

  /// Brings the nodes to the state after the save, by the program's methods.
  ///
  /// ```text
  /// 1. newCacheNode for all new objects          two new objects may refer to each other
  /// 2. updateCacheNode for new and changed ones
  /// 3. willRemoveCacheNodes, then they go        changed nodes may have referred to them until 2
  /// ```
  private func changeNodes(
    _ inserted: [NSManagedObject], _ updated: [NSManagedObject], _ deleted: [RowChanges.Deletion]
  ) {
    // All new nodes exist before one of them is related to another.
    for object in inserted { nodes[object.objectID] = newCacheNode(for: object) }
    for object in inserted + updated {
      if let node = nodes[object.objectID] { updateCacheNode(node, from: object) }
    }
    let ids = deleted.map { NSManagedObjectID(storedEntity: $0.storedEntity, key: $0.key) }
    let removed = Set(ids.compactMap { nodes[$0] })
    if removed.isEmpty { return }
    willRemoveCacheNodes(removed)
    for id in ids { nodes[id] = nil }
  }

  /// Applies the transaction's changes to the nodes, and saves them.
  ///
  /// The nodes' values are copied before, because they are the program's objects: a failed save has to give each its
  /// old values, and the set its old nodes.
  private func saveNodes() throws {
    let before: SavedNodes = nodes.mapValues { ($0, $0.propertyCache?.mutableCopy() as? NSMutableDictionary) }
    for change in nodeChanges { change() }
    do {
      try save()
    } catch {
      restore(before)
      throw error
    }
    nodesBefore = before
  }

  private func restore(_ before: SavedNodes) {
    nodes = before.mapValues { node, values in
      node.propertyCache = values
      return node
    }
  }

  /// Ends the transaction.
  private func persist() throws {
    if nodesBefore == nil { try saveNodes() }
    nodesBefore = nil
    nodeChanges = []
  }

  /// Takes the transaction back. If its changes are saved already, the nodes are saved again without them.
  private func takeBack() {
    nodeChanges = []
    guard let before = nodesBefore else { return }
    nodesBefore = nil
    restore(before)
    // The error of the other store says why the save failed.
    try? save()
  }
}

/// Makes rows from an atomic store's nodes.
///
/// Runs once, after `load()`. From then on rows answer everything; nodes change only at the end of a save.
private struct NodeReader {
  private let loader: MemoryLoader
  private let nodes: [NSManagedObjectID: NSAtomicStoreCacheNode]

  init(_ loader: MemoryLoader, _ nodes: [NSManagedObjectID: NSAtomicStoreCacheNode]) {
    self.loader = loader
    self.nodes = nodes
  }

  func read() throws {
    for (id, node) in nodes {
      try loader.add(try row(of: node, id.storedEntity), id.key, loader.schema.entity(id.storedEntity.number))
    }
    for (id, node) in nodes {
      for list in loader.schema.entity(id.storedEntity.number).toManys.values {
        loader.setMembers(ids(node.value(forKey: list.relationship.name)).map(\.key), of: list, id.key)
      }
    }
  }

  private func row(of node: NSAtomicStoreCacheNode, _ storedEntity: StoredEntity) throws -> Snapshot {
    let row = Snapshot.make(storedEntity.layout, version: 1)
    for (slot, description) in storedEntity.layout.slots.enumerated() where !description.isTransient {
      guard let value = node.value(forKey: description.name) else { continue }
      if description.kind == .toOne {
        if let id = ids(value).first { row.assign(slot: slot, to: id.relatedKey) }
      } else if !row.assignConverted(value, slot: slot) {
        throw CoreDataErrors.error(
          .persistentStoreOpen,
          "The node of \(node.objectID) has a \(type(of: value)) for \(storedEntity.layout.name).\(description.name), "
            + "which holds \(description.attributeType.valueDescription).")
      }
    }
    return row
  }

  /// The objects that a relationship's value leads to.
  private func ids(_ value: Any?) -> [NSManagedObjectID] {
    switch value {
    case let node as NSAtomicStoreCacheNode: [node.objectID]
    case let id as NSManagedObjectID: [id]
    default: NSExpression.members(of: value).flatMap { ids($0) }
    }
  }
}
