/// Objects by ID: finding, making and letting go of them.
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
    let assigned = assignedStores.isEmpty ? nil : assignedStores[ObjectIdentifier(owner)]
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
}
