/// Objects by ID, and objects coming and going.
extension NSManagedObjectContext {
  // MARK: By ID

  /// The object of the ID: the registered one, or a fault, whether or not there is a row. No I/O.
  public final func object(with objectID: NSManagedObjectID) -> NSManagedObject {
    checkQueue()
    if !temporaryKeys.isEmpty { adoptPermanentIDs() }
    let id = currentID(objectID)
    if let known = reusable(id.key, id.home.table) { return known }
    return register(id.home, id.key, snapshot: nil)
  }

  /// The object of the ID with its values read; throws 133000 if it has no row.
  public final func existingObject(with objectID: NSManagedObjectID) throws -> NSManagedObject {
    checkQueue()
    if !temporaryKeys.isEmpty { adoptPermanentIDs() }
    let id = currentID(objectID)
    let known = reusable(id.key, id.home.table)
    if let known, !known.state.contains(.fault) || known.snapshot != nil {
      if known.state.contains(.gone) { throw missing(id) }
      _ = known.access()
      return known
    }
    guard let snapshot = try storedRow(id) else { throw missing(id) }
    let object = known ?? register(id.home, id.key, snapshot: snapshot)
    object.supply(snapshot)
    _ = object.access()
    return object
  }

  /// The object of the ID if the context has it; never reads anything.
  public final func registeredObject(for objectID: NSManagedObjectID) -> NSManagedObject? {
    checkQueue()
    if !temporaryKeys.isEmpty { adoptPermanentIDs() }
    let id = currentID(objectID)
    guard let (known, isUnheld) = registry.findAndCheck(id.key, id.home.table) else { return nil }
    if isUnheld && !retainsRegisteredObjects && !known.hasChanges {
      registry.remove(id.key, id.home.table)
      return nil
    }
    return known
  }

  private func missing(_ id: NSManagedObjectID) -> NSError {
    CoreDataErrors.error(
      .managedObjectReferentialIntegrity, "The object \(id.uriString) has no row in its store.",
      [NSAffectedObjectsErrorKey: [id]])
  }

  // MARK: Following relationships

  /// The object that a to-one slot of `owner` refers to.
  final func object(for key: RelatedKey, from owner: NSManagedObject, slot: Int) -> NSManagedObject? {
    if let known = registered(key, from: owner, slot: slot) { return known }
    return objectID(for: key, from: owner).map { object(with: $0) }
  }

  final func registered(_ key: RelatedKey, from owner: NSManagedObject, slot: Int) -> NSManagedObject? {
    if key.key < 0 { return registry.find(key.key, EntityHome.temporaryTable) }
    guard let home = self.home(of: key, from: owner) else { return nil }
    return registry.find(key.key, home.table)
  }

  /// The ID that a related key stands for.
  final func objectID(for key: RelatedKey, from owner: NSManagedObject) -> NSManagedObjectID? {
    if key.key < 0 {
      if let object = registry.find(key.key, EntityHome.temporaryTable) { return object.objectID }
      if let permanent = permanentIDs[key.key] { return permanent }
      guard let parentContext else { return nil }
      return parentContext.performAndWait { parentContext.objectID(for: key, from: owner) }
    }
    return self.home(of: key, from: owner).map { NSManagedObjectID(home: $0, key: key.key) }
  }

  /// The entity in the store of the owner, or, while that has no store, in the store it would be saved to.
  private func home(of key: RelatedKey, from owner: NSManagedObject) -> EntityHome? {
    let number = Int(key.number)
    if let family = owner.home.family { return family.homes.indices.contains(number) ? family.homes[number] : nil }
    let assigned = assignedStores.isEmpty ? nil : assignedStores[ObjectIdentifier(owner)] as? SQLiteStore
    guard let store = assigned ?? persistentStoreCoordinator?.store(forInserted: owner.entity) else { return nil }
    return store.family.homes.indices.contains(number) ? store.family.homes[number] : nil
  }

  // MARK: Registration

  /// The registered object. One that nobody holds any more counts as gone: it comes back as a fault.
  final func reusable(_ key: Int64, _ table: Int32) -> NSManagedObject? {
    guard let (known, isUnheld) = registry.findAndCheck(key, table) else { return nil }
    if isUnheld && !retainsRegisteredObjects && !known.hasChanges { known.forgetValues() }
    return known
  }

