/// Reads relationships and keeps both of their ends in step.
///
/// Who calls what when `book.author = austen` is set, with `Author.books` as the inverse:
///
/// ```text
/// book.setRelated(austen)
///   ├ writeRelated               book's slot gets the key of austen
///   ├ old.removeInverse(books)   the former author: dropMember(book)
///   └ austen.addInverse(books)   the new author: takeMember(book), which reads no members
/// ```
///
/// and when `austen.addToBooks(book)` is called:
///
/// ```text
/// austen.addMember(book)
///   ├ takeMember                 austen's end; nothing further if book is there already
///   └ book.addInverse(author)    book's slot; its former author loses it by removeInverse
/// ```
///
/// So each end is written by exactly one of `writeRelated`, `takeMember` and `dropMember`, each of which changes its
/// own side only. `addInverse` and `removeInverse` stop where the end is as it must be, which ends the recursion.
///
/// Each change of an end tells observers around it, notes the object with the context, and brings an object without a
/// context into it.
extension NSManagedObject {
  // MARK: To-one

  /// The object at the other end of a to-one relationship; a fault if it was not registered.
  ///
  /// The slot has a key; the context has, or makes, the object for it. Nil for a relationship to an object of a store
  /// that is not open any more.
  final func related(_ slot: Int) -> NSManagedObject? {
    guard let key = access(slot: slot).related(slot) else { return nil }
    guard let context = reference?.context else { return loosePartner(slot) }
    return context.object(for: key, from: self, slot: slot)
  }

  /// Sets a to-one relationship and its inverse, at the old and the new partner.
  ///
  /// The two ends are written one after the other, and observers of one end hear of it before the other is written: a
  /// handler sees the relationship half done.
  ///
  /// An assignment of the present object marks this one as updated, and changes nothing else.
  final func setRelated(_ object: NSManagedObject?, slot: Int) {
    let relationship = layout.slots[slot].relationship!
    checkSameContext(object, relationship)
    let observed = willChangeObserved(relationship.name)
    willEdit()
    let old = related(slot)
    if old === object {
      observed?.finish()
      return
    }
    writeRelated(object, slot: slot)
    observed?.finish()
    guard let inverse = relationship.inverseRelationship else { return }
    old?.removeInverse(inverse, self)
    object?.addInverse(inverse, self)
  }

  /// Writes the slot and nothing else. An object without a context comes into this one's.
  ///
  /// Also what `setPrimitiveValue(_:forKey:)` calls. The key is that of the object's present ID: a negative one for a
  /// new object, which the save replaces by the row's (`StoreChanges.settle`).
  final func writeRelated(_ object: NSManagedObject?, slot: Int) {
    let values = snapshot.unsafelyUnwrapped
    guard let object else {
      if reference?.context == nil { setLoosePartner(nil, slot: slot) }
      return values.setNil(slot)
    }
    let relationship = layout.slots[slot].relationship!
    if let destination = relationship.destinationEntity, !object.entity.isKindOf(entity: destination) {
      fatalError(
        "Unacceptable object for \(layout.name).\(relationship.name): it holds \(destination.name ?? ""), and was "
          + "given a \(object.layout.name).")
    }
    if reference?.context == nil { setLoosePartner(object, slot: slot) } else { bring(object) }
    values.assign(slot: slot, to: object.objectID.relatedKey)
  }

  /// Removes `partner` from this object's end of a relationship.
  ///
  /// Does nothing if the end refers to another object by now: `addInverse` at the other side may have been first.
  final func removeInverse(_ inverse: NSRelationshipDescription, _ partner: NSManagedObject) {
    switch layout.locations[inverse.name] {
    case .slot(let slot):
      guard related(slot) === partner else { return }
      let observed = willChangeObserved(inverse.name)
      willEdit()
      writeRelated(nil, slot: slot)
      observed?.finish()
    case .toMany(let index): dropMember(partner, of: index)
    default: return
    }
  }

