/// Relationships: reading them, and keeping both ends right.
extension NSManagedObject {
  // MARK: To-one

  /// The object at the other end of a to-one, a fault if it was not registered yet.
  final func related(_ slot: Int) -> NSManagedObject? {
    guard let key = access().related(slot) else { return nil }
    guard let context = reference?.context else {
      if state.contains(.gone) { return nil }
      fatalError("A relationship of \(objectID) cannot be followed: its context is gone.")
    }
    return context.object(for: key, from: self, slot: slot)
  }

  /// Sets a to-one and its inverse, on the old partner and on the new.
  final func setRelated(_ object: NSManagedObject?, slot: Int) {
    let relationship = layout.slots[slot].relationship!
    checkSameContext(object, relationship)
    willEdit()
    let old = related(slot)
    if old === object { return }
    writeRelated(object, slot: slot)
    guard let inverse = relationship.inverseRelationship else { return }
    old?.removeInverse(inverse, self)
    object?.addInverse(inverse, self)
  }

  /// Writes the slot alone.
  final func writeRelated(_ object: NSManagedObject?, slot: Int) {
    let values = snapshot.unsafelyUnwrapped
    guard let object else { return values.setNil(slot) }
    let relationship = layout.slots[slot].relationship!
    if let destination = relationship.destinationEntity, !object.entity.isKindOf(entity: destination) {
      fatalError(
        "Unacceptable object for \(layout.name).\(relationship.name): it holds \(destination.name ?? ""), and was given "
          + "a \(object.layout.name).")
    }
    values.assign(slot: slot, to: object.objectID.relatedKey)
  }

  /// Takes `partner` out of this object's end of a relationship.
  private final func removeInverse(_ inverse: NSRelationshipDescription, _ partner: NSManagedObject) {
    switch layout.places[inverse.name] {
    case .slot(let slot):
      guard related(slot) === partner else { return }
      willEdit()
      snapshot.unsafelyUnwrapped.setNil(slot)
    case .toMany(let index):
      let toMany = unloadedToMany(index)
      guard toMany.remove(partner) else { return }
      noteRelationshipChange()
    default: return
    }
  }

  /// Puts `partner` into this object's end of a relationship, and whoever stood there out.
  private final func addInverse(_ inverse: NSRelationshipDescription, _ partner: NSManagedObject) {
    switch layout.places[inverse.name] {
    case .slot(let slot):
      let old = related(slot)
      if old === partner { return }
      willEdit()
      writeRelated(partner, slot: slot)
      if let back = inverse.inverseRelationship { old?.removeInverse(back, self) }
    case .toMany(let index):
      guard unloadedToMany(index).insert(partner) else { return }
      noteRelationshipChange()
    default: return
    }
  }

  /// Lets go of an object that is being deleted, which itself stays as it is.
  final func loosen(_ relationship: NSRelationshipDescription, from deleted: NSManagedObject) {
    removeInverse(relationship, deleted)
  }

  /// Marks the object as updated without reading its row.
  private final func noteRelationshipChange() {
    if state.contains(.unborn) { _ = access() }
    if !state.contains(.isQuiet) { reference?.context?.noteUpdate(self) }
  }

  // MARK: To-many

  /// The relationship with its members loaded.
  final func toMany(_ index: Int) -> ToMany {
    let toMany = unloadedToMany(index)
    if toMany.members != nil { return toMany }
    checkQueue()
    if objectID.isTemporaryID || reference?.context == nil {
      toMany.load(reference?.context?.parentMembers(of: self, toMany.relationship) ?? [])
    } else {
      toMany.load(reference?.context?.storedMembers(of: self, toMany.relationship) ?? [])
    }
    return toMany
  }

  /// The relationship as it is known, loaded or not.
  final func unloadedToMany(_ index: Int) -> ToMany {
    if toManys.isEmpty { toManys = Array(repeating: nil, count: layout.toManys.count) }
    if let known = toManys[index] { return known }
    let made = ToMany(layout.toManys[index])
    toManys[index] = made
    return made
  }

  /// Makes the members exactly these, and their inverses follow.
  final func setMembers(_ objects: [NSManagedObject], of index: Int) {
    let toMany = toMany(index)
    let relationship = toMany.relationship
    let wanted = MemberList(objects, keepsOrder: relationship.isOrdered)
    for object in wanted.items { checkSameContext(object, relationship) }
    _ = access()
    noteRelationshipChange()
    for old in toMany.members!.items where !wanted.contains(old) { removeMember(old, of: index) }
    for new in wanted.items { addMember(new, to: index) }
    if relationship.isOrdered, toMany.members!.items != wanted.items { toMany.reorder(wanted.items) }
  }