  /// Makes and registers the object of an ID.
  final func register(_ home: EntityHome, _ key: Int64, snapshot: Snapshot?) -> NSManagedObject {
    if registry.count >= sweepThreshold { sweep() }
    let state: NSManagedObject.State = ConcurrencyDebug.isEnabled ? [.fault, .isChecked] : .fault
    let object = home.layout.objectClass.init(unborn: home.layout.entity)
    object.home = home
    object.key = key
    object.snapshot = snapshot
    // An initialiser of the class may have set values.
    object.committed = nil
    object.reference = reference
    object.state = state
    registry.set(object, key, home.table)
    // New in the parent.
    if key < 0 && parentContext != nil { temporaryKeys.insert(key) }
    return object
  }

  /// Lets clean objects go that nobody holds.
  final func sweep() {
    guard !retainsRegisteredObjects else { return }
    registry.removeUnreferenced { !$0.hasChanges }
    sweepThreshold = max(4096, registry.count * 2)
  }

  // MARK: Insert, delete

  /// Puts a new object into the context: to be saved as a new row.
  public final func insert(_ object: NSManagedObject) {
    checkQueue()
    if object.isDeleted, object.reference === reference { return undelete(object) }
    precondition(
      object.reference?.context == nil || object.reference === reference,
      "\(object.objectID) belongs to another context and cannot be inserted into \(label).")
    guard !object.isInserted else { return }
    if registry.count >= sweepThreshold { sweep() }
    let id = object.objectID
    // Values may have been set before; an object whose deletion was saved while it was a fault has none.
    if object.state.contains(.unborn) || object.snapshot == nil {
      object.snapshot = object.layout.defaults.copy()
      object.state.insert(.ownsSnapshot)
    }
    object.committed = nil
    object.state.subtract([.fault, .unborn, .gone])
    object.state.insert(.inserted)
    if ConcurrencyDebug.isEnabled { object.state.insert(.isChecked) }
    object.reference = reference
    registry.set(object, id.key, id.home.table)
    inserted.insert(object)
    event.inserted.insert(object)
    object.state.insert(.isNoted)
    scheduleEndOfEvent()
    object.awakeFromInsert()
  }

  private func undelete(_ object: NSManagedObject) {
    object.state.remove(.deleted)
    event.deleted.remove(object)
    unpropagated.removeAll { $0 === object }
    if deleted.remove(object) { return noteUpdate(object) }
    object.state.insert([.inserted, .isNoted])
    inserted.insert(object)
    event.inserted.insert(object)
    scheduleEndOfEvent()
  }

  /// Marks the object to be deleted by the next save; an object that was never saved is just forgotten.
  ///
  /// Related objects follow their delete rules at the end of the event.
  public final func delete(_ object: NSManagedObject) {
    checkQueue()
    guard object.reference === reference, !object.isDeleted, !object.state.contains(.gone) else { return }
    object.prepareForDeletion()
    if object.isInserted {
      inserted.remove(object)
      object.state.remove(.inserted)
      // Inserted and deleted within one event: nobody has heard of it.
      if !event.inserted.remove(object) { event.deleted.insert(object) }
    } else {
      updated.remove(object)
      event.updated.remove(object)
      object.state.remove(.updated)
      deleted.insert(object)
      event.deleted.insert(object)
    }
    object.state.insert(.deleted)
    unpropagated.append(object)
    scheduleEndOfEvent()
  }

  /// Deletes an object whose row turned out to be missing.
  final func deleteInaccessible(_ object: NSManagedObject) {
    guard !object.isDeleted, registry.find(object.objectID.key, object.objectID.home.table) === object else { return }
    updated.remove(object)
    object.state.remove(.updated)
    object.state.insert(.deleted)
    deleted.insert(object)
    event.deleted.insert(object)
  }

  // MARK: Noting changes

  /// Called at each change of an object; the first of an event counts.
  final func noteUpdate(_ object: NSManagedObject) {
    if object.state.contains(.isNoted) && !object.state.isDisjoint(with: [.updated, .inserted]) { return }
    checkQueue()
    if object.state.isDisjoint(with: [.inserted, .deleted]) {
      if !object.state.contains(.updated) {
        object.state.insert(.updated)
        updated.insert(object)
      }
      event.updated.insert(object)
    } else if object.isInserted && !event.inserted.contains(object) {
      event.updated.insert(object)
    }
    object.state.insert(.isNoted)
    scheduleEndOfEvent()
  }

  // MARK: Refresh, reset, roll back

  /// Makes the object a fault; with `mergeChanges` its values are read anew and its own changes put on top.
  public final func refresh(_ object: NSManagedObject, mergeChanges flag: Bool) {
    checkQueue()
    guard object.reference === reference, !object.isInserted, !object.isDeleted else { return }
    event.updated.remove(object)
    needsCacheCheck = true
    if flag && object.hasChanges {
      reread(object)
    } else {
      updated.remove(object)
      object.turnIntoFault()
    }
    event.refreshed.insert(object)
    scheduleEndOfEvent()
  }