  /// Adds `partner` to this object's end of a relationship, replacing the object in a to-one.
  ///
  /// In a one-to-one or one-to-many relationship the slot has room for one: the former partner's end loses this object
  /// here, so that no object has two owners.
  final func addInverse(_ inverse: NSRelationshipDescription, _ partner: NSManagedObject) {
    switch layout.locations[inverse.name] {
    case .slot(let slot):
      let old = related(slot)
      if old === partner { return }
      let observed = willChangeObserved(inverse.name)
      willEdit()
      writeRelated(partner, slot: slot)
      observed?.finish()
      if let back = inverse.inverseRelationship { old?.removeInverse(back, self) }
    case .toMany(let index): takeMember(partner, into: index)
    default: return
    }
  }

  /// Marks the object as updated without reading its row.
  ///
  /// Members are not in the row, so a fault stays a fault: a book that gets another author marks both authors as
  /// updated without reading either. An unborn object takes its defaults first, since its state says that it has none.
  final func noteRelationshipChange() {
    if state.contains(.unborn) { _ = access() }
    if !state.contains(.isQuiet) { reference?.context?.noteUpdate(self) }
  }

  // MARK: To-many

  /// The relationship with its members loaded.
  ///
  /// A new object asks its parent context, where it may be known with members; a saved one asks the store. A member
  /// comes as the context's object for its key, with the row if the store gave it.
  ///
  /// One query for a relationship that is unread, none afterwards.
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

  /// The relationship, loaded or not.
  ///
  /// For changes, which need no members: they are noted until these are read.
  final func unloadedToMany(_ index: Int) -> ToMany {
    if toManys.isEmpty { toManys = Array(repeating: nil, count: layout.toManys.count) }
    if let toMany = toManys[index] { return toMany }
    let made = ToMany(layout.toManys[index])
    toManys[index] = made
    return made
  }

  /// Sets the members and their inverse relationships.
  ///
  /// Reads the members: it has to know which leave. Observers hear once, of the whole property, and so the single
  /// changes are made with `isObserved: false`; observers of the other ends hear of each.
  final func setMembers(_ objects: [NSManagedObject], of index: Int) {
    let toMany = toMany(index)
    let relationship = toMany.relationship
    let newMembers = MemberList(objects, keepsOrder: relationship.isOrdered)
    for object in newMembers.items { checkSameContext(object, relationship) }
    _ = access()
    let observed = willChangeObserved(relationship.name)
    noteRelationshipChange()
    for old in toMany.members!.items where !newMembers.contains(old) { removeMember(old, of: index, isObserved: false) }
    for new in newMembers.items { addMember(new, to: index, isObserved: false) }
    if relationship.isOrdered, toMany.members!.items != newMembers.items {
      willChangeMembers(toMany)
      toMany.reorder(newMembers.items)
    }
    observed?.finish()
  }

  /// Reorders the members of an ordered relationship.
  ///
  /// The other ends do not change: only this object has the order.
  ///
  /// - Parameter objects: the same members in another order.
  final func reorderMembers(_ objects: [NSManagedObject], of index: Int) {
    let toMany = toMany(index)
    let observed = willChangeObserved(toMany.relationship.name)
    willChangeMembers(toMany)
    toMany.reorder(objects)
    noteRelationshipChange()
    observed?.finish()
  }

  /// For the generated `addToX`, for mutable sets, and for undo.
  final func addMember(_ object: NSManagedObject, to index: Int, isObserved: Bool = true) {
    let relationship = layout.toManys[index]
    checkSameContext(object, relationship)
    guard takeMember(object, into: index, isObserved: isObserved) else { return }
    // In a one-to-many relationship the member leaves its old owner; setting its own end does that.
    if let inverse = relationship.inverseRelationship { object.addInverse(inverse, self) }
  }

  /// The object stays in the context: only the reference goes.
  final func removeMember(_ object: NSManagedObject, of index: Int, isObserved: Bool = true) {
    guard dropMember(object, of: index, isObserved: isObserved) else { return }
    if let inverse = layout.toManys[index].inverseRelationship { object.removeInverse(inverse, self) }
  }

  /// Adds an object to this end of a to-many relationship only; false if it is known to be there.
  ///
  /// The observer is told before the change, and so `willChangeObserved(inserting:into:)` asks first whether it will be
  /// one (`ToMany.knows`). Where `insert` says false, no observer was told.
  @discardableResult
  final func takeMember(_ object: NSManagedObject, into index: Int, isObserved: Bool = true) -> Bool {
    bring(object)
    let toMany = unloadedToMany(index)
    willChangeMembers(toMany)
    let observed = isObserved ? willChangeObserved(inserting: object, into: toMany) : nil
    guard toMany.insert(object) else { return false }
    noteRelationshipChange()
    observed?.finish()
    return true
  }

