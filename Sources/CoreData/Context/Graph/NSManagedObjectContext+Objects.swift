/// Objects by ID and through relationships.
extension NSManagedObjectContext {
  // MARK: By ID

  /// The object of the ID: the registered one, or a new fault whether or not a row exists. It reads nothing and never
  /// fails.
  ///
  /// ```swift
  /// let id = book.objectID
  /// let title = await container.performBackgroundTask { context in
  ///   (context.object(with: id) as? Book)?.title
  /// }
  /// ```
  ///
  /// This is how an object passes from one context to another. The first use of a fault reads its row; a fault without
  /// a row becomes a deleted object with nil values then (see `shouldDeleteInaccessibleFaults`). Use
  /// `existingObject(with:)` where the object may be gone, and a fetch with `self IN %@` for many IDs: it reads them in
  /// one query. A temporary ID means something only in the context of its new object and in contexts below it. Call it
  /// on the context's queue.
  ///
  /// - Parameter objectID: the ID of an object of a store that this context's coordinator has open.
  /// - Returns: this context's instance, the same for each call while the program retains it.
  ///
  /// Source: Apple's documentation of `object(with:)`.
  public final func object(with objectID: NSManagedObjectID) -> NSManagedObject {
    checkQueue()
    if permanentIDs.isAwaitingSome { adoptPermanentIDs() }
    let id = currentID(objectID)
    return graph.reuse(id.key, id.storedEntity.table) ?? register(id)
  }

  /// The object of the ID with its values read.
  ///
  /// ```swift
  /// do {
  ///   let sameBook = try context.existingObject(with: book.objectID) as? Book
  ///   print(sameBook?.title ?? "")
  /// } catch let error as NSError where error.code == NSManagedObjectReferentialIntegrityError {
  ///   print("deleted meanwhile")
  /// }
  /// ```
  ///
  /// An object whose values this context has is returned as it is, without asking the store: it may be gone there.
  /// Otherwise the row comes from the coordinator's cache or from one query. Call it on the context's queue.
  ///
  /// - Parameter objectID: the ID of an object of a store that this context's coordinator has open.
  /// - Returns: this context's instance, with its values.
  /// - Throws: 133000 if the object has no row, and the stores' errors.
  ///
  /// Source: Apple's documentation of `existingObject(with:)`.
  public final func existingObject(with objectID: NSManagedObjectID) throws -> NSManagedObject {
    checkQueue()
    if permanentIDs.isAwaitingSome { adoptPermanentIDs() }
    let id = currentID(objectID)
    let existingObject = graph.reuse(id.key, id.storedEntity.table)
    if let existingObject, !existingObject.state.contains(.fault) || existingObject.snapshot != nil {
      if existingObject.state.contains(.gone) { throw missing(id) }
      _ = existingObject.access()
      return existingObject
    }
    guard let snapshot = try storedRow(id) else { throw missing(id) }
    let object = existingObject ?? register(id, snapshot: snapshot)
    object.supply(snapshot)
    _ = object.access()
    return object
  }

  /// The object of the ID as one of the class. Throws 134070 for an object of another class, and otherwise what
  /// `existingObject(with:)` throws.
  final func existingObject<Object: NSManagedObject>(
    with objectID: NSManagedObjectID, as type: Object.Type
  ) throws -> Object {
    let object = try existingObject(with: objectID)
    if let object = object as? Object { return object }
    throw CoreDataErrors.error(
      .persistentStoreOperation, "\(objectID.uriString) is a \(Swift.type(of: object)), not a \(type).")
  }

  /// The object of the ID, if the context has it and it has changes or the program retains it; nil otherwise. Reads
  /// nothing. Call it on the context's queue.
  ///
  /// ```swift
  /// if let shown = context.registeredObject(for: book.objectID) { context.refresh(shown, mergeChanges: true) }
  /// ```
  ///
  /// Use it to update only what a user interface shows.
  ///
  /// - Parameter objectID: any ID, temporary or permanent.
  /// - Returns: the context's instance; nil for one without changes to which the program has no reference, and such an
  ///   object leaves the context.
  ///
  /// Source: Apple's documentation of `registeredObject(for:)`.
  public final func registeredObject(for objectID: NSManagedObjectID) -> NSManagedObject? {
    checkQueue()
    if permanentIDs.isAwaitingSome { adoptPermanentIDs() }
    return graph.findHeld(currentID(objectID))
  }

  /// The error for an object without a row. The ID is in the user info, since there is no object to show.
  private func missing(_ id: NSManagedObjectID) -> NSError {
    CoreDataErrors.error(
      .managedObjectReferentialIntegrity, "The object \(id.uriString) has no row in its store.",
      [NSAffectedObjectsErrorKey: [id]])
  }

  /// Creates and registers the object of an ID.
  ///
  /// A temporary ID that this context did not make is that of an object which is new in the parent. It is noted, so
  /// that this context learns the permanent ID that the object gets when the topmost context saves.
  final func register(_ id: NSManagedObjectID, snapshot: Snapshot? = nil) -> NSManagedObject {
    // The object is new in the parent.
    if id.key < 0 && parentContext != nil { permanentIDs.noteAwaited(id.key) }
    return graph.make(id.storedEntity, id.key, snapshot: snapshot)
  }

  // MARK: Following relationships

  /// The object to which a to-one slot of `owner` refers.
  ///
  /// A snapshot holds a key and an entity's number, and no object: rows are shared by contexts, and each has its own
  /// instance. Finding a registered object takes one look into the table; any other becomes a fault, without a query.
  final func object(for key: RelatedKey, from owner: NSManagedObject, slot: Int) -> NSManagedObject? {
    if let object = registered(key, from: owner, slot: slot) { return object }
    return objectID(for: key, from: owner).map { object(with: $0) }
  }

  /// The object of a to-one slot if the context has it; nil otherwise. Code that keeps both ends of a relationship in
  /// step uses it: an object that was never read needs no change.
  final func registered(_ key: RelatedKey, from owner: NSManagedObject, slot: Int) -> NSManagedObject? {
    if key.key < 0 { return graph.find(temporary: key.key) }
    guard let storedEntity = self.storedEntity(of: key, from: owner) else { return nil }
    return graph.find(key.key, storedEntity.table)
  }

  /// The ID for a related key.
  ///
  /// A temporary key may be that of a new object here, of one that has become permanent, or of a new object in a
  /// context above, which is asked on its queue.
  final func objectID(for key: RelatedKey, from owner: NSManagedObject) -> NSManagedObjectID? {
    if key.key < 0 {
      if let object = graph.find(temporary: key.key) { return object.objectID }
      if let permanent = permanentIDs[key.key] { return permanent }
      guard let parentContext else { return nil }
      return parentContext.performAndWait { parentContext.objectID(for: key, from: owner) }
    }
    return self.storedEntity(of: key, from: owner).map { NSManagedObjectID(storedEntity: $0, key: key.key) }
  }

  /// The entity in the owner's store; for a new owner in the store to which it would be saved. A key means nothing
  /// without its store, since each store numbers its rows and entities by itself; a relationship never leads to another
  /// store.
  private func storedEntity(of key: RelatedKey, from owner: NSManagedObject) -> StoredEntity? {
    let number = Int(key.number)
    if let storedEntities = owner.storedEntity.collection { return storedEntities[number] }
    guard let store = changes.assignedStore(of: owner) ?? persistentStoreCoordinator?.store(forInserted: owner.entity)
    else { return nil }
    return store.storedEntities[number]
  }
}