  final func addMember(_ object: NSManagedObject, to index: Int) {
    let toMany = unloadedToMany(index)
    checkSameContext(object, toMany.relationship)
    guard toMany.insert(object) else { return }
    noteRelationshipChange()
    guard let inverse = toMany.relationship.inverseRelationship else { return }
    // One-to-many: the member leaves its old owner, which its own end takes care of.
    object.addInverse(inverse, self)
  }

  final func removeMember(_ object: NSManagedObject, of index: Int) {
    let toMany = unloadedToMany(index)
    guard toMany.remove(object) else { return }
    noteRelationshipChange()
    if let inverse = toMany.relationship.inverseRelationship { object.removeInverse(inverse, self) }
  }

  private final func checkSameContext(_ object: NSManagedObject?, _ relationship: NSRelationshipDescription) {
    guard let object else { return }
    checkSameStore(object, relationship)
    guard let mine = reference?.context, let theirs = object.reference?.context, mine !== theirs else { return }
    fatalError(
      "Illegal attempt to establish the relationship \(layout.name).\(relationship.name) between objects of different "
        + "contexts: \(objectID) and \(object.objectID). Use object(with:) to get the other object in this context.")
  }

  /// Rows refer to rows of their own store only.
  private final func checkSameStore(_ object: NSManagedObject, _ relationship: NSRelationshipDescription) {
    let mayBeRelated =
      switch (home.family, object.home.family) {
      case (nil, nil): true
      case (let mine?, nil): mine.homesByName[object.layout.name] != nil
      case (nil, let theirs?): theirs.homesByName[layout.name] != nil
      case (let mine?, let theirs?): mine === theirs
      }
    require(
      mayBeRelated,
      "Illegal attempt to establish the relationship \(layout.name).\(relationship.name) between objects in different "
        + "stores: \(objectID) and \(object.objectID).")
  }

  // MARK: By name, for generated accessors and for callers

  /// A live view of a to-many: changing it changes the relationship.
  public final func mutableSetValue(forKey key: String) -> NSMutableSet {
    guard let index = layout.toManyIndex(key) else {
      fatalError("\(layout.name).\(key) is no to-many relationship.")
    }
    return MutableRelationshipSet(owner: self, index: index)
  }

  /// The IDs at the other end, without making objects of them where they are known.
  public final func objectIDs(forRelationshipNamed key: String) -> [NSManagedObjectID] {
    switch layout.places[key] {
    case .slot(let slot) where layout.slots[slot].kind == .toOne: return related(slot).map { [$0.objectID] } ?? []
    case .toMany(let index): return toMany(index).members?.items.map(\.objectID) ?? []
    default: fatalError("\(layout.name).\(key) is no relationship.")
    }
  }

  /// Whether reading the relationship would have to ask the store. Fires nothing.
  public final func hasFault(forRelationshipNamed key: String) -> Bool {
    checkQueue()
    switch layout.places[key] {
    case .slot(let slot):
      guard let snapshot else { return true }
      guard let related = snapshot.related(slot) else { return false }
      return reference?.context?.registered(related, from: self, slot: slot)?.isFault ?? true
    case .toMany(let index):
      return toManys.isEmpty || toManys[index]?.members == nil
    default: return false
    }
  }

  private final func fetchedValueRequest(_ property: NSFetchedPropertyDescription) -> NSFetchRequest<NSManagedObject>? {
    guard let template = property.fetchRequest else { return nil }
    let request = NSFetchRequest<NSManagedObject>(entityName: template.entityName ?? template.entity?.name ?? "")
    request.sortDescriptors = template.sortDescriptors
    request.fetchLimit = template.fetchLimit
    request.predicate = template.predicate?.withSubstitutionVariables([
      "FETCH_SOURCE": self, "FETCHED_PROPERTY": property,
    ])
    return request
  }

  /// A fetched property's objects, fetched at each access.
  final func fetchedValue(_ property: NSFetchedPropertyDescription) -> Any? {
    guard let context = reference?.context, let request = fetchedValueRequest(property) else {
      return [NSManagedObject]()
    }
    return (try? context.fetch(request)) ?? []
  }
}
