/// Replaces temporary IDs by permanent ones, in the context that saves and in those that read through it.
extension NSManagedObjectContext {
  /// Gives new objects permanent IDs before they are saved, also those that were saved into a parent.
  ///
  /// ```swift
  /// let author = Author(context: context)
  /// try context.obtainPermanentIDs(for: [author])
  /// let uri = author.objectID.uriRepresentation()  // stays valid after the save
  /// try context.save()
  /// ```
  ///
  /// Use it where an ID leaves the process, or is stored, before the save; otherwise the save does it. A key whose
  /// object is never saved stays unused. Does nothing for objects with permanent IDs. All objects get theirs or none
  /// does. Each call is a writing transaction of its own in a SQLite file, so pass all objects at once. Call it on the
  /// context's queue.
  ///
  /// The objects stay new: `isInserted` is true, and the save inserts their rows under these IDs. In a child context an
  /// object that was saved into the parent gets its ID there.
  ///
  /// - Parameter objects: objects of this context; saved ones and those without a context are passed over. Traps for an
  ///   unsaved object of another context.
  /// - Throws: 134070 without a coordinator, 134030 if no store can take an object, and the stores' errors.
  ///
  /// Source: Apple's documentation of `obtainPermanentIDs(for:)`.
  public final func obtainPermanentIDs(for objects: [NSManagedObject]) throws {
    checkQueue()
    let unsaved = objects.filter(\.objectID.isTemporaryID)
    for object in unsaved { requireNoOtherContext(of: object, "given a permanent ID in") }
    try obtainInParent(unsaved)
    let new = MemberList(unsaved.filter(isNewHere), keepsOrder: false).items
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
    // All or none: if a store refuses, the objects of the others stay as they are.
    let ids = try groups.flatMap { try $0.store.newIDs(for: $0.objects.map { $0.access() }) }
    graph.gathering {
      for (object, id) in zip(groups.flatMap(\.objects), ids) { become(object, id) }
    }
    if permanentIDs.isForChildren { root.permanentIDs.announce() }
  }

  /// Whether the object is new in this context and has no permanent ID.
  private func isNewHere(_ object: NSManagedObject) -> Bool {
    object.isInserted && object.objectID.isTemporaryID && graph.owns(object)
  }

  /// Objects that are new in the parent get their IDs there: this context saved them once, so the parent owns their
  /// insertion.
  private func obtainInParent(_ objects: [NSManagedObject]) throws {
    guard let parentContext, permanentIDs.isAwaitingSome else { return }
    let keys = objects.filter { !$0.isInserted }.map(\.objectID.key).filter { permanentIDs.awaited.contains($0) }
    guard !keys.isEmpty else { return }
    try parentContext.performAndWait {
      try parentContext.obtainPermanentIDs(for: keys.compactMap { parentContext.graph.find(temporary: $0) })
    }
    adoptPermanentIDs()
  }

  /// Gives an object another ID. References to its temporary ID find it here.
  ///
  ///     book.author = author        the slot holds the author's temporary key, -7
  ///     obtainPermanentIDs([author])
  ///                                 permanentIDs: -7 -> p3; the slot keeps -7
  ///     book.author                 finds p3 through permanentIDs
  ///     save()                      the row of the book gets p3
  final func become(_ object: NSManagedObject, _ id: NSManagedObjectID) {
    if object.key < 0 { permanentIDs.note(object.key, became: id) }
    graph.rename(object, to: id)
  }

  /// Registers the objects of a save under their new IDs.
  ///
  /// `StoreChanges.apply` has replaced the temporary keys in the saved objects' slots already, so the table of them is
  /// only kept for children, whose values may still have them.
  final func adoptPermanentIDs(of parts: [StoreChanges]) {
    rename(parts)
    // All saved objects now refer to permanent IDs.
    permanentIDs.forgetUnlessForChildren()
    if permanentIDs.isForChildren { root.permanentIDs.announce() }
  }

  /// Registers the objects of an incomplete save under their new IDs. The others still refer to temporary ones.
  final func adoptPermanentIDs(ofSaved parts: [StoreChanges]) {
    rename(parts)
    if permanentIDs.isForChildren { root.permanentIDs.announce() }
  }

  /// Moves the objects of a save in the table from their temporary keys to the permanent ones, and notes the pairs for
  /// children.
  private func rename(_ parts: [StoreChanges]) {
    let isForChildren = permanentIDs.isForChildren
    graph.gathering {
      for part in parts {
        graph.rename(part.inserted, from: part.rows.inserted.lazy.map(\.key))
        if isForChildren {
          for (object, row) in zip(part.inserted, part.rows.inserted) where row.key < 0 {
            permanentIDs.note(row.key, became: object.objectID)
          }
        }
      }
    }
  }

  /// Adopts the permanent IDs that the parent's objects got since the last call.
  ///
  /// The topmost context does not tell its children that it has saved: that would need a turn of each child's queue. A
  /// child asks when it next looks for an object, which costs one comparison of a counter unless IDs became permanent:
  ///
  ///     child                              parent                        root
  ///     saves a new book into the parent
  ///                                        saves into the root
  ///                                                                      saves: t1 becomes p17, count + 1
  ///     object(with: t1)
  ///       count differs: asks the parent
  ///                                        asks the root, adopts p17
  ///       adopts p17, renames its book
  final func adoptPermanentIDs() {
    guard let parentContext, permanentIDs.isAwaitingSome, permanentIDs.hasNews(from: root.permanentIDs) else { return }
    let keys = permanentIDs.awaited
    let newIDs: [(key: Int64, id: NSManagedObjectID)] = parentContext.performAndWait {
      parentContext.adoptPermanentIDs()
      return keys.compactMap { key in parentContext.permanentID(forKey: key).map { (key, $0) } }
    }
    graph.gathering {
      for (key, id) in newIDs {
        permanentIDs.note(key, became: id)
        if let object = graph.find(temporary: key) { graph.rename(object, to: id) }
      }
    }
  }

  /// The permanent ID of a temporary key. The contexts between may have been reset and may not know it.
  private func permanentID(forKey key: Int64) -> NSManagedObjectID? {
    if let id = permanentIDs[key] { return id }
    guard let parentContext else { return nil }
    return parentContext.performAndWait { parentContext.permanentID(forKey: key) }
  }

  /// The last context in the chain of parents. It has the counter that all contexts below it compare.
  private var root: NSManagedObjectContext {
    var context = self
    while let parent = context.parentContext { context = parent }
    return context
  }

  /// The permanent ID, if the temporary one became permanent in this context or a parent; else the same ID. Programs
  /// keep IDs of new objects over a save, and every method that takes an ID passes through here.
  final func currentID(_ id: NSManagedObjectID) -> NSManagedObjectID {
    guard id.isTemporaryID else { return id }
    if graph.find(temporary: id.key) != nil { return id }
    if let permanentID = permanentIDs[id.key] { return permanentID }
    guard let parentContext else { return id }
    return parentContext.performAndWait { parentContext.currentID(id) }
  }

  /// The new object of this context for the URI of a temporary ID, until it is saved; also after it got its permanent
  /// ID. Job requests that are made in the same save as the objects that they name use it.
  package final func newObject(forTemporaryURI uri: String) -> NSManagedObject? {
    checkQueue()
    guard let key = NSManagedObjectID.temporaryKey(uri: uri) else { return nil }
    return graph.find(temporary: key) ?? permanentIDs[key].flatMap(registeredObject(for:))
  }
}
