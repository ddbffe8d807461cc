/// Resolves the conflicts of one `NSMergePolicy.resolve(constraintConflicts:)`.
///
/// The rule in one table. "row" is a stored row that the save does not change, "changed" an object of the save with a
/// row, "new" one without:
///
///     who has equal values   object-trump, overwrite               store-trump, rollback
///     new, row               new takes over the row: an update     new is dropped; references lead to the row
///     changed, row           changed keeps them, the row goes      changed gets its former values back
///     new, new               the last one stays                    the first one stays
///     changed, new           changed stays, new is dropped         the same
///     changed, changed       the last one keeps them               the first one keeps them
///
/// A new object of another entity of the same table cannot take over the row: then the row is deleted, as for a changed
/// one. Store-trump gives back the unique values alone, rollback all values of the object.
///
/// Other objects of the save may refer to a dropped one. References are redirected once, at the end: several conflicts
/// may drop one object after the other, and then all references lead to the last that stayed.
///
/// The conflicts of one save are resolved in their order, and the save is then tried again, with a new look at the
/// rows. So if a resolution violates another constraint, the next attempt finds that.
struct ConstraintResolution {
  private let policy: NSMergePolicyType
  private var context: NSManagedObjectContext?
  /// The objects that left the context, each with its replacement. Both are kept alive until the end: their addresses
  /// are the keys.
  private var replacements: [ObjectIdentifier: (old: NSManagedObject, new: NSManagedObject)] = [:]
  /// The replaced objects by the keys that refer to them.
  private var oldKeys: [RelatedKey: NSManagedObject] = [:]

  /// The new objects that took over a row, with that row's values.
  private var takenOver: [(object: NSManagedObject, stored: Snapshot)] = []

  init(_ policy: NSMergePolicyType) { self.policy = policy }

  /// Whether the policy prefers the context's objects to the stored rows.
  private var objectsWin: Bool {
    policy == .mergeByPropertyObjectTrumpMergePolicyType || policy == .overwriteMergePolicyType
  }

  /// Resolves one conflict. Does nothing if an earlier one or a subclass's code has resolved it already.
  ///
  /// - Throws: the validation's error if the row that has to go may not be deleted (a Deny rule, for example). The
  ///   context is then as it was, as far as this conflict goes.
  mutating func resolve(_ conflict: NSConstraintConflict) throws {
    let rivals = conflict.conflictingObjects.filter { isStillRival($0, conflict) }
    guard let context = rivals.first?.reference?.context else { return }
    self.context = context
    let changed = rivals.filter { !$0.isInserted }
    let new = rivals.filter(\.isInserted)
    guard let row = conflict.databaseObject, row.reference === context.reference, !row.isDeleted else {
      // The conflict is among objects of the save. One that has a row keeps the values.
      guard let winner = chosen(changed) ?? chosen(new) else { return }
      return settle(changed: changed, new: new, winner: winner, of: conflict)
    }
    guard objectsWin, let winner = chosen(changed) ?? chosen(new) else {
      return settle(changed: changed, new: new, winner: row, of: conflict)
    }
    guard let stored = try conflict.stored ?? context.rowNow(of: row) else {
      return settle(changed: changed, new: new, winner: winner, of: conflict)
    }
    if winner.isInserted && winner.layout === row.layout {
      settle(changed: changed, new: new, winner: winner, of: conflict)
      takeOver(row, stored, by: winner, in: context)
    } else {
      // The row's values when it was found: a later change by others becomes a version conflict.
      row.supply(stored)
      // Validated before any change: a failed save leaves the context as it was.
      try row.validateForDelete()
      settle(changed: changed, new: new, winner: winner, of: conflict)
      context.deleteObject(row)
      context.propagateDeletes()
    }
  }

  /// The object that stays: the last one if the context's objects win, as if they had been written one after the other.
  private func chosen(_ objects: [NSManagedObject]) -> NSManagedObject? { objectsWin ? objects.last : objects.first }

  /// Whether the object still has the values, since an earlier conflict or the policy's own code may have changed them.
  private func isStillRival(_ object: NSManagedObject, _ conflict: NSConstraintConflict) -> Bool {
    guard object.reference?.context != nil, object.hasChanges, !object.isDeleted else { return false }
    let values = object.access().values(of: object, conflict.constraint)
    return NSDictionary(dictionary: values).isEqual(to: conflict.constraintValues)
  }

  /// Makes the winner the only object with the values.
  private mutating func settle(
    changed: [NSManagedObject], new: [NSManagedObject], winner: NSManagedObject, of conflict: NSConstraintConflict
  ) {
    for loser in changed where loser !== winner { giveBack(loser, conflict.constraint) }
    for loser in new where loser !== winner { replace(loser, by: winner) }
  }

  /// Restores the object's stored values: those of the constraint, or all.
  private func giveBack(_ object: NSManagedObject, _ names: [String]) {
    guard let context, let committed = object.committed else { return }
    if policy == .rollbackMergePolicyType { return context.rebase(object, on: committed, policy) }
    for slot in names.compactMap({ object.layout.slot($0.components(separatedBy: ".")[0]) }) {
      if object.layout.slots[slot].kind == .toOne {
        let related = committed.related(slot).flatMap { context.object(for: $0, from: object, slot: slot) }
        object.setRelated(related, slot: slot)
      } else {
        object.willEdit()
        object.snapshot.unsafelyUnwrapped.assign(slot: slot, from: committed)
      }
    }
    context.noteRefresh(of: object)
  }

