/// From temporary IDs to permanent ones, in the context that saves and in those that read through it.
extension NSManagedObjectContext {
  /// Registers the objects of a save under the IDs that it gave them.
  final func adoptPermanentIDs(of parts: [StoreChanges]) {
    for part in parts {
      for (object, row) in zip(part.inserted, part.rows.inserted) where row.key < 0 {
        registry.remove(row.key, EntityHome.temporaryTable)
        registry.set(object, object.key, object.home.table)
        if hasChildren { permanentIDs[row.key] = object.objectID }
      }
    }
    // Everything saved refers by permanent IDs now.
    guard hasChildren else { return permanentIDs.removeAll() }
    root.permanentGeneration.add(1, ordering: .releasing)
  }

  /// Takes over the permanent IDs that objects of the parent got since the last call.
  final func adoptPermanentIDs() {
    guard let parentContext, !temporaryKeys.isEmpty else { return }
    let generation = root.permanentGeneration.load(ordering: .acquiring)
    guard generation != seenGeneration else { return }
    seenGeneration = generation
    let keys = temporaryKeys
    let found: [(key: Int64, id: NSManagedObjectID)] = parentContext.performAndWait {
      parentContext.adoptPermanentIDs()
      return keys.compactMap { key in parentContext.permanentID(forKey: key).map { (key, $0) } }
    }
    for (key, id) in found {
      temporaryKeys.remove(key)
      permanentIDs[key] = id
      guard let object = registry.remove(key, EntityHome.temporaryTable) else { continue }
      object.become(id)
      registry.set(object, id.key, id.home.table)
    }
  }

  /// What became of a temporary key; the levels between may have been reset since and know nothing of it.
  private func permanentID(forKey key: Int64) -> NSManagedObjectID? {
    if let known = permanentIDs[key] { return known }
    guard let parentContext else { return nil }
    return parentContext.performAndWait { parentContext.permanentID(forKey: key) }
  }

  /// The context at the end of the chain of parents.
  private var root: NSManagedObjectContext {
    var context = self
    while let parent = context.parentContext { context = parent }
    return context
  }

  /// A temporary ID that has become permanent in this context or a parent, as what it is now.
  final func currentID(_ id: NSManagedObjectID) -> NSManagedObjectID {
    guard id.isTemporaryID else { return id }
    if registry.find(id.key, EntityHome.temporaryTable) != nil { return id }
    if let known = permanentIDs[id.key] { return known }
    guard let parentContext else { return id }
    return parentContext.performAndWait { parentContext.currentID(id) }
  }

  /// The new object of this context that a temporary ID's URI names, also when it has got its permanent ID since, until it is saved.
  package final func newObject(forTemporaryURI uri: String) -> NSManagedObject? {
    checkQueue()
    guard let key = NSManagedObjectID.temporaryKey(uri: uri) else { return nil }
    return registry.find(key, EntityHome.temporaryTable) ?? permanentIDs[key].flatMap(registeredObject(for:))
  }

  /// Gives new objects their permanent IDs before they are saved to a store; those that were saved into a parent, too.
  public final func obtainPermanentIDs(for objects: [NSManagedObject]) throws {
    checkQueue()
    try obtainInParent(objects)
    let waiting = MemberList(objects.filter { $0.objectID.isTemporaryID && $0.isInserted }, keepsOrder: false).items
    guard !waiting.isEmpty else { return }
    guard persistentStoreCoordinator != nil else {
      throw CoreDataErrors.error(
        .persistentStoreOperation, "The context \(label) has no coordinator that could give IDs.")
    }
    var groups: [(store: any ObjectStore, objects: [NSManagedObject])] = []
    for object in waiting {
      let store = try store(of: object)
      if let index = groups.firstIndex(where: { $0.store === store }) {
        groups[index].objects.append(object)
      } else {
        groups.append((store, [object]))
      }
    }
    // All or none: a store that refuses leaves the objects of the others as they are.
    let ids = try groups.flatMap { try $0.store.newIDs(for: $0.objects.map { $0.access() }) }
    for (object, id) in zip(groups.flatMap(\.objects), ids) {
      let old = object.objectID
      registry.remove(old.key, EntityHome.temporaryTable)
      object.become(id)
      registry.set(object, id.key, id.home.table)
      // What refers to the object by its old number finds it here.
      permanentIDs[old.key] = id
    }
    if hasChildren { root.permanentGeneration.add(1, ordering: .releasing) }
  }

  /// An object that is new in the parent gets its ID there.
  private func obtainInParent(_ objects: [NSManagedObject]) throws {
    guard let parentContext, !temporaryKeys.isEmpty else { return }
    let keys = objects.filter { !$0.isInserted }.map(\.objectID.key).filter { temporaryKeys.contains($0) }
    guard !keys.isEmpty else { return }
    try parentContext.performAndWait {
      let theirs = keys.compactMap { parentContext.registry.find($0, EntityHome.temporaryTable) }
      try parentContext.obtainPermanentIDs(for: theirs)
    }
    adoptPermanentIDs()
  }
}