  /// Removes an object from this end of a to-many relationship only; false if it is known not to be there.
  ///
  /// The mirror image of `takeMember`.
  @discardableResult
  final func dropMember(_ object: NSManagedObject, of index: Int, isObserved: Bool = true) -> Bool {
    let toMany = unloadedToMany(index)
    willChangeMembers(toMany)
    let observed = isObserved ? willChangeObserved(removing: object, from: toMany) : nil
    guard toMany.remove(object) else { return false }
    noteRelationshipChange()
    observed?.finish()
    return true
  }

  /// Called before each change of members. Keeps the state that undo and `changedValuesForCurrentEvent()` need.
  ///
  /// With an undo manager the members are read before the first change: taking back an insertion must not remove an
  /// object that the store had all the time. That makes `addToX` cost a query there.
  final func willChangeMembers(_ toMany: ToMany) {
    guard !state.contains(.isQuiet) else { return }
    let isUndoable = reference?.context?.undoTracking != nil
    if isUndoable, let index = layout.toManyIndex(toMany.relationship.name) {
      // While the members are not read it is unknown whether an object was among them, and where.
      _ = self.toMany(index)
    }
    toMany.willChange(keepsStart: isUndoable)
  }

  /// A reference across contexts would be a reference across queues. Apple's framework raises an exception for it.
  private final func checkSameContext(_ object: NSManagedObject?, _ relationship: NSRelationshipDescription) {
    guard let object else { return }
    checkSameStore(object, relationship)
    guard let mine = reference?.context, let theirs = object.reference?.context, mine !== theirs else { return }
    fatalError(
      "Illegal attempt to establish the relationship \(layout.name).\(relationship.name) between objects of different "
        + "contexts: \(objectID) and \(object.objectID). Use object(with:) to get the other object in this context.")
  }

  /// Rows can only refer to rows of the same store.
  ///
  /// An object that is not saved yet has no collection of stored entities: it will be saved where the other one is, if
  /// that store holds its entity.
  private final func checkSameStore(_ object: NSManagedObject, _ relationship: NSRelationshipDescription) {
    let mayBeRelated =
      switch (storedEntity.collection, object.storedEntity.collection) {
      case (nil, nil): true
      case (let mine?, nil): mine.byName[object.layout.name] != nil
      case (nil, let theirs?): theirs.byName[layout.name] != nil
      case (let mine?, let theirs?): mine === theirs
      }
    require(
      mayBeRelated,
      "Illegal attempt to establish the relationship \(layout.name).\(relationship.name) between objects in different "
        + "stores: \(objectID) and \(object.objectID).")
  }

  // MARK: Fetched properties

  /// A fetched property's template may use `$FETCH_SOURCE`, the object, and `$FETCHED_PROPERTY`, the description with
  /// its user info (Apple's Core Data Programming Guide, "Fetched Properties").
  private final func fetchedValueRequest(_ property: NSFetchedPropertyDescription) -> NSFetchRequest<NSManagedObject>? {
    guard let template = property.fetchRequest else { return nil }
    let request = NSFetchRequest<NSManagedObject>(settingsOf: template)
    request.predicate = template.predicate?.withSubstitutionVariables([
      "FETCH_SOURCE": self, "FETCHED_PROPERTY": property,
    ])
    return request
  }

  /// The objects of a fetched property, fetched at each access.
  ///
  /// Apple's framework keeps the result until a refresh. Here each access is a fetch, so that the objects are those of
  /// now; keep them in a constant for a loop.
  final func fetchedValue(_ property: NSFetchedPropertyDescription) -> Any? {
    guard let context = reference?.context, let request = fetchedValueRequest(property) else {
      return [NSManagedObject]()
    }
    do {
      return try context.fetch(request) as [NSManagedObject]
    } catch {
      // Reading a property cannot throw, and must not give a wrong answer.
      fatalError("The fetched property \(layout.name).\(property.name) could not be fetched: \(error)")
    }
  }
}
