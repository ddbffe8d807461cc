/// From temporary IDs to permanent ones, in the context that saves and in those that read through it.
extension NSManagedObjectContext {
  /// Gives new objects their permanent IDs before they are saved to a store. Objects that were saved into a parent get
  /// theirs, too.
  ///
  /// Does nothing for objects that have permanent IDs. Throws, and leaves all objects as they are, if there is no
  /// coordinator, or if a store cannot reserve keys.
  public final func obtainPermanentIDs(for objects: [NSManagedObject]) throws {
    checkQueue()
    try obtainInParent(objects)
    let new = MemberList(objects.filter { $0.objectID.isTemporaryID && $0.isInserted }, keepsOrder: false).items
    guard !new.isEmpty else { return }
    guard persistentStoreCoordinator != nil else {
      throw CoreDataErrors.error(
        .persistentStoreOperation, "The context \(label) has no coordinator that could give IDs.")
    }
    var groups: [(store: any ObjectStore, objects: [NSManagedObject])] = []
    for object in new {
      let store = try store(of: object)
      if let index = groups.firstIndex(where: { $0.store === store }) {
        groups[index].objects.append(object)
      } else {
        groups.append((store, [object]))
      }
    }
    // All or none: a store that refuses leaves the objects of the others as they are.
    let ids = try groups.flatMap { try $0.store.newIDs(for: $0.objects.map { $0.access() }) }
    for (object, id) in zip(groups.flatMap(\.objects), ids) { become(object, id) }
    if permanentIDs.isForChildren { root.permanentIDs.announce() }
  }

  /// An object that is new in the parent gets its ID there.
  private func obtainInParent(_ objects: [NSManagedObject]) throws {
    guard let parentContext, permanentIDs.isAwaitingSome else { return }
    let keys = objects.filter { !$0.isInserted }.map(\.objectID.key).filter { permanentIDs.awaited.contains($0) }
    guard !keys.isEmpty else { return }
    try parentContext.performAndWait {
      try parentContext.obtainPermanentIDs(for: keys.compactMap { parentContext.graph.find(temporary: $0) })
    }
    adoptPermanentIDs()
  }

  /// Gives an object another ID. Whoever refers to it by its temporary ID finds it here.
  final func become(_ object: NSManagedObject, _ id: NSManagedObjectID) {
    if object.key < 0 { permanentIDs.note(object.key, became: id) }
    graph.rename(object, to: id)
  }

  /// Registers the objects of a save under the IDs that it gave them.
  final func adoptPermanentIDs(of parts: [StoreChanges]) {
    let isForChildren = permanentIDs.isForChildren
    for part in parts {
      for (object, row) in zip(part.inserted, part.rows.inserted) where row.key < 0 {
        graph.rename(object, fromTemporary: row.key)
        if isForChildren { permanentIDs.note(row.key, became: object.objectID) }
      }
    }
    // Everything saved refers by permanent IDs now.
    permanentIDs.forgetUnlessForChildren()
    if isForChildren { root.permanentIDs.announce() }
  }

  /// Takes over the permanent IDs that objects of the parent got since the last call.
  final func adoptPermanentIDs() {
    guard let parentContext, permanentIDs.isAwaitingSome, permanentIDs.hasNews(from: root.permanentIDs) else { return }
    let keys = permanentIDs.awaited
    let found: [(key: Int64, id: NSManagedObjectID)] = parentContext.performAndWait {
      parentContext.adoptPermanentIDs()
      return keys.compactMap { key in parentContext.permanentID(forKey: key).map { (key, $0) } }
    }
    for (key, id) in found {
      permanentIDs.note(key, became: id)
      if let object = graph.find(temporary: key) { graph.rename(object, to: id) }
    }
  }

  /// What became of a temporary key. The contexts between may have been reset since, and know nothing of it.
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
    if graph.find(temporary: id.key) != nil { return id }
    if let known = permanentIDs[id.key] { return known }
    guard let parentContext else { return id }
    return parentContext.performAndWait { parentContext.currentID(id) }
  }

  /// The new object of this context that a temporary ID's URI names, also when it has got its permanent ID since, until
  /// it is saved.
  package final func newObject(forTemporaryURI uri: String) -> NSManagedObject? {
    checkQueue()
    guard let key = NSManagedObjectID.temporaryKey(uri: uri) else { return nil }
    return graph.find(temporary: key) ?? permanentIDs[key].flatMap(registeredObject(for:))
  }
}