  /// Drops a new object. References to it lead to the winner.
  ///
  /// Its members of to-many relationships become the winner's: an import that meets an author twice, each time with
  /// some books, ends with one author who has all of them.
  private mutating func replace(_ loser: NSManagedObject, by winner: NSManagedObject) {
    guard let context else { return }
    for (index, relationship) in loser.layout.toManys.enumerated() {
      guard let place = winner.layout.toManyIndex(relationship.name) else { continue }
      for member in loser.toMany(index).members?.items ?? [] {
        loser.removeMember(member, of: index)
        winner.addMember(member, to: place)
      }
    }
    note(loser, winner)
    context.deleteObject(loser)
  }

  /// Makes the new object the object of the row, and an update of it.
  private mutating func takeOver(
    _ row: NSManagedObject, _ stored: Snapshot, by object: NSManagedObject, in context: NSManagedObjectContext
  ) {
    let id = row.objectID
    note(row, object)
    context.forgetAsDeleted(row)
    note(object, object)
    context.adopt(id, stored, object)
    takenOver.append((object, stored))
  }

  /// Records that one object stands for another from now on.
  private mutating func note(_ old: NSManagedObject, _ new: NSManagedObject) {
    replacements[ObjectIdentifier(old)] = (old, new)
    oldKeys[old.objectID.relatedKey] = new
  }

  // MARK: At the end

  /// Redirects all references to the remaining objects.
  ///
  /// To-many relationships hold objects, and to-one slots hold keys, so both are searched: the former in all objects of
  /// the context, the latter in those that the save writes. Objects that the save does not write have no reference to a
  /// new object.
  func finish() {
    guard let context, !replacements.isEmpty else { return }
    context.propagateDeletes()
    let objects = replacements.filter { $0.value.old !== $0.value.new }.mapValues { last($0.new) }
    if !objects.isEmpty {
      for object in context.graph.all {
        for case let toMany? in object.toManys { toMany.replace(objects) }
      }
    }
    for (object, stored) in takenOver { context.loosenFormerPartners(of: object, stored) }
    for object in context.changes.inserted.items + context.changes.updated.items {
      for slot in object.layout.toOneSlots {
        guard let related = object.snapshot?.related(slot), let new = oldKeys[related].map(last),
          !isOfOtherStore(new, object)
        else { continue }
        object.willEditPrimitively()
        object.snapshot.unsafelyUnwrapped.assign(slot: slot, to: new.objectID.relatedKey)
      }
    }
    for case let (old, new) in replacements.values where old !== new && old.isDeleted { context.drop(old) }
    context.scheduleEndOfEvent()
  }

  /// The object at the end of a chain of replacements. One that was noted as its own replacement only changed its key.
  private func last(_ object: NSManagedObject) -> NSManagedObject {
    guard let next = replacements[ObjectIdentifier(object)], next.new !== object else { return object }
    return last(next.new)
  }

  /// Keys only belong together within one store.
  private func isOfOtherStore(_ object: NSManagedObject, _ other: NSManagedObject) -> Bool {
    guard let one = object.storedEntity.collection, let another = other.storedEntity.collection else { return false }
    return one !== another
  }
}

extension NSManagedObjectContext {
  /// Makes a new object the object of a row, whose values it replaces.
  ///
  /// The object that represented the row before has left the context. The new one gets the row's ID and version, so
  /// that the save writes an update with the usual check: if others change the row before the save, that is a version
  /// conflict.
  fileprivate final func adopt(_ id: NSManagedObjectID, _ stored: Snapshot, _ object: NSManagedObject) {
    become(object, id)
    changes.updateInsteadOfInserting(object)
    object.state.insert(.ownsSnapshot)
    let values = object.access().copy()
    for (slot, description) in object.layout.slots.enumerated() where description.isDerived {
      values.assign(slot: slot, from: stored)
    }
    object.snapshot = values
    object.committed = stored
    // The row's members stay; members added here join them.
    for case let toMany? in object.toManys { toMany.forgetMembers() }
  }

  /// Removes the row's former partners that the new object does not have: after the take-over their to-many
  /// relationships must not contain it.
  fileprivate final func loosenFormerPartners(of object: NSManagedObject, _ stored: Snapshot) {
    guard let values = object.snapshot else { return }
    for slot in object.layout.toOneSlots where !stored.isEqual(values, slot: slot) {
      guard let inverse = object.layout.slots[slot].relationship?.inverseRelationship, let key = stored.related(slot),
        let partner = self.object(for: key, from: object, slot: slot)
      else { continue }
      partner.removeInverse(inverse, object)
    }
  }

  /// Forgets a new object that was deleted during a save.
  fileprivate final func drop(_ object: NSManagedObject) {
    changes.removeDropped(object)
    forget(object)
  }
}