  /// Puts the object's changes on top of what the store has now.
  final func reread(_ object: NSManagedObject) {
    for case let toMany? in object.toManys { toMany.unload() }
    guard let snapshot = object.snapshot, let stored = try? storedRow(object.objectID) else { return }
    guard let base = object.committed else {
      // Only to-many relationships were changed.
      object.snapshot = stored
      object.state.remove(.ownsSnapshot)
      return
    }
    guard stored !== base else { return }
    let merged = stored.copy()
    for slot in object.layout.slots.indices
    where object.layout.slots[slot].isTransient || !base.isEqual(snapshot, slot: slot) {
      merged.assign(slot: slot, from: snapshot)
    }
    object.committed = stored
    object.snapshot = merged
    object.state.insert(.ownsSnapshot)
  }

  /// Makes clean objects faults; changed ones keep their changes.
  public final func refreshAllObjects() {
    checkQueue()
    needsCacheCheck = true
    var all: [NSManagedObject] = []
    registry.forEach { all.append($0) }
    for object in all {
      if object.hasChanges {
        if object.isUpdated { reread(object) }
      } else {
        object.turnIntoFault()
      }
      event.refreshed.insert(object)
    }
    scheduleEndOfEvent()
  }

  /// Forgets all objects and changes. Objects that are still held can no longer be used.
  public final func reset() {
    checkQueue()
    var all: [NSManagedObject] = []
    registry.forEach { all.append($0) }
    for object in all {
      object.reference = nil
      object.state = [.fault]
      object.snapshot = nil
      object.committed = nil
      object.toManys = []
    }
    registry.removeAll()
    forgetChanges()
    event = ContextEvent()
    sweepThreshold = 4096
    needsCacheCheck = true
    temporaryKeys.removeAll()
    // Children may still hold what was new here.
    if !hasChildren { permanentIDs.removeAll() }
    guard !all.isEmpty else { return }
    event.invalidatedAll = all
    postObjectsDidChange()
  }

  private func forgetChanges() {
    inserted.removeAll()
    updated.removeAll()
    deleted.removeAll()
    unpropagated.removeAll()
    dropped.removeAll()
    assignedStores.removeAll()
  }

  /// Takes back all changes since the last fetch or save of each object.
  public final func rollback() {
    checkQueue()
    let newObjects = inserted.items + unpropagated.filter { !deleted.contains($0) }
    let changed = updated.items + deleted.items
    forgetChanges()
    event = ContextEvent()
    for object in newObjects {
      forget(object)
      event.deleted.insert(object)
    }
    for object in changed {
      object.state.subtract([.updated, .deleted, .isNoted, .ownsSnapshot])
      if let committed = object.committed { object.snapshot = committed }
      object.committed = nil
      object.toManys = []
      event.refreshed.insert(object)
    }
    processPendingChanges()
  }

  /// The model's entity for a class, remembered.
  final func entity(for type: NSManagedObject.Type) -> NSEntityDescription? {
    if let known = entitiesByClass[ObjectIdentifier(type)] { return known }
    let found = persistentStoreCoordinator?.managedObjectModel.entity(for: type)
    entitiesByClass[ObjectIdentifier(type)] = found
    return found
  }

  /// Decides in which store a new object will be; without it, the first that may hold its entity.
  public final func assign(_ object: Any, to store: NSPersistentStore) {
    guard let object = object as? NSManagedObject, object.objectID.isTemporaryID else { return }
    assignedStores[ObjectIdentifier(object)] = store
  }
}

extension NSEntityDescription {
  /// The entity of the name in the context's model.
  public class func entity(forEntityName entityName: String, in context: NSManagedObjectContext) -> NSEntityDescription?
  {
    context.persistentStoreCoordinator?.managedObjectModel.entitiesByName[entityName]
  }

  /// Makes a new object of the named entity in the context. Traps where the model has no such entity.
  @discardableResult
  public class func insertNewObject(forEntityName entityName: String, into context: NSManagedObjectContext)
    -> NSManagedObject
  {
    guard let entity = entity(forEntityName: entityName, in: context) else {
      preconditionFailure("The context's model has no entity named \"\(entityName)\".")
    }
    precondition(!entity.isAbstract, "The entity \(entityName) is abstract: it has no objects of its own.")
    let object = entity.layout.objectClass.init(unborn: entity)
    context.insert(object)
    return object
  }
}
